// A gathered parameter that the step yields lives until its end: there is
// nothing to free it before, and the verifier knows.
// RUN: zero-opt %s --zero-pipeline='stage=3 ranks=3' | FileCheck %s

zero.parameter @w : tensor<8xf32> = #zero.ones
// CHECK: zero.evaluate {
// CHECK: %[[G:.*]] = zero.wait
// CHECK: %w = zero.load @w from %[[G]]
// CHECK-NOT: zero.free
// CHECK: zero.yield %{{.*}}, %w outputs ["w"]
zero.step @train(%x: tensor<8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<8xf32>
  %p = arith.mulf %x, %w : tensor<8xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss, %w outputs ["w"] : tensor<f32>, tensor<8xf32>
}
