// Operations with uses are left out: who used them takes an earlier value of the same type.
// What only they have read goes with them, and symbols that nobody uses go as well.
// RUN: zero-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/has-gelu.sh' -reduction-tree='traversal-mode=0 test=%S/Inputs/has-gelu.sh' | FileCheck %s

// CHECK-NOT: zero.parameter
// CHECK: zero.step @train(%[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.gelu tanh %[[X]]
// CHECK-NEXT: %[[LOSS:.*]] = nn.reduce sum %[[Y]]
// CHECK-NEXT: zero.yield %[[LOSS]]
zero.parameter @scale : tensor<4xf32> = #zero.ones
zero.parameter @shift : tensor<4xf32> = #zero.zeros
zero.parameter @unused : tensor<2xf32> = #zero.zeros
zero.step @train(%x: tensor<4xf32> {zero.input = "x"}) {
  %scale = zero.load @scale : tensor<4xf32>
  %shift = zero.load @shift : tensor<4xf32>
  %0 = arith.mulf %x, %scale : tensor<4xf32>
  %1 = nn.gelu tanh %0 : tensor<4xf32>
  %2 = arith.addf %1, %shift : tensor<4xf32>
  %3 = nn.silu %2 : tensor<4xf32>
  %4 = nn.reduce sum %3 dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %4 : tensor<f32>
}
