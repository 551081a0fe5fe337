// RUN: zero-opt %s -split-input-file -zero-shard-model | FileCheck %s

// Two ranks with samples of their own and two of the four experts each: a rank sorts
// the rows of both for its experts, from the one that its table says.

// CHECK-LABEL: zero.mesh @mesh <data = 2, expert = 2>
// CHECK: @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>{{$}}
// CHECK: @up : tensor<2x16x8xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: @bias : tensor<2x16xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: @down : tensor<2x8x16xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: zero.step @train(%[[X:.*]]: tensor<6x8xf32>)
// CHECK: %[[IDS:.*]] = nn.argsort
// CHECK: %[[G:.*]] = nn.gather
// What is not trained is brought together as it is.
// CHECK: %[[ROWS:.*]] = zero.gather_value %[[X]] cut <dim 0 of [12] over <expert = 2>> : tensor<6x8xf32> -> tensor<12x8xf32>
// CHECK: %[[ALL:.*]] = zero.gather_value %[[IDS]] cut <dim 0 of [12] over <expert = 2>> : tensor<6x2xi32> -> tensor<12x2xi32>
// CHECK: %[[TABLE:.*]] = arith.constant dense<[0, 2]>
// CHECK: %[[OWN:.*]] = zero.slice_value %[[TABLE]]
// CHECK: %[[FIRST:.*]] = tensor.collapse_shape %[[OWN]]
// CHECK: %[[S:.*]], %[[P:.*]], %[[E:.*]] = nn.dispatch %[[ROWS]], %[[ALL]] first %[[FIRST]] experts 4 : {{.*}} -> (tensor<24x8xf32>, tensor<12x2xi32>, tensor<2xi32>)
// CHECK: nn.grouped_matmul %[[S]], %{{.*}} offsets %[[E]] transpose_b ranges 2 : {{.*}} -> tensor<24x16xf32>
// CHECK: arith.constant dense<1.000000e+00> : tensor<24x1xf32>
// CHECK: tensor.expand_shape %{{.*}} output_shape [2, 1, 16] : tensor<2x16xf32> into tensor<2x1x16xf32>
// CHECK: %[[Y:.*]] = nn.grouped_matmul %{{.*}}, %{{.*}} offsets %[[E]] transpose_b ranges 2 : {{.*}} -> tensor<24x8xf32>
// CHECK: %[[GS:.*]] = zero.gather_value %[[G]] replicated cut <dim 0 of [12] over <expert = 2>> : tensor<6x2xf32> -> tensor<12x2xf32>
// CHECK: %[[T:.*]] = nn.combine %[[Y]], %[[P]] weights %[[GS]] : {{.*}} -> tensor<12x8xf32>
// CHECK: %[[Z:.*]] = zero.scatter_value %[[T]] cut <dim 0 of [12] over <expert = 2>> : tensor<12x8xf32> -> tensor<6x8xf32>
// CHECK: nn.reduce mean %[[Z]]
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @up : tensor<4x16x8xf32> = #zero.normal<std = 0.02>
zero.parameter @bias : tensor<4x16xf32> = #zero.normal<std = 0.02>
zero.parameter @down : tensor<4x8x16xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>) {
  %gate = zero.load @gate : tensor<4x8xf32>
  %up = zero.load @up : tensor<4x16x8xf32>
  %bias = zero.load @bias : tensor<4x16xf32>
  %down = zero.load @down : tensor<4x8x16xf32>
  %scores = nn.linear %x, %gate transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %p = nn.softmax %scores : tensor<6x4xf32>
  %ids = nn.argsort %p descending first 2 : tensor<6x4xf32> -> tensor<6x2xi32>
  %g = nn.gather %p, %ids dim 1 : (tensor<6x4xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %s, %places, %ends = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x2xi32>) -> (tensor<12x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %up offsets %ends transpose_b : (tensor<12x8xf32>, tensor<4x16x8xf32>, tensor<4xi32>) -> tensor<12x16xf32>
  %ones = arith.constant dense<1.0> : tensor<12x1xf32>
  %b = tensor.expand_shape %bias [[0], [1, 2]] output_shape [4, 1, 16] : tensor<4x16xf32> into tensor<4x1x16xf32>
  %hb = nn.grouped_matmul %ones, %b offsets %ends : (tensor<12x1xf32>, tensor<4x1x16xf32>, tensor<4xi32>) -> tensor<12x16xf32>
  %sum = arith.addf %h, %hb : tensor<12x16xf32>
  %a = nn.silu %sum : tensor<12x16xf32>
  %y = nn.grouped_matmul %a, %down offsets %ends transpose_b : (tensor<12x16xf32>, tensor<4x8x16xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  %z = nn.combine %y, %places weights %g : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %z dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
