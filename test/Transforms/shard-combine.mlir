// RUN: zero-opt %s -zero-shard-model | FileCheck %s
// RUN: zero-opt %s -zero-shard-model -zero-verify-values -zero-differentiate -zero-verify-values | FileCheck %s --check-prefix=GRADIENT

// The gradient of the weights reads all of a row, so that what is brought back is the sum
// over `tensor`, and no term of it.

// CHECK: %[[TERM:.*]] = nn.grouped_matmul
// CHECK: %[[SUM:.*]] = zero.all_reduce_value %[[TERM]] over <tensor = 2>
// CHECK: nn.combine %[[SUM]]
// GRADIENT: nn.combine_grad
zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @table : tensor<16x8xf32> = #zero.normal<std = 0.02>
zero.parameter @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @down : tensor<4x8x8xf32> = #zero.normal<std = 0.02>

zero.step @train(%tokens: tensor<6xi32>) {
  %table = zero.load @table : tensor<16x8xf32>
  %gate = zero.load @gate : tensor<4x8xf32>
  %down = zero.load @down : tensor<4x8x8xf32>
  %x = nn.embedding %tokens, %table : (tensor<6xi32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %scores = nn.linear %x, %gate transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %p = nn.softmax %scores : tensor<6x4xf32>
  %ids = nn.argsort %p descending first 1 : tensor<6x4xf32> -> tensor<6x1xi32>
  %g = nn.gather %p, %ids dim 1 : (tensor<6x4xf32>, tensor<6x1xi32>) -> tensor<6x1xf32>
  %s, %places, %ends = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x1xi32>) -> (tensor<6x8xf32>, tensor<6x1xi32>, tensor<4xi32>)
  %y = nn.grouped_matmul %s, %down offsets %ends : (tensor<6x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  %z = nn.combine %y, %places weights %g : (tensor<6x8xf32>, tensor<6x1xi32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %n = nn.softmax %z : tensor<6x8xf32>
  %loss = nn.reduce mean %n dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
