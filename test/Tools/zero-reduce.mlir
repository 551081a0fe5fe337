// Shrinks a module to what a script calls interesting.
// RUN: zero-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/has-gelu.sh' | FileCheck %s

// CHECK-NOT: @other
// CHECK: nn.gelu
// CHECK-NOT: @other
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.silu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.gelu tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @another(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.silu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
