// RUN: zero-opt %s --split-input-file --zero-differentiate | FileCheck %s

// A table that is also the output projection: two loads, one gradient. The
// projection's contribution comes first, and the embedding's starts from it.
zero.parameter @table : tensor<8x6xf32> = #zero.normal<std = 0.02>
// CHECK-LABEL: zero.step @tied
// CHECK:         zero.loss_seed
// CHECK:         %[[DL:.*]] = nn.cross_entropy_grad
// CHECK:         %[[DX:.*]] = nn.linear %[[DL]]
// CHECK:         %[[P:.*]] = nn.matmul %[[DL]], %{{.*}} transpose_a
// CHECK-NEXT:    %[[G:.*]] = nn.embedding_grad %[[DX]], %{{.*}} init %[[P]]
// CHECK-NEXT:    zero.gradient @table, %[[G]] : tensor<8x6xf32>
// CHECK-NEXT:    zero.yield
zero.step @tied(%ids: tensor<3xi32>, %t: tensor<3xi32>) {
  %e = zero.load @table : tensor<8x6xf32>
  %x = nn.embedding %ids, %e : (tensor<3xi32>, tensor<8x6xf32>) -> tensor<3x6xf32>
  %p = zero.load @table : tensor<8x6xf32>
  %l = nn.linear %x, %p transposed : (tensor<3x6xf32>, tensor<8x6xf32>) -> tensor<3x8xf32>
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  zero.yield %loss : tensor<f32>
}

// -----

// One load used three times: partial sums, the last use first.
zero.parameter @w : tensor<4xf32> = #zero.ones
// CHECK-LABEL: zero.step @reused
// CHECK:         %[[W:.*]] = zero.load @w
// CHECK:         zero.loss_seed
// CHECK-NEXT:    %[[G:.*]] = nn.broadcast
// CHECK-NEXT:    %[[D2:.*]] = arith.mulf %[[G]], %[[W]]
// CHECK-NEXT:    %[[C3:.*]] = arith.mulf %[[G]], %[[H2:.*]] :
// CHECK-NEXT:    %[[D1:.*]] = arith.mulf %[[D2]], %[[W]]
// CHECK-NEXT:    %[[C2:.*]] = arith.mulf %[[D2]], %[[H1:.*]] :
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[C3]], %[[C2]]
// CHECK-NEXT:    %[[C1:.*]] = arith.mulf %[[D1]], %{{.*}}
// CHECK-NEXT:    %[[ALL:.*]] = arith.addf %[[S]], %[[C1]]
// CHECK-NEXT:    zero.gradient @w, %[[ALL]]
// CHECK-NEXT:    zero.yield
zero.step @reused(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %h1 = arith.mulf %x, %w : tensor<4xf32>
  %h2 = arith.mulf %h1, %w : tensor<4xf32>
  %h3 = arith.mulf %h2, %w : tensor<4xf32>
  %loss = nn.reduce sum %h3 dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Contributions of 16 bits are added in f32 and rounded once. Those to a value
// inside the step are added as they are.
zero.parameter @w : tensor<4xf32> = #zero.ones
// CHECK-LABEL: zero.step @narrow
// CHECK:         zero.loss_seed
// CHECK:         %[[D:.*]] = arith.truncf
// CHECK-NEXT:    %[[D1:.*]] = arith.mulf %[[D]], %{{.*}}
// CHECK-NEXT:    %[[C2:.*]] = arith.mulf %[[D]], %{{.*}}
// CHECK-NEXT:    %[[C1:.*]] = arith.mulf %[[D1]], %{{.*}}
// CHECK-NEXT:    %[[A:.*]] = arith.extf %[[C1]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT:    %[[B:.*]] = arith.extf %[[C2]] : tensor<4xbf16> to tensor<4xf32>
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[B]], %[[A]] : tensor<4xf32>
// CHECK-NEXT:    %[[G:.*]] = arith.truncf %[[S]] : tensor<4xf32> to tensor<4xbf16>
// CHECK-NEXT:    zero.gradient @w, %[[G]] : tensor<4xbf16>
zero.step @narrow(%x: tensor<4xbf16>) {
  %w = zero.load @w : tensor<4xbf16>
  %h1 = arith.mulf %x, %w : tensor<4xbf16>
  %h2 = arith.mulf %h1, %w : tensor<4xbf16>
  %h3 = arith.extf %h2 : tensor<4xbf16> to tensor<4xf32>
  %loss = nn.reduce sum %h3 dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// One gradient for two parameters, of which one has another contribution: the
// embedding's gradient must stay what it is for the other.
zero.parameter @a : tensor<8x6xf32> = #zero.ones
zero.parameter @b : tensor<8x6xf32> = #zero.ones
// CHECK-LABEL: zero.step @sum
// CHECK:         %[[P:.*]] = nn.matmul
// CHECK:         %[[E:.*]] = nn.embedding_grad %{{.*}}, %{{[^ ]*}} :
// CHECK:         zero.gradient @a, %[[E]]
// CHECK:         %[[S:.*]] = arith.addf %[[P]], %[[E]]
// CHECK-NEXT:    zero.gradient @b, %[[S]]
zero.step @sum(%ids: tensor<3xi32>, %t: tensor<3xi32>) {
  %a = zero.load @a : tensor<8x6xf32>
  %b = zero.load @b : tensor<8x6xf32>
  %e = arith.addf %a, %b : tensor<8x6xf32>
  %x = nn.embedding %ids, %e : (tensor<3xi32>, tensor<8x6xf32>) -> tensor<3x6xf32>
  %l = nn.linear %x, %b transposed : (tensor<3x6xf32>, tensor<8x6xf32>) -> tensor<3x8xf32>
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<3x8xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<3xf32>)
  zero.yield %loss : tensor<f32>
}
