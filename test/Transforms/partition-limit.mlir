// A program has at most 16 partitions; here are 17 optimizer groups.
// RUN: not zero-opt %s --zero-pipeline 2>&1 | FileCheck %s --implicit-check-not='current operation'
// CHECK: partition-limit.mlir:{{[0-9]+}}:{{[0-9]+}}: error: found 17 partitions (one for each optimizer group and compute type, and for what is not trained), wanted at most 16

zero.parameter @w0 : tensor<4xf32> = #zero.ones group "g0"
zero.parameter @w1 : tensor<4xf32> = #zero.ones group "g1"
zero.parameter @w2 : tensor<4xf32> = #zero.ones group "g2"
zero.parameter @w3 : tensor<4xf32> = #zero.ones group "g3"
zero.parameter @w4 : tensor<4xf32> = #zero.ones group "g4"
zero.parameter @w5 : tensor<4xf32> = #zero.ones group "g5"
zero.parameter @w6 : tensor<4xf32> = #zero.ones group "g6"
zero.parameter @w7 : tensor<4xf32> = #zero.ones group "g7"
zero.parameter @w8 : tensor<4xf32> = #zero.ones group "g8"
zero.parameter @w9 : tensor<4xf32> = #zero.ones group "g9"
zero.parameter @w10 : tensor<4xf32> = #zero.ones group "g10"
zero.parameter @w11 : tensor<4xf32> = #zero.ones group "g11"
zero.parameter @w12 : tensor<4xf32> = #zero.ones group "g12"
zero.parameter @w13 : tensor<4xf32> = #zero.ones group "g13"
zero.parameter @w14 : tensor<4xf32> = #zero.ones group "g14"
zero.parameter @w15 : tensor<4xf32> = #zero.ones group "g15"
zero.parameter @w16 : tensor<4xf32> = #zero.ones group "g16"
zero.step @train(%x: tensor<4xf32>) {
  %w0 = zero.load @w0 : tensor<4xf32>
  %w1 = zero.load @w1 : tensor<4xf32>
  %w2 = zero.load @w2 : tensor<4xf32>
  %w3 = zero.load @w3 : tensor<4xf32>
  %w4 = zero.load @w4 : tensor<4xf32>
  %w5 = zero.load @w5 : tensor<4xf32>
  %w6 = zero.load @w6 : tensor<4xf32>
  %w7 = zero.load @w7 : tensor<4xf32>
  %w8 = zero.load @w8 : tensor<4xf32>
  %w9 = zero.load @w9 : tensor<4xf32>
  %w10 = zero.load @w10 : tensor<4xf32>
  %w11 = zero.load @w11 : tensor<4xf32>
  %w12 = zero.load @w12 : tensor<4xf32>
  %w13 = zero.load @w13 : tensor<4xf32>
  %w14 = zero.load @w14 : tensor<4xf32>
  %w15 = zero.load @w15 : tensor<4xf32>
  %w16 = zero.load @w16 : tensor<4xf32>
  %p0 = arith.mulf %x, %w0 : tensor<4xf32>
  %p1 = arith.mulf %p0, %w1 : tensor<4xf32>
  %p2 = arith.mulf %p1, %w2 : tensor<4xf32>
  %p3 = arith.mulf %p2, %w3 : tensor<4xf32>
  %p4 = arith.mulf %p3, %w4 : tensor<4xf32>
  %p5 = arith.mulf %p4, %w5 : tensor<4xf32>
  %p6 = arith.mulf %p5, %w6 : tensor<4xf32>
  %p7 = arith.mulf %p6, %w7 : tensor<4xf32>
  %p8 = arith.mulf %p7, %w8 : tensor<4xf32>
  %p9 = arith.mulf %p8, %w9 : tensor<4xf32>
  %p10 = arith.mulf %p9, %w10 : tensor<4xf32>
  %p11 = arith.mulf %p10, %w11 : tensor<4xf32>
  %p12 = arith.mulf %p11, %w12 : tensor<4xf32>
  %p13 = arith.mulf %p12, %w13 : tensor<4xf32>
  %p14 = arith.mulf %p13, %w14 : tensor<4xf32>
  %p15 = arith.mulf %p14, %w15 : tensor<4xf32>
  %p16 = arith.mulf %p15, %w16 : tensor<4xf32>
  %loss = nn.reduce sum %p16 dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
