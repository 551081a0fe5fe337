// RUN: zero-opt %s --split-input-file --zero-differentiate --verify-diagnostics | FileCheck %s

// Below the lowest trainable parameter nothing is built, and a frozen one gets
// no gradient.
zero.parameter @first : tensor<4x4xf32> = #zero.ones frozen
zero.parameter @second : tensor<4x4xf32> = #zero.ones
zero.parameter @third : tensor<4x4xf32> = #zero.ones frozen
// CHECK-LABEL: zero.step @frozen
// CHECK:         %[[H1:.*]] = nn.linear
// CHECK:         zero.loss_seed
// CHECK-NEXT:    nn.broadcast
// CHECK-NEXT:    %[[D:.*]] = nn.linear {{.*}} transposed
// CHECK-NEXT:    %[[G:.*]] = nn.matmul %[[H1]], %[[D]] transpose_a
// CHECK-NEXT:    zero.gradient @second, %[[G]]
// CHECK-NEXT:    zero.yield
zero.step @frozen(%x: tensor<2x4xf32>) {
  %w1 = zero.load @first : tensor<4x4xf32>
  %w2 = zero.load @second : tensor<4x4xf32>
  %w3 = zero.load @third : tensor<4x4xf32>
  %h1 = nn.linear %x, %w1 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h2 = nn.linear %h1, %w2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %h3 = nn.linear %h2, %w3 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %loss = nn.reduce sum %h3 dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Not loaded; loaded for another output only; reached through zeros only.
// expected-remark @+1 {{parameter @absent is trainable, and no gradient of the loss of @unused reaches it: it is left untouched}}
zero.parameter @absent : tensor<4xf32> = #zero.ones
// expected-remark @+1 {{parameter @other is trainable}}
zero.parameter @other : tensor<4xf32> = #zero.ones
// expected-remark @+1 {{parameter @rounded is trainable}}
zero.parameter @rounded : tensor<4xf32> = #zero.ones
zero.parameter @used : tensor<4xf32> = #zero.ones
// CHECK-LABEL: zero.step @unused
// CHECK:         zero.loss_seed
// CHECK-NOT:     zero.gradient
// CHECK:         zero.gradient @used
// CHECK-NOT:     zero.gradient
// CHECK:         zero.evaluate
zero.step @unused(%x: tensor<4xf32>) {
  %o = zero.load @other : tensor<4xf32>
  %r = zero.load @rounded : tensor<4xf32>
  %w = zero.load @used : tensor<4xf32>
  %f = math.floor %r : tensor<4xf32>
  %p = arith.mulf %w, %f : tensor<4xf32>
  %y = arith.mulf %o, %x : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss, %y outputs ["y"] : tensor<f32>, tensor<4xf32>
}
