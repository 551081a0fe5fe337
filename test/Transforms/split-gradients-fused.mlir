// The gradient of a weight that is larger than a bucket comes in blocks. That of
// its bias, which was computed with it, is by itself again.

// RUN: zero-opt %s --zero-pipeline="stage=2 ranks=2 precision=bf16 fuse-epilogues=true reduce-bucket-size=2048" | FileCheck %s
// CHECK: nn.matmul {{.*}} transpose_a rows [0, 32]
// CHECK-NEXT: zero.gradient @w[0 to 2048]
// CHECK: nn.matmul {{.*}} transpose_a rows [32, 64]
// CHECK-NEXT: zero.gradient @w[2048 to 4096]
// CHECK: %[[DB:.*]] = nn.reduce sum %{{.*}} dims [0] {{.*}} -> tensor<64xbf16>
// CHECK-NEXT: zero.gradient @b, %[[DB]]
// CHECK-NOT: nn.linear_weight_grad

// RUN: zero-opt %s --zero-pipeline="stage=2 ranks=2 precision=bf16 fuse-epilogues=true" | FileCheck %s --check-prefix=WHOLE
// WHOLE: %[[DW:.*]], %[[DB:.*]] = nn.linear_weight_grad
// WHOLE-NOT: nn.reduce sum {{.*}} -> tensor<64xbf16>

zero.parameter @w : tensor<64x64xf32> = #zero.ones
zero.parameter @b : tensor<64xf32> = #zero.zeros
zero.step @train(%x: tensor<16x64xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<64x64xf32>
  %b = zero.load @b : tensor<64xf32>
  %h = nn.linear %x, %w bias %b : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<16x64xf32>
  %s = arith.mulf %h, %h : tensor<16x64xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<16x64xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
