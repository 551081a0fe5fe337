// Layers are the spans that repeat between places where one activation is
// alive. Of each, its input is kept, and the rest computed again where the
// backward needs it first: through zero.recompute, with loads of its own.
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations | FileCheck %s
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations --canonicalize --cse | FileCheck %s

// What is recomputed can be chosen.
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations=layers=1 | FileCheck %s --check-prefix=LAYER
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations=every=2 | FileCheck %s --check-prefix=TWO
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations=number=1 | FileCheck %s --check-prefix=TWO

zero.parameter @in : tensor<8x64xf32> = #zero.normal<std = 0.02>
zero.parameter @up0 : tensor<64x512xf32> = #zero.normal<std = 0.02>
zero.parameter @down0 : tensor<512x64xf32> = #zero.normal<std = 0.02>
zero.parameter @up1 : tensor<64x512xf32> = #zero.normal<std = 0.02>
zero.parameter @down1 : tensor<512x64xf32> = #zero.normal<std = 0.02>
zero.parameter @out : tensor<64x64xf32> = #zero.normal<std = 0.02>

// CHECK-LABEL: zero.micro
// CHECK:      %[[H0:.*]] = nn.linear %arg0
// CHECK:      nn.linear %[[H0]], %up0
// CHECK-NEXT: zero.launch @gelu
// CHECK:      nn.linear
// CHECK-NEXT: nn.dropout {{.*}} id 0
// CHECK-NEXT: %[[H1:.*]] = zero.launch @addf
// CHECK:      %[[Z1:.*]] = nn.linear %[[H1]], %up1
// CHECK-NEXT: zero.launch @gelu[[GELU:_[0-9]+]](%[[Z1]])
// CHECK:      zero.loss_seed
// CHECK-NOT:  zero.recompute
// The second layer comes first in the backward. Dropout's mask is a function of
// its id, so its gradient needs nothing.
// CHECK:      nn.dropout {{.*}} id 1
// CHECK-NEXT: nn.linear {{.*}}, %down1 transposed
// CHECK-NEXT: %[[R1:.*]] = zero.recompute %[[H1]]
// CHECK-NEXT: %[[UP1:.*]] = zero.load @up1
// CHECK-NEXT: %[[AGAIN1:.*]] = nn.linear %[[R1]], %[[UP1]]
// CHECK-NEXT: %[[G1:.*]] = zero.launch @gelu[[GELU]](%[[AGAIN1]])
// CHECK-NEXT: nn.matmul %[[G1]], {{.*}} transpose_a
// CHECK:      zero.launch @gelu_grad{{.*}}, %[[AGAIN1]])
// CHECK-NOT:  zero.recompute
// CHECK:      nn.matmul %[[H1]], {{.*}} transpose_a
// CHECK:      nn.dropout {{.*}} id 0
// CHECK:      %[[R0:.*]] = zero.recompute %[[H0]]
// CHECK-NEXT: %[[UP0:.*]] = zero.load @up0
// CHECK-NEXT: nn.linear %[[R0]], %[[UP0]]
// CHECK-NOT:  zero.recompute
// CHECK:      zero.evaluate
// CHECK-NOT:  zero.recompute

// LAYER:         nn.linear {{.*}}, %up0
// LAYER-NEXT:    %[[KEPT:.*]] = zero.launch @gelu
// LAYER:         zero.loss_seed
// LAYER-COUNT-1: zero.recompute
// LAYER-NEXT:    zero.load @up1
// LAYER-NOT:     zero.recompute
// LAYER:         nn.matmul %[[KEPT]], {{.*}} transpose_a

// Two layers together: the border between them is computed again as well,
// bitwise equal to the first time, dropout included.
// TWO:         %[[H0:.*]] = nn.linear %arg0
// TWO:         zero.loss_seed
// TWO:         %[[R:.*]] = zero.recompute %[[H0]]
// TWO-NEXT:    zero.load @up0
// TWO-NEXT:    nn.linear %[[R]]
// TWO-NEXT:    zero.launch @gelu
// TWO:         nn.dropout {{.*}} id 0
// TWO-NEXT:    %[[BORDER:.*]] = zero.launch @addf{{.*}}(%[[R]],
// TWO-NEXT:    zero.load @up1
// TWO-NEXT:    nn.linear %[[BORDER]]
// TWO-NOT:     zero.recompute
// TWO:         nn.matmul %[[BORDER]], {{.*}} transpose_a
zero.step @train(%x: tensor<16x8xf32>, %y: tensor<16x64xf32>) {
  %in = zero.load @in : tensor<8x64xf32>
  %h0 = nn.linear %x, %in : (tensor<16x8xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %up0 = zero.load @up0 : tensor<64x512xf32>
  %a0 = nn.linear %h0, %up0 : (tensor<16x64xf32>, tensor<64x512xf32>) -> tensor<16x512xf32>
  %g0 = nn.gelu tanh %a0 : tensor<16x512xf32>
  %down0 = zero.load @down0 : tensor<512x64xf32>
  %b0 = nn.linear %g0, %down0 : (tensor<16x512xf32>, tensor<512x64xf32>) -> tensor<16x64xf32>
  %d0 = nn.dropout %b0 p 0.1 id 0 : tensor<16x64xf32>
  %h1 = arith.addf %h0, %d0 : tensor<16x64xf32>
  %up1 = zero.load @up1 : tensor<64x512xf32>
  %a1 = nn.linear %h1, %up1 : (tensor<16x64xf32>, tensor<64x512xf32>) -> tensor<16x512xf32>
  %g1 = nn.gelu tanh %a1 : tensor<16x512xf32>
  %down1 = zero.load @down1 : tensor<512x64xf32>
  %b1 = nn.linear %g1, %down1 : (tensor<16x512xf32>, tensor<512x64xf32>) -> tensor<16x64xf32>
  %d1 = nn.dropout %b1 p 0.1 id 1 : tensor<16x64xf32>
  %h2 = arith.addf %h1, %d1 : tensor<16x64xf32>
  %out = zero.load @out : tensor<64x64xf32>
  %z = nn.linear %h2, %out : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %e = arith.subf %z, %y : tensor<16x64xf32>
  %s = arith.mulf %e, %e : tensor<16x64xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<16x64xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
