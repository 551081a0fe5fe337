// RUN: zero-opt %s --zero-shard-model --zero-verify-values --verify-diagnostics | FileCheck %s

// Rows of data that are cut into several pieces become rows of patches first: rows 2 by 2 of
// patches are what the merging weight is cut along.
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @patches : tensor<8x16xf32> = #zero.normal<std = 0.02> // expected-note {{1 left whole}}
zero.parameter @merge : tensor<2x16x64xf32> = #zero.normal<std = 0.02> {zero.sharding = 0 : i64}
// expected-remark @below {{1 of 2 parameters are cut}}
zero.step @train(%x: tensor<2x8x4xf32> {zero.input = "x"}) {
  %patches = zero.load @patches : tensor<8x16xf32>
  %merge = zero.load @merge : tensor<2x16x64xf32>
  // CHECK: %[[ROWS:.*]] = tensor.expand_shape %{{.*}} output_shape [2, 4, 2, 4]
  // CHECK: zero.slice_value %[[ROWS]] cut <dim 1 of repeated 2 [2] over <tensor = 2>> : tensor<2x4x2x4xf32> -> tensor<2x2x2x4xf32>
  %rows = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 4, 2, 4] : tensor<2x8x4xf32> into tensor<2x4x2x4xf32>
  %flat = tensor.collapse_shape %rows [[0], [1], [2, 3]] : tensor<2x4x2x4xf32> into tensor<2x4x8xf32>
  %h = nn.linear %flat, %patches : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %pairs = tensor.expand_shape %h [[0], [1, 2], [3]] output_shape [2, 2, 2, 16] : tensor<2x4x16xf32> into tensor<2x2x2x16xf32>
  %two = tensor.collapse_shape %pairs [[0], [1], [2, 3]] : tensor<2x2x2x16xf32> into tensor<2x2x32xf32>
  %m = tensor.collapse_shape %merge [[0, 1], [2]] : tensor<2x16x64xf32> into tensor<32x64xf32>
  %y = nn.linear %two, %m : (tensor<2x2x32xf32>, tensor<32x64xf32>) -> tensor<2x2x64xf32>
  %l = nn.reduce sum %y dims [0, 1, 2] : (tensor<2x2x64xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
