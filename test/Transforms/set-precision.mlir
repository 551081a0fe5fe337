// RUN: zero-opt %s --zero-set-precision=compute=bf16 | FileCheck %s
// RUN: zero-opt %s --zero-set-precision=compute=f16 | FileCheck %s --check-prefix=F16
// RUN: zero-opt %s --zero-set-precision=compute=f32 | FileCheck %s --check-prefix=F32

// Parameters keep their type: it is the master's.
// CHECK: zero.parameter @w : tensor<8x6xf32>
zero.parameter @w : tensor<8x6xf32> = #zero.normal<std = 0.02>
zero.parameter @scale : tensor<8xf32> = #zero.ones
zero.parameter @table : tensor<10x8xf32> = #zero.normal<std = 0.02>

// Activations become 16-bit; mean, rstd, lse and the loss stay f32.
// CHECK-LABEL: zero.step @classify
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<4xi32>
// CHECK-NEXT:    %[[XB:.*]] = arith.truncf %[[X]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT:    %[[S:.*]] = zero.load @scale : tensor<8xbf16>
// CHECK-NEXT:    %[[W:.*]] = zero.load @w : tensor<8x6xbf16>
// CHECK-NEXT:    %[[N:.*]], %{{.*}}, %{{.*}} = nn.layer_norm %[[XB]], %[[S]], %[[S]] {{.*}} -> (tensor<4x8xbf16>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT:    %[[L:.*]] = nn.linear %[[N]], %[[W]] : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
// CHECK-NEXT:    %[[LOSS:.*]], %{{.*}} = nn.cross_entropy %[[L]], %[[Y]] : (tensor<4x6xbf16>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK-NEXT:    zero.yield %[[LOSS]], %[[L]] outputs ["logits"] : tensor<f32>, tensor<4x6xbf16>
// F16-LABEL: zero.step @classify
// F16:         nn.linear {{.*}} -> tensor<4x6xf16>
// F32-LABEL: zero.step @classify
// F32-NEXT:    zero.load @scale : tensor<8xf32>
// F32:         nn.linear {{.*}} -> tensor<4x6xf32>
zero.step @classify(%x: tensor<4x8xf32>, %y: tensor<4xi32>) {
  %s = zero.load @scale : tensor<8xf32>
  %w = zero.load @w : tensor<8x6xf32>
  %n, %mean, %rstd = nn.layer_norm %x, %s, %s eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %l = nn.linear %n, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<4x6xf32>
}

