// Rows that both passes read are gathered in each of them.

// RUN: zero-opt %s --zero-gather-again | FileCheck %s

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros

zero.step @train(%x: tensor<4x4xf32>) {
  // CHECK: zero.micro {
  zero.micro {
    %w = zero.load @w : tensor<4x4xf32>
    // CHECK: %[[Y:.*]] = zero.gather_value %arg0 replicated cut
    %y = zero.gather_value %x replicated cut <dim 0 of [8] over <tensor = 2>> : tensor<4x4xf32> -> tensor<8x4xf32>
    // CHECK-NEXT: nn.linear %[[Y]]
    %h = nn.linear %y, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    // What is the same on all ranks afterwards is kept, and so is what the forward pass alone reads.
    // CHECK-NEXT: %[[S:.*]] = zero.gather_value %arg0 cut
    %s = zero.gather_value %x cut <dim 0 of [8] over <tensor = 2>> : tensor<4x4xf32> -> tensor<8x4xf32>
    // CHECK-NEXT: %[[F:.*]] = zero.gather_value %arg0 replicated
    %f = zero.gather_value %x replicated cut <dim 1 of [8] over <tensor = 2>> : tensor<4x4xf32> -> tensor<4x8xf32>
    %g = arith.addf %f, %f : tensor<4x8xf32>
    %t = arith.addf %s, %h : tensor<8x4xf32>
    // CHECK: zero.loss_seed
    %loss = zero.loss_seed : tensor<f32>
    // CHECK-NEXT: arith.mulf %[[S]], %[[S]]
    %u = arith.mulf %s, %s : tensor<8x4xf32>
    // CHECK-NEXT: %[[Z:.*]] = zero.gather_value %arg0 replicated cut <dim 0 of [8]
    // CHECK-NEXT: nn.matmul %{{.*}}, %[[Z]]
    %dw = nn.matmul %u, %y transpose_a : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %gw = zero.gradient @w, %dw : tensor<4x4xf32>
    // CHECK: arith.mulf %[[Z]], %[[Z]]
    %v = arith.mulf %y, %y : tensor<8x4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
