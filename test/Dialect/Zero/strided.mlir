// RUN: zero-opt %s | zero-opt | FileCheck %s

!qkv = tensor<2x16x12x8xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>

// CHECK-LABEL: zero.step @train
zero.step @train(%x: !qkv) {
  // CHECK:      %[[R:.*]]:2 = zero.strided %{{.*}} : (tensor<2x16x12x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2x16x12x8xf32>):
  // CHECK-NEXT:   %[[P:.*]]:3 = nn.split %[[A]]
  // CHECK-NEXT:   %[[O:.*]], %[[L:.*]] = nn.attention %[[P]]#0, %[[P]]#1, %[[P]]#2
  // CHECK-NEXT:   zero.strided_yield %[[O]], %[[L]] : tensor<2x16x4x8xf32>, tensor<2x4x16xf32>
  // CHECK-NEXT: }
  %out, %lse = zero.strided %x : (!qkv) -> (!heads, !lse) {
  ^bb0(%a: !qkv):
    %q, %k, %v = nn.split %a dim 2 sizes [4, 4, 4] : (!qkv) -> (!heads, !heads, !heads)
    %o, %l = nn.attention %q, %k, %v scale 1.0 : (!heads, !heads, !heads) -> (!heads, !lse)
    zero.strided_yield %o, %l : !heads, !lse
  }
  %loss = nn.reduce sum %out dims [0, 1, 2, 3] : (!heads) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
