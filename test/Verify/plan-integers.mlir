// RUN: zero-opt %s --zero-pipeline='stage=0' | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=0 accumulation=2' | FileCheck %s --check-prefix=APART

// Positions become floating-point numbers, and these a gradient, in place: where
// the gradient is stored, which nothing else is in yet.

// CHECK: %[[AT:.*]] = nn.argsort %{{.*}} {zero.at = [#zero.at<gradients[0], 32 bytes>]}
// CHECK: zero.launch {{.*}}%[[AT]]{{.*}}zero.at = {{.*}}#zero.at<gradients[0], 32 bytes>
// CHECK: zero.gradient @w
// CHECK-NEXT: zero.accumulate whole

// What is added up from micro-batch to micro-batch is kept apart.
// APART: nn.argsort %{{.*}} {zero.at = [#zero.at<activations

zero.parameter @w : tensor<2x4xf32> = #zero.ones

zero.step @train(%x: tensor<2x4xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<2x4xf32>
  %c = nn.argsort %x : tensor<2x4xf32> -> tensor<2x4xi32>
  %f = arith.sitofp %c : tensor<2x4xi32> to tensor<2x4xf32>
  %p = arith.mulf %w, %f : tensor<2x4xf32>
  %loss = nn.reduce mean %p dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
