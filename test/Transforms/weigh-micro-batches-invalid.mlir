// RUN: zero-opt %s --zero-weigh-micro-batches=mean=tokens --split-input-file --verify-diagnostics
// RUN: not zero-opt %s --zero-weigh-micro-batches=mean=words --split-input-file 2>&1 | FileCheck %s
// CHECK: error: the option mean is 'words', wanted 'tokens' or 'micro_batches'

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @two_counts(%x: tensor<3x8xf32>, %t: tensor<3xi32>, %u: tensor<3xi32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %a, %lse0 = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  // expected-error @+1 {{cannot weigh micro-batches by the tokens that count: it counts other elements than another mean of the loss does; yield the loss with a 'weight', or set "zero": {"loss_mean": "micro_batches"}}}
  %b, %lse1 = nn.cross_entropy %l, %u : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  %loss = arith.addf %a, %b : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @not_linear(%x: tensor<3x8xf32>, %t: tensor<3xi32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %a, %lse = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  // expected-error @+1 {{the loss is no sum of means, each times a constant}}
  %loss = math.exp %a : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @times_data(%x: tensor<3x8xf32>, %t: tensor<3xi32>, %n: tensor<f32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %a, %lse = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  // expected-error @+1 {{the loss is no sum of means, each times a constant}}
  %loss = arith.mulf %a, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// A mean over all elements, and one over those that count.
zero.step @mean_beside(%x: tensor<3x8xf32>, %t: tensor<3xi32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %a, %lse = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  // expected-error @+1 {{it is a mean over other elements than those that count in another term of the loss}}
  %z = nn.reduce mean %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %loss = arith.addf %a, %z : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// A mean that is divided once more, and a number that is no sum.
zero.step @divided_mean(%x: tensor<3x8xf32>, %t: tensor<3xi32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %a, %lse = nn.cross_entropy %l, %t : (tensor<3x4xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides what is a mean already}}
  %loss = arith.divf %a, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// What the micro-batches have in common, and what is no sum.
zero.step @penalty(%x: tensor<3x8xf32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %weights = nn.reduce sum %w dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %both = arith.addf %sum, %weights : tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides what is no sum over the data alone}}
  %loss = arith.divf %both, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// The same side by side.
zero.step @penalty_beside(%x: tensor<3x8xf32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %weights = nn.reduce sum %w dims [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %a = tensor.expand_shape %sum [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %b = tensor.expand_shape %weights [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %joined = tensor.concat dim(0) %a, %b : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %both = nn.reduce sum %joined dims [0] : (tensor<2xf32>) -> tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides what is no sum over the data alone}}
  %loss = arith.divf %both, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// Sums that begin with 0, and a product of what counts: nothing is wrong with them.
zero.step @begun_with_zero(%x: tensor<3x8xf32>, %m: tensor<3x4xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %part = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %one = arith.addf %zero, %part : tensor<f32>
  %flat = tensor.collapse_shape %l [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %counts = tensor.collapse_shape %m [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %column = tensor.expand_shape %counts [[0, 1]] output_shape [12, 1] : tensor<12xf32> into tensor<12x1xf32>
  %product = nn.linear %flat, %column : (tensor<12xf32>, tensor<12x1xf32>) -> tensor<1xf32>
  %other = tensor.collapse_shape %product [] : tensor<1xf32> into tensor<f32>
  %both = arith.addf %one, %other : tensor<f32>
  %n = nn.reduce sum %m dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %loss = arith.divf %both, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @product(%x: tensor<3x8xf32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %square = arith.mulf %sum, %sum : tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides what is no sum over the data alone}}
  %loss = arith.divf %square, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @largest(%x: tensor<3x8xf32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %most = nn.reduce max %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides what is no sum over the data alone}}
  %loss = arith.divf %most, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @learned_count(%x: tensor<3x8xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %square = arith.mulf %l, %l : tensor<3x4xf32>
  %n = nn.reduce sum %square dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  // expected-error @+1 {{it divides by a number that parameters decide as well}}
  %loss = arith.divf %sum, %n : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

zero.step @bounded(%x: tensor<3x8xf32>, %m: tensor<3xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %sum = nn.reduce sum %l dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %n = nn.reduce sum %m dims [0] : (tensor<3xf32>) -> tensor<f32>
  %six = arith.constant dense<6.0> : tensor<f32>
  %least = arith.maximumf %n, %six : tensor<f32>
  // expected-error @+1 {{it divides by a number of the data that is no sum, or is bounded by more than 1}}
  %loss = arith.divf %sum, %least : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<8x4xf32> = #zero.normal<std = 0.02>

// A mask that was divided by its sum before.
zero.step @normalized(%x: tensor<3x8xf32>, %m: tensor<3x4xf32>) {
  %w = zero.load @w : tensor<8x4xf32>
  %l = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %n = nn.reduce sum %m dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  %wide = nn.broadcast %n dims [] : (tensor<f32>) -> tensor<3x4xf32>
  %share = arith.divf %m, %wide : tensor<3x4xf32>
  %kept = arith.mulf %l, %share : tensor<3x4xf32>
  // expected-error @+1 {{the loss is no sum of means, each times a constant}}
  %loss = nn.reduce sum %kept dims [0, 1] : (tensor<3x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
