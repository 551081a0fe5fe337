// RUN: zero-opt %s | zero-opt | FileCheck %s

zero.mesh @mesh <data = 2, tensor = 2>

// Queries, keys and values side by side.
// CHECK: zero.parameter @qkv : tensor<8x12xf32> = #zero.zeros cut <dim 1 of [16, 4, 4] over <tensor = 2>>
zero.parameter @qkv : tensor<8x12xf32> = #zero.zeros cut <dim 1 of [16, 4, 4] over <tensor = 2>>
// CHECK: zero.parameter @pairs : tensor<8x4xf32> = #zero.zeros cut <dim 1 of repeated 4 [2] over <tensor = 2>>
zero.parameter @pairs : tensor<8x4xf32> = #zero.zeros cut <dim 1 of repeated 4 [2] over <tensor = 2>>

// CHECK-LABEL: func.func @values
func.func @values(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: zero.replicate %{{.*}} over <tensor = 2> : tensor<2x4xf32>
  %r = zero.replicate %x over <tensor = 2> : tensor<2x4xf32>
  // CHECK: zero.slice_value %{{.*}} cut <dim 1 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<2x2xf32>
  %s = zero.slice_value %r cut <dim 1 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<2x2xf32>
  // CHECK: zero.gather_value %{{.*}} cut <dim 1 of [4] over <tensor = 2>> : tensor<2x2xf32> -> tensor<2x4xf32>
  %g = zero.gather_value %s cut <dim 1 of [4] over <tensor = 2>> : tensor<2x2xf32> -> tensor<2x4xf32>
  // CHECK: zero.count_once %{{.*}} over <tensor = 2> : tensor<2x4xf32>
  %o = zero.count_once %x over <tensor = 2> : tensor<2x4xf32>
  // CHECK: zero.term_value %{{.*}} over <tensor = 2> : tensor<2x4xf32>
  %t = zero.term_value %x over <tensor = 2> : tensor<2x4xf32>
  // CHECK: zero.exchange_value %{{.*}} from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [2] over <tensor = 2>> : tensor<2x2xf32> -> tensor<1x4xf32>
  %e = zero.exchange_value %s from <dim 1 of [4] over <tensor = 2>> to <dim 0 of [2] over <tensor = 2>> : tensor<2x2xf32> -> tensor<1x4xf32>
  // CHECK: zero.gather_value %{{.*}} replicated cut <dim 0 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<4x4xf32>
  %w = zero.gather_value %x replicated cut <dim 0 of [4] over <tensor = 2>> : tensor<2x4xf32> -> tensor<4x4xf32>
  // CHECK: zero.scatter_value %{{.*}} cut <dim 0 of [4] over <tensor = 2>> : tensor<4x4xf32> -> tensor<2x4xf32>
  %p = zero.scatter_value %w cut <dim 0 of [4] over <tensor = 2>> : tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: zero.all_reduce_value %{{.*}} over <data = 2, tensor = 2> : tensor<2x4xf32>
  %y = zero.all_reduce_value %g over <data = 2, tensor = 2> : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