// Between the last product and the loss everything is f32, and the target
// that only the loss needs is never rounded.
// CHECK-LABEL: zero.step @regress
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[T:.*]]: tensor<4x6xf32>
// CHECK-NEXT:    %[[XB:.*]] = arith.truncf %[[X]]
// CHECK-NEXT:    %[[W:.*]] = zero.load @w : tensor<8x6xbf16>
// CHECK-NEXT:    %[[P:.*]] = nn.linear %[[XB]], %[[W]]
// CHECK-NEXT:    %[[PF:.*]] = arith.extf %[[P]] : tensor<4x6xbf16> to tensor<4x6xf32>
// CHECK-NEXT:    %[[D:.*]] = arith.subf %[[PF]], %[[T]] : tensor<4x6xf32>
// CHECK-NEXT:    %[[Q:.*]] = arith.mulf %[[D]], %[[D]] : tensor<4x6xf32>
// CHECK-NEXT:    %[[LOSS:.*]] = nn.reduce mean %[[Q]] dims [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
// CHECK-NEXT:    zero.yield %[[LOSS]] : tensor<f32>
zero.step @regress(%x: tensor<4x8xf32>, %t: tensor<4x6xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %p = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %d = arith.subf %p, %t : tensor<4x6xf32>
  %q = arith.mulf %d, %d : tensor<4x6xf32>
  %loss = nn.reduce mean %q dims [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// An auxiliary loss computed from a statistic stays f32 as well.
// CHECK-LABEL: zero.step @auxiliary
// CHECK:         %[[LOSS:.*]], %[[LSE:.*]] = nn.cross_entropy
// CHECK-NEXT:    %[[Z:.*]] = arith.mulf %[[LSE]], %[[LSE]] : tensor<4xf32>
// CHECK-NEXT:    %[[M:.*]] = nn.reduce mean %[[Z]] dims [0] : (tensor<4xf32>) -> tensor<f32>
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[LOSS]], %[[M]] : tensor<f32>
// CHECK-NEXT:    zero.yield %[[SUM]], %[[Z]] outputs ["z"] : tensor<f32>, tensor<4xf32>
zero.step @auxiliary(%ids: tensor<4xi32>, %y: tensor<4xi32>) {
  %t = zero.load @table : tensor<10x8xf32>
  %e = nn.embedding %ids, %t : (tensor<4xi32>, tensor<10x8xf32>) -> tensor<4x8xf32>
  %l = nn.linear %e, %t transposed : (tensor<4x8xf32>, tensor<10x8xf32>) -> tensor<4x10xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %z = arith.mulf %lse, %lse : tensor<4xf32>
  %m = nn.reduce mean %z dims [0] : (tensor<4xf32>) -> tensor<f32>
  %sum = arith.addf %loss, %m : tensor<f32>
  zero.yield %sum, %z outputs ["z"] : tensor<f32>, tensor<4xf32>
}

// What a micro-batch weighs is counted in f32: bf16 has no 257.
// CHECK-LABEL: zero.step @weighted
// CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<300xf32>)
// CHECK:         nn.linear {{.*}} -> tensor<4x6xbf16>
// CHECK:         %[[N:.*]] = nn.reduce sum %[[M]] dims [0] : (tensor<300xf32>) -> tensor<f32>
// CHECK-NEXT:    zero.yield %{{.*}} weight %[[N]] : tensor<f32>
zero.step @weighted(%x: tensor<4x8xf32>, %y: tensor<4xi32>, %m: tensor<300xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %l = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x6xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  %n = nn.reduce sum %m dims [0] : (tensor<300xf32>) -> tensor<f32>
  zero.yield %loss weight %n : tensor<f32>
}

// Inputs are rounded where they meet 16 bits: 501 is no bf16, and another row.
// CHECK-LABEL: zero.step @times
// CHECK-SAME:    %[[T:.*]]: tensor<4xf32>)
// CHECK-NEXT:    %[[I:.*]] = arith.fptosi %[[T]] : tensor<4xf32> to tensor<4xi32>
// CHECK-NEXT:    %[[TABLE:.*]] = zero.load @table : tensor<10x8xbf16>
// CHECK-NEXT:    %[[E:.*]] = nn.embedding %[[I]], %[[TABLE]]
// CHECK-NEXT:    %[[COS:.*]] = math.cos %[[T]] : tensor<4xf32>
// CHECK-NEXT:    %[[ROWS:.*]] = nn.broadcast %[[COS]] dims [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    %[[EF:.*]] = arith.extf %[[E]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[EF]], %[[ROWS]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[H:.*]] = arith.truncf %[[SUM]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT:    zero.load @w
// CHECK-NEXT:    nn.linear %[[H]]
zero.step @times(%t: tensor<4xf32>) {
  %i = arith.fptosi %t : tensor<4xf32> to tensor<4xi32>
  %table = zero.load @table : tensor<10x8xf32>
  %e = nn.embedding %i, %table : (tensor<4xi32>, tensor<10x8xf32>) -> tensor<4x8xf32>
  %cos = math.cos %t : tensor<4xf32>
  %rows = nn.broadcast %cos dims [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %h = arith.addf %e, %rows : tensor<4x8xf32>
  %w = zero.load @w : tensor<8x6xf32>
  %l = nn.linear %h, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %loss = nn.reduce mean %l dims [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// Rows by their distance from their mean: in f16 differences, squares and both sums
// are f32, and the quotient alone is rounded. bf16 has room for squares.
// CHECK-LABEL: zero.step @distances
// CHECK:         arith.mulf %{{.*}} : tensor<4x6xbf16>
// F16-LABEL: zero.step @distances
// F16:         %[[H:.*]] = nn.linear {{.*}} -> tensor<4x6xf16>
// F16-NEXT:    %[[HF:.*]] = arith.extf %[[H]]
// F16-NEXT:    %[[MEAN:.*]] = nn.reduce mean %[[HF]] dims [1] : (tensor<4x6xf32>) -> tensor<4xf32>
// F16-NEXT:    %[[MEANS:.*]] = nn.broadcast %[[MEAN]] dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
// F16-NEXT:    %[[D:.*]] = arith.subf %[[HF]], %[[MEANS]] : tensor<4x6xf32>
// F16-NEXT:    %[[Q:.*]] = arith.mulf %[[D]], %[[D]] : tensor<4x6xf32>
// F16-NEXT:    %[[S:.*]] = nn.reduce sum %[[Q]] dims [1] : (tensor<4x6xf32>) -> tensor<4xf32>
// F16-NEXT:    %[[R:.*]] = math.sqrt %[[S]] : tensor<4xf32>
// F16-NEXT:    %[[RS:.*]] = nn.broadcast %[[R]] dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
// F16-NEXT:    %[[N:.*]] = arith.divf %[[HF]], %[[RS]] : tensor<4x6xf32>
// F16-NEXT:    %[[NB:.*]] = arith.truncf %[[N]] : tensor<4x6xf32> to tensor<4x6xf16>
// F16:         nn.linear %[[NB]], %{{.*}} transposed : (tensor<4x6xf16>, tensor<8x6xf16>) -> tensor<4x8xf16>
zero.step @distances(%x: tensor<4x8xf32>) {
  %w = zero.load @w : tensor<8x6xf32>
  %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %mean = nn.reduce mean %h dims [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %means = nn.broadcast %mean dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
  %d = arith.subf %h, %means : tensor<4x6xf32>
  %q = arith.mulf %d, %d : tensor<4x6xf32>
  %s = nn.reduce sum %q dims [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  %r = math.sqrt %s : tensor<4xf32>
  %rs = nn.broadcast %r dims [0] : (tensor<4xf32>) -> tensor<4x6xf32>
  %n = arith.divf %h, %rs : tensor<4x6xf32>
  %y = nn.linear %n, %w transposed : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// A constant that 16 bits hold is one of 16 bits; where they do not hold it, the
// product is rounded, not the constant. 70000 is more than f16 has.
// CHECK-LABEL: zero.step @constants
// CHECK:         %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<4x6xbf16>
// CHECK:         arith.mulf %{{.*}}, %[[HALF]] : tensor<4x6xbf16>
// CHECK:         arith.divf %{{.*}} : tensor<4x6xf32>
// F16-LABEL: zero.step @constants
// F16:         %[[MANY:.*]] = arith.constant dense<7.000000e+04> : tensor<4x6xf32>
// F16:         arith.mulf %{{.*}} : tensor<4x6xf16>
// F16:         %[[Q:.*]] = arith.divf %{{.*}}, %[[MANY]] : tensor<4x6xf32>
// F16-NEXT:    arith.truncf %[[Q]] : tensor<4x6xf32> to tensor<4x6xf16>
zero.step @constants(%x: tensor<4x8xf32>) {
  %half = arith.constant dense<0.5> : tensor<4x6xf32>
  %many = arith.constant dense<70000.0> : tensor<4x6xf32>
  %w = zero.load @w : tensor<8x6xf32>
  %h = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %a = arith.mulf %h, %half : tensor<4x6xf32>
  %b = arith.divf %a, %many : tensor<4x6xf32>
  %y = nn.linear %b, %w transposed : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce mean %y dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
