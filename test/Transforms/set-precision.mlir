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
