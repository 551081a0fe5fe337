// With policy=full, the whole forward of a span is computed again before the
// backward first needs a part of it, in its order, also what nothing reads: here a
// gelu, whose gradient and whose reader have what they need.
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations='policy=full' --canonicalize --cse | FileCheck %s
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations='policy=all' --canonicalize --cse | FileCheck %s --check-prefix=ALL

// CHECK:       zero.loss_seed
// CHECK:       %[[X:.*]] = zero.recompute %arg0
// CHECK-NEXT:  %[[A:.*]] = zero.load @a
// CHECK-NEXT:  %[[P:.*]] = nn.linear %[[X]], %[[A]]
// CHECK-NEXT:  %[[G:.*]] = zero.launch @gelu{{.*}}(%[[P]])
// CHECK-NEXT:  zero.recompute %[[G]]
// CHECK-NEXT:  zero.launch @gelu_grad{{.*}}, %[[P]])
// CHECK:       zero.apply
// ALL:         zero.loss_seed
// ALL:         %[[X:.*]] = zero.recompute %arg0
// ALL-NEXT:    %[[A:.*]] = zero.load @a
// ALL-NEXT:    %[[P:.*]] = nn.linear %[[X]], %[[A]]
// ALL-NEXT:    zero.launch @gelu_grad{{.*}}, %[[P]])
// ALL:         zero.apply

zero.parameter @a : tensor<16x64xf32> = #zero.normal<std = 0.02>
zero.parameter @b : tensor<64x16xf32> = #zero.normal<std = 0.02>
zero.parameter @c : tensor<16x64xf32> = #zero.normal<std = 0.02>
zero.parameter @d : tensor<64x16xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<32x16xf32>) {
  %a = zero.load @a : tensor<16x64xf32>
  %p = nn.linear %x, %a : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %g = nn.gelu tanh %p : tensor<32x64xf32>
  %b = zero.load @b : tensor<64x16xf32>
  %q = nn.linear %g, %b : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %y = arith.addf %x, %q : tensor<32x16xf32>
  %c = zero.load @c : tensor<16x64xf32>
  %r = nn.linear %y, %c : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %h = nn.gelu tanh %r : tensor<32x64xf32>
  %d = zero.load @d : tensor<64x16xf32>
  %s = nn.linear %h, %d : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %z = arith.addf %y, %s : tensor<32x16xf32>
  %loss = nn.reduce mean %z dims [0, 1] : (tensor<32x16xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
