// A weight that is used twice: the sum of its contributions is a launch, whose
// blocks launch a kernel for fewer rows. The whole's kernel is gone.

// RUN: zero-opt %s --zero-pipeline="stage=2 ranks=2 precision=bf16 reduce-bucket-size=2048" | FileCheck %s
// CHECK: %[[A:.*]] = nn.matmul {{.*}} transpose_a rows [0, 32]
// CHECK: %[[B:.*]] = nn.matmul {{.*}} transpose_a rows [0, 32]
// CHECK: %[[C:.*]] = zero.launch @extf_extf_addf_6_rows32(%[[A]], %[[B]])
// CHECK-NEXT: zero.gradient @w[0 to 2048], %[[C]]
// CHECK-NEXT: zero.reduce_scatter @p0[0 to 2048]
// CHECK: zero.launch @extf_extf_addf_6_rows32
// CHECK-NEXT: zero.gradient @w[2048 to 4096]
// CHECK-NEXT: zero.reduce_scatter @p0[2048 to 4096]
// CHECK-NOT: func.func private @extf_extf_addf_6(
// CHECK: func.func private @extf_extf_addf_6_rows32(%{{.*}}: tensor<32x64xbf16>, %{{.*}}: tensor<32x64xbf16>) -> tensor<32x64xbf16>
// CHECK-NEXT: tensor.empty() : tensor<32x64xbf16>

zero.parameter @w : tensor<64x64xf32> = #zero.ones
zero.step @train(%x: tensor<16x64xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<64x64xf32>
  %h = nn.linear %x, %w : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %g = nn.gelu tanh %h : tensor<16x64xf32>
  %i = nn.linear %g, %w transposed : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %loss = nn.reduce mean %i dims [0, 1] : (tensor<16x64xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
