// RUN: zero-opt %s --split-input-file --zero-set-precision=compute=bf16 | FileCheck %s
// RUN: zero-opt %s --split-input-file --zero-set-precision=compute=f16 | FileCheck %s --check-prefix=F16

// What moves elements on their way to the loss leaves them f32: a view, a transposition,
// slices, a concatenation and a padding.
zero.parameter @w : tensor<8x6xf32> = #zero.normal<std = 0.02>

// CHECK-LABEL: zero.step @moves
// CHECK:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x6xbf16>
// CHECK:         arith.extf %[[P]] : tensor<4x6xbf16> to tensor<4x6xf32>
// CHECK-NOT:     bf16
// CHECK:         zero.yield
zero.step @moves(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %zero = arith.constant 0.0 : f32
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %e = math.exp %p : tensor<4x6xf32>
  %s = nn.reduce sum %e dims [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %v = tensor.expand_shape %s [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %t = nn.transpose %v permutation [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %a, %b = nn.split %t dim 0 sizes [1, 1] : (tensor<2x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>)
  %c = tensor.extract_slice %b[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<1x1xf32>
  %d = tensor.concat dim(1) %a, %c : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %f = tensor.pad %d low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x3xf32> to tensor<1x4xf32>
  %l = math.log1p %f : tensor<1x4xf32>
  %loss = nn.reduce mean %l dims [0, 1] : (tensor<1x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// So does what orders elements, and what adds them up by their positions.
// CHECK-LABEL: zero.step @orders
// CHECK:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x6xbf16>
// CHECK:         arith.extf %[[P]] : tensor<4x6xbf16> to tensor<4x6xf32>
// CHECK-NOT:     bf16
// CHECK:         zero.yield
zero.step @orders(%x: tensor<4x8xf32>, %to: tensor<4x6xi32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %e = math.exp %p : tensor<4x6xf32>
  %order = nn.argsort %e : tensor<4x6xf32> -> tensor<4x6xi32>
  %s = nn.gather %e, %order dim 1 : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
  %a = nn.scatter_add %s, %to dim 1 : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x3xf32>
  %l = math.log1p %a : tensor<4x3xf32>
  %loss = nn.reduce mean %l dims [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// A move of 16-bit values to the loss is one of 16-bit values.
// CHECK-LABEL: zero.step @first
// CHECK:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x6xbf16>
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[P]] permutation [1, 0] : (tensor<4x6xbf16>) -> tensor<6x4xbf16>
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[T]]
// CHECK-NEXT:    nn.reduce mean %[[E]]
zero.step @first(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %t = nn.transpose %p permutation [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %loss = nn.reduce mean %t dims [0, 1] : (tensor<6x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// What is read twice has two gradients, which are added in f32: it is extended first.
// CHECK-LABEL: zero.step @twice
// CHECK:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x6xbf16>
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[P]]
// CHECK-NEXT:    nn.transpose %[[E]]
// CHECK-NOT:     bf16
// CHECK:         zero.yield
zero.step @twice(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %t = nn.transpose %p permutation [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %m = nn.reduce mean %t dims [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  %b = nn.broadcast %m dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
  %d = arith.subf %p, %b : tensor<4x6xf32>
  %q = arith.mulf %d, %d : tensor<4x6xf32>
  %loss = nn.reduce mean %q dims [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// Beside 16-bit values labels stay f32.
// CHECK-LABEL: zero.step @labels
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4x6xf32>
// CHECK:         %[[E:.*]] = arith.extf
// CHECK:         tensor.concat dim(1) %[[E]], %[[Y]]
zero.step @labels(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %c = tensor.concat dim(1) %p, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
  %loss = nn.reduce mean %c dims [0, 1] : (tensor<4x12xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// In f16 squares of a running sum are addends, and what a window may leave out is none.
// F16-LABEL: zero.step @addends
// F16:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x6xf16>
// F16:         %[[Q:.*]] = arith.mulf {{.*}} : tensor<4x6xf32>
// F16:         nn.cumsum %[[Q]] dim 1 : tensor<4x6xf32>
// F16:         nn.max_pool {{.*}} -> tensor<1x4x3xf16>
zero.step @addends(%x: tensor<4x8xf32>, %y: tensor<4xi32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %q = arith.mulf %p, %p : tensor<4x6xf32>
  %s = nn.cumsum %q dim 1 : tensor<4x6xf32>
  %r = math.sqrt %s : tensor<4x6xf32>
  %d = arith.divf %p, %r : tensor<4x6xf32>
  %e = math.tanh %d : tensor<4x6xf32>
  %v = tensor.expand_shape %e [[0, 1], [2]] output_shape [1, 4, 6] : tensor<4x6xf32> into tensor<1x4x6xf32>
  %m = nn.max_pool %v window [2] strides [2] padding [0] dilations [1] : (tensor<1x4x6xf32>) -> tensor<1x4x3xf32>
  %a = nn.reduce mean %m dims [0, 2] : (tensor<1x4x3xf32>) -> tensor<4xf32>
  %l = nn.broadcast %a dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// Exchanges between ranks are moves.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @w : tensor<8x3xf32> = #zero.normal<std = 0.02> cut <dim 1 of [6] over <tensor = 2>>

// CHECK-LABEL: zero.step @exchanges
// CHECK:         %[[P:.*]] = nn.linear {{.*}} -> tensor<4x3xbf16>
// CHECK-NEXT:    %[[G:.*]] = zero.gather_value %[[P]] {{.*}} : tensor<4x3xbf16> -> tensor<4x6xbf16>
// CHECK-NEXT:    %[[GF:.*]] = arith.extf %[[G]]
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[GF]]
// CHECK-NOT:     bf16
// CHECK:         zero.yield
zero.step @exchanges(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x3xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %g = zero.gather_value %p cut <dim 1 of [6] over <tensor = 2>> : tensor<4x3xf32> -> tensor<4x6xf32>
  %e = math.exp %g : tensor<4x6xf32>
  %r = zero.replicate %e over <tensor = 2> : tensor<4x6xf32>
  %own = zero.slice_value %r cut <dim 1 of [6] over <tensor = 2>> : tensor<4x6xf32> -> tensor<4x3xf32>
  %s = nn.reduce sum %own dims [0, 1] : (tensor<4x3xf32>) -> tensor<f32>
  %all = zero.all_reduce_value %s over <tensor = 2> : tensor<f32>
  %loss = math.log1p %all : tensor<f32>
  zero.yield %loss : tensor<f32>
}
