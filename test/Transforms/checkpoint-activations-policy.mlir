// With policy=cheap, products stay where the backward needs them, and what is
// computed from them in little time is computed again. Which is which follows
// from operations and bytes: a product of large matrices has hundreds of
// operations a byte, a small one few.
// RUN: zero-opt %s --split-input-file --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations='policy=cheap every=2' | FileCheck %s

zero.parameter @a : tensor<512x512xf32> = #zero.normal<std = 0.02>
zero.parameter @b : tensor<512x512xf32> = #zero.normal<std = 0.02>
zero.parameter @c : tensor<512x512xf32> = #zero.normal<std = 0.02>

// CHECK-LABEL: zero.step @large
// CHECK:       %[[P:.*]] = nn.linear %arg0, %a
// CHECK:       %[[Q:.*]] = nn.linear %{{.*}}, %b
// CHECK:       zero.loss_seed
// CHECK-NOT:   zero.recompute
// CHECK:       zero.launch @gelu_grad{{.*}}, %[[Q]])
// CHECK:       %[[R:.*]] = zero.recompute %[[P]]
// CHECK-NEXT:  %[[G:.*]] = zero.launch @gelu{{.*}}(%[[R]])
// CHECK-NEXT:  nn.matmul %[[G]], {{.*}} transpose_a
// CHECK:       zero.launch @gelu_grad{{.*}}, %[[P]])
// CHECK-NOT:   zero.recompute
// CHECK:       zero.apply
zero.step @large(%x: tensor<512x512xf32>) {
  %a = zero.load @a : tensor<512x512xf32>
  %p = nn.linear %x, %a : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %g = nn.gelu tanh %p : tensor<512x512xf32>
  %b = zero.load @b : tensor<512x512xf32>
  %q = nn.linear %g, %b : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %h = nn.gelu tanh %q : tensor<512x512xf32>
  %c = zero.load @c : tensor<512x512xf32>
  %r = nn.linear %h, %c : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %loss = nn.reduce mean %r dims [0, 1] : (tensor<512x512xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<4x512xf32> = #zero.normal<std = 0.02>
zero.parameter @b : tensor<512x4xf32> = #zero.normal<std = 0.02>
zero.parameter @c : tensor<4x512xf32> = #zero.normal<std = 0.02>
zero.parameter @d : tensor<512x4xf32> = #zero.normal<std = 0.02>

// CHECK-LABEL: zero.step @small
// CHECK:       zero.loss_seed
// CHECK:       zero.recompute %arg0
// CHECK-NEXT:  zero.load @a
// CHECK-NEXT:  nn.linear
// CHECK-NEXT:  zero.launch @gelu
zero.step @small(%x: tensor<512x4xf32>) {
  %a = zero.load @a : tensor<4x512xf32>
  %p = nn.linear %x, %a : (tensor<512x4xf32>, tensor<4x512xf32>) -> tensor<512x512xf32>
  %g = nn.gelu tanh %p : tensor<512x512xf32>
  %b = zero.load @b : tensor<512x4xf32>
  %q = nn.linear %g, %b : (tensor<512x512xf32>, tensor<512x4xf32>) -> tensor<512x4xf32>
  %c = zero.load @c : tensor<4x512xf32>
  %r = nn.linear %q, %c : (tensor<512x4xf32>, tensor<4x512xf32>) -> tensor<512x512xf32>
  %h = nn.gelu tanh %r : tensor<512x512xf32>
  %d = zero.load @d : tensor<512x4xf32>
  %s = nn.linear %h, %d : (tensor<512x512xf32>, tensor<512x4xf32>) -> tensor<512x4xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<512x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
