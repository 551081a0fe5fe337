// RUN: zero-opt %s --split-input-file --zero-shard-model --zero-verify-values | FileCheck %s

// Two key heads for four ranks: each reads a copy of one, and keys are whole.
// CHECK-LABEL: zero.parameter @q : tensor<8x32xf32>
// CHECK-SAME: cut <dim 0 of [32] over <tensor = 4>>
// CHECK: zero.parameter @k : tensor<16x32xf32> = #zero.ones{{$}}
zero.mesh @mesh <data = 1, tensor = 4>
zero.parameter @q : tensor<32x32xf32> = #zero.ones
zero.parameter @k : tensor<16x32xf32> = #zero.ones
zero.parameter @o : tensor<32x32xf32> = #zero.ones
zero.step @train(%x: tensor<2x6x32xf32> {zero.input = "x"}) {
  %wq = zero.load @q : tensor<32x32xf32>
  %wk = zero.load @k : tensor<16x32xf32>
  %wo = zero.load @o : tensor<32x32xf32>
  %ql = nn.linear %x, %wq transposed : (tensor<2x6x32xf32>, tensor<32x32xf32>) -> tensor<2x6x32xf32>
  %kl = nn.linear %x, %wk transposed : (tensor<2x6x32xf32>, tensor<16x32xf32>) -> tensor<2x6x16xf32>
  %q = tensor.expand_shape %ql [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
  %k = tensor.expand_shape %kl [[0], [1], [2, 3]] output_shape [2, 6, 2, 8] : tensor<2x6x16xf32> into tensor<2x6x2x8xf32>
  // CHECK: %[[HEADS:.*]] = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
  // CHECK: zero.slice_value %[[HEADS]] cut <dim 0 of [4] over <tensor = 4>>
  // CHECK: zero.replicate {{.*}} : tensor<2x6x2x8xf32>
  // CHECK: nn.gather {{.*}} dim 2 : (tensor<2x6x2x8xf32>, tensor<2x6x1xi32>) -> tensor<2x6x1x8xf32>
  // CHECK: nn.attention {{.*}} : (tensor<2x6x1x8xf32>, tensor<2x6x1x8xf32>, tensor<2x6x1x8xf32>)
  %a, %lse = nn.attention %q, %k, %k scale 0.5 : (tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  %c = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<2x6x4x8xf32> into tensor<2x6x32xf32>
  %y = nn.linear %c, %wo transposed : (tensor<2x6x32xf32>, tensor<32x32xf32>) -> tensor<2x6x32xf32>
  %l = nn.reduce sum %y dims [0, 1, 2] : (tensor<2x6x32xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// Nobody gains by copies where the model says that heads are whole.
// CHECK-LABEL: zero.step @whole
// CHECK-NOT: nn.gather
zero.mesh @mesh <data = 1, tensor = 4>
zero.parameter @q : tensor<32x32xf32> = #zero.ones {zero.sharding = -1 : i64}
zero.parameter @k : tensor<16x32xf32> = #zero.ones
zero.step @whole(%x: tensor<2x6x32xf32> {zero.input = "x"}) {
  %wq = zero.load @q : tensor<32x32xf32>
  %wk = zero.load @k : tensor<16x32xf32>
  %ql = nn.linear %x, %wq transposed : (tensor<2x6x32xf32>, tensor<32x32xf32>) -> tensor<2x6x32xf32>
  %kl = nn.linear %x, %wk transposed : (tensor<2x6x32xf32>, tensor<16x32xf32>) -> tensor<2x6x16xf32>
  %q = tensor.expand_shape %ql [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
  %k = tensor.expand_shape %kl [[0], [1], [2, 3]] output_shape [2, 6, 2, 8] : tensor<2x6x16xf32> into tensor<2x6x2x8xf32>
  // CHECK: nn.attention {{.*}} : (tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>)
  %a, %lse = nn.attention %q, %k, %k scale 0.5 : (tensor<2x6x4x8xf32>, tensor<2x6x2x8xf32>, tensor<2x6x2x8xf32>) -> (tensor<2x6x4x8xf32>, tensor<2x4x6xf32>)
  %l = nn.reduce sum %a dims [0, 1, 2, 3] : (tensor<2x6x4x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

// What is repeated at all positions is cut as what reads it: nothing is sent of it.
// CHECK-LABEL: zero.step @repeated
zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<16x4x8xf32> = #zero.ones
zero.parameter @sinks : tensor<4xf32> = #zero.ones
zero.step @repeated(%x: tensor<2x6xi32> {zero.input = "x"}) {
  %t = zero.load @table : tensor<16x4x8xf32>
  %f = tensor.collapse_shape %t [[0], [1, 2]] : tensor<16x4x8xf32> into tensor<16x32xf32>
  %e = nn.embedding %x, %f : (tensor<2x6xi32>, tensor<16x32xf32>) -> tensor<2x6x32xf32>
  %h = tensor.expand_shape %e [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
  %p = nn.transpose %h permutation [0, 2, 1, 3] : (tensor<2x6x4x8xf32>) -> tensor<2x4x6x8xf32>
  %s = nn.matmul %p, %p transpose_b : (tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) -> tensor<2x4x6x6xf32>
  %w = zero.load @sinks : tensor<4xf32>
  // CHECK: %[[SINKS:.*]] = zero.load @sinks
  // CHECK: %[[OWN:.*]] = zero.slice_value {{.*}} cut <dim 0 of [4] over <sequence = 2>> : tensor<4xf32> -> tensor<2xf32>
  // CHECK: %[[ALL:.*]] = nn.broadcast %[[OWN]] dims [1] : (tensor<2xf32>) -> tensor<2x2x6x1xf32>
  // CHECK: tensor.concat dim(3) {{.*}}, %[[ALL]]
  %b = nn.broadcast %w dims [1] : (tensor<4xf32>) -> tensor<2x4x6x1xf32>
  %c = tensor.concat dim(3) %s, %b : (tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) -> tensor<2x4x6x7xf32>
  %q = nn.softmax %c : tensor<2x4x6x7xf32>
  %l = nn.reduce sum %q dims [0, 1, 2, 3] : (tensor<2x4x6x7xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
