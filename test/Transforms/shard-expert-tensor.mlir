// RUN: zero-opt %s -zero-shard-model | FileCheck %s
// RUN: zero-opt %s -zero-shard-model | sed 's/\(@up : .* cut .*\), <dim 0 .*>>/\1, <dim 1 of [32] over <expert = 2>>/' | not zero-opt 2>&1 | FileCheck %s --check-prefix=TWICE

// Each axis cuts what the other leaves: `tensor` the width within experts,
// `expert` the experts. What a rank has is a part of some of them.

// CHECK: @up : tensor<2x16x8xf32> {{.*}} cut <dim 1 of [32] over <tensor = 2>>, <dim 0 of [4] over <expert = 2>>
// CHECK: @down : tensor<2x8x16xf32> {{.*}} cut <dim 2 of [32] over <tensor = 2>>, <dim 0 of [4] over <expert = 2>>
// CHECK: %[[ROWS:.*]] = zero.gather_value %{{.*}} cut <dim 0 of [12] over <expert = 2>> : tensor<6x8xf32> -> tensor<12x8xf32>
// CHECK: nn.dispatch %[[ROWS]], {{.*}} experts 4 : {{.*}} -> (tensor<24x8xf32>, tensor<12x2xi32>, tensor<2xi32>)
// CHECK: nn.grouped_matmul {{.*}} -> tensor<24x16xf32>
// CHECK: %[[Y:.*]] = nn.grouped_matmul {{.*}} -> tensor<24x8xf32>
// CHECK: %[[SUM:.*]] = zero.all_reduce_value %[[Y]] over <tensor = 2> : tensor<24x8xf32>
// CHECK: %[[TERM:.*]] = nn.combine %[[SUM]]
// CHECK: zero.scatter_value %[[TERM]] cut <dim 0 of [12] over <expert = 2>> : tensor<12x8xf32> -> tensor<6x8xf32>

// TWICE: error: 'zero.parameter' op is cut as #zero.cut<dim 1 of [32] over <tensor = 2>> and as #zero.cut<dim 1 of [32] over <expert = 2>>, wanted another dimension and other axes for each
zero.mesh @mesh <data = 1, expert = 2, tensor = 2>
zero.parameter @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @up : tensor<4x32x8xf32> = #zero.normal<std = 0.02>
zero.parameter @down : tensor<4x8x32xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>) {
  %gate = zero.load @gate : tensor<4x8xf32>
  %up = zero.load @up : tensor<4x32x8xf32>
  %down = zero.load @down : tensor<4x8x32xf32>
  %scores = nn.linear %x, %gate transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %p = nn.softmax %scores : tensor<6x4xf32>
  %ids = nn.argsort %p descending first 2 : tensor<6x4xf32> -> tensor<6x2xi32>
  %g = nn.gather %p, %ids dim 1 : (tensor<6x4xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %s, %places, %ends = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x2xi32>) -> (tensor<12x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %up offsets %ends transpose_b : (tensor<12x8xf32>, tensor<4x32x8xf32>, tensor<4xi32>) -> tensor<12x32xf32>
  %a = nn.silu %h : tensor<12x32xf32>
  %y = nn.grouped_matmul %a, %down offsets %ends transpose_b : (tensor<12x32xf32>, tensor<4x8x32xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  %z = nn.combine %y, %places weights %g : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %z dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
