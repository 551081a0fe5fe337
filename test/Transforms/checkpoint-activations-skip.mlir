// Two layers that both read what an encoder made: between them two activations
// are alive, and few bytes beside those inside a layer.
// RUN: zero-opt %s --zero-differentiate --canonicalize --cse --zero-outline-elementwise --zero-checkpoint-activations=layers=2 | FileCheck %s

zero.parameter @e : tensor<8x16xf32> = #zero.normal<std = 0.02>
zero.parameter @up0 : tensor<16x128xf32> = #zero.normal<std = 0.02>
zero.parameter @across0 : tensor<16x128xf32> = #zero.normal<std = 0.02>
zero.parameter @down0 : tensor<128x16xf32> = #zero.normal<std = 0.02>
zero.parameter @up1 : tensor<16x128xf32> = #zero.normal<std = 0.02>
zero.parameter @across1 : tensor<16x128xf32> = #zero.normal<std = 0.02>
zero.parameter @down1 : tensor<128x16xf32> = #zero.normal<std = 0.02>
zero.parameter @o : tensor<16x512xf32> = #zero.normal<std = 0.02>

// CHECK-LABEL: zero.micro
// CHECK:       %[[E:.*]] = nn.linear %arg0, %e
// CHECK:       nn.linear %{{.*}}, %down0
// CHECK:       %[[H:.*]] = zero.launch @addf
// CHECK:       nn.linear %{{.*}}, %up1
// CHECK:       zero.loss_seed
// CHECK:       %[[R:.*]] = zero.recompute %[[H]]
// CHECK-NEXT:  zero.load @up1
// CHECK-NEXT:  nn.linear %[[R]]
// CHECK-NEXT:  %[[S:.*]] = zero.recompute %[[E]]
// CHECK-NEXT:  zero.load @across1
// CHECK-NEXT:  nn.linear %[[S]]
// CHECK-NEXT:  zero.launch @addf_gelu
// CHECK-NOT:   zero.recompute
// CHECK:       zero.apply
zero.step @train(%x: tensor<16x8xf32>) {
  %we = zero.load @e : tensor<8x16xf32>
  %e = nn.linear %x, %we : (tensor<16x8xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %h0 = nn.gelu tanh %e : tensor<16x16xf32>
  %u0 = zero.load @up0 : tensor<16x128xf32>
  %a0 = nn.linear %h0, %u0 : (tensor<16x16xf32>, tensor<16x128xf32>) -> tensor<16x128xf32>
  %w0 = zero.load @across0 : tensor<16x128xf32>
  %c0 = nn.linear %e, %w0 : (tensor<16x16xf32>, tensor<16x128xf32>) -> tensor<16x128xf32>
  %s0 = arith.addf %a0, %c0 : tensor<16x128xf32>
  %g0 = nn.gelu tanh %s0 : tensor<16x128xf32>
  %d0 = zero.load @down0 : tensor<128x16xf32>
  %b0 = nn.linear %g0, %d0 : (tensor<16x128xf32>, tensor<128x16xf32>) -> tensor<16x16xf32>
  %h1 = arith.addf %h0, %b0 : tensor<16x16xf32>
  %u1 = zero.load @up1 : tensor<16x128xf32>
  %a1 = nn.linear %h1, %u1 : (tensor<16x16xf32>, tensor<16x128xf32>) -> tensor<16x128xf32>
  %w1 = zero.load @across1 : tensor<16x128xf32>
  %c1 = nn.linear %e, %w1 : (tensor<16x16xf32>, tensor<16x128xf32>) -> tensor<16x128xf32>
  %s1 = arith.addf %a1, %c1 : tensor<16x128xf32>
  %g1 = nn.gelu tanh %s1 : tensor<16x128xf32>
  %d1 = zero.load @down1 : tensor<128x16xf32>
  %b1 = nn.linear %g1, %d1 : (tensor<16x128xf32>, tensor<128x16xf32>) -> tensor<16x16xf32>
  %h2 = arith.addf %h1, %b1 : tensor<16x16xf32>
  %f = nn.matmul %h2, %e transpose_b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %wo = zero.load @o : tensor<16x512xf32>
  %l = nn.linear %f, %wo : (tensor<16x16xf32>, tensor<16x512xf32>) -> tensor<16x512xf32>
  %loss = nn.reduce mean %l dims [0, 1] : (tensor<16x512xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
