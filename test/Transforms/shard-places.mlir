// RUN: zero-opt %s -split-input-file -zero-shard-model | FileCheck %s

// Each rank fills the places of all experts with rows of its own, and sends them to
// the ranks of the experts, which have as many of each rank; the weights, and what is
// dropped, stay at home.

// CHECK-LABEL: zero.mesh @mesh <data = 2, expert = 2>
// CHECK: @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>{{$}}
// CHECK: @up : tensor<2x16x8xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: @bias : tensor<2x16xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: @scale : tensor<16xf32> = #zero.ones{{$}}
// CHECK: @down : tensor<2x8x16xf32> {{.*}} cut <dim 0 of [4] over <expert = 2>>
// CHECK: zero.step @train(%[[X:.*]]: tensor<6x8xf32>)
// CHECK: %[[G:.*]] = nn.gather
// CHECK: %[[S:.*]], %[[P:.*]], %[[N:.*]] = nn.capacity_dispatch %[[X]], %{{.*}} -> (tensor<4x3x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
// CHECK: %[[OUT:.*]] = zero.exchange_value %[[S]] from <dim 1 of [6] over <expert = 2>> to <dim 0 of [4] over <expert = 2>> : tensor<4x3x8xf32> -> tensor<2x6x8xf32>
// CHECK: nn.matmul %[[OUT]], %{{.*}} transpose_b : (tensor<2x6x8xf32>, tensor<2x16x8xf32>) -> tensor<2x6x16xf32>
// CHECK: nn.broadcast %{{.*}} dims [0, 2] : (tensor<2x16xf32>) -> tensor<2x6x16xf32>
// CHECK: arith.constant dense<2.000000e+00> : tensor<2x6x16xf32>
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x6x16xf32> into tensor<12x16xf32>
// CHECK: nn.rms_norm %[[FLAT]]
// CHECK: %[[Y:.*]] = nn.matmul %{{.*}} transpose_b : (tensor<2x6x16xf32>, tensor<2x8x16xf32>) -> tensor<2x6x8xf32>
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[Y]] {{.*}} : tensor<2x6x8xf32> into tensor<12x8xf32>
// CHECK: zero.exchange_value %{{.*}} from <dim 0 of [4] over <expert = 2>> to <dim 1 of [6] over <expert = 2>> : tensor<2x6x8xf32> -> tensor<4x3x8xf32>
// CHECK: %[[Z:.*]] = nn.combine %{{.*}}, %[[P]] weights %[[G]] : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>
// CHECK: nn.reduce mean %[[Z]]
// CHECK: zero.yield %{{.*}}, %[[N]]
zero.mesh @mesh <data = 2, expert = 2>
zero.parameter @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @up : tensor<4x16x8xf32> = #zero.normal<std = 0.02>
zero.parameter @bias : tensor<4x16xf32> = #zero.normal<std = 0.02>
zero.parameter @scale : tensor<16xf32> = #zero.ones
zero.parameter @down : tensor<4x8x16xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>) {
  %gate = zero.load @gate : tensor<4x8xf32>
  %up = zero.load @up : tensor<4x16x8xf32>
  %bias = zero.load @bias : tensor<4x16xf32>
  %scale = zero.load @scale : tensor<16xf32>
  %down = zero.load @down : tensor<4x8x16xf32>
  %scores = nn.linear %x, %gate transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %p = nn.softmax %scores : tensor<6x4xf32>
  %ids = nn.argsort %p descending first 2 : tensor<6x4xf32> -> tensor<6x2xi32>
  %g = nn.gather %p, %ids dim 1 : (tensor<6x4xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %s, %places, %counts = nn.capacity_dispatch %x, %ids : (tensor<6x8xf32>, tensor<6x2xi32>) -> (tensor<4x3x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
  %h = nn.matmul %s, %up transpose_b : (tensor<4x3x8xf32>, tensor<4x16x8xf32>) -> tensor<4x3x16xf32>
  %b = nn.broadcast %bias dims [0, 2] : (tensor<4x16xf32>) -> tensor<4x3x16xf32>
  %sum = arith.addf %h, %b : tensor<4x3x16xf32>
  %two = arith.constant dense<2.0> : tensor<4x3x16xf32>
  %twice = arith.mulf %sum, %two : tensor<4x3x16xf32>
  %flat = tensor.collapse_shape %twice [[0, 1], [2]] : tensor<4x3x16xf32> into tensor<12x16xf32>
  %n, %rstd = nn.rms_norm %flat, %scale eps 1.0e-5 : (tensor<12x16xf32>, tensor<16xf32>) -> (tensor<12x16xf32>, tensor<12xf32>)
  %a = nn.silu %n : tensor<12x16xf32>
  %wide = tensor.expand_shape %a [[0, 1], [2]] output_shape [4, 3, 16] : tensor<12x16xf32> into tensor<4x3x16xf32>
  %y = nn.matmul %wide, %down transpose_b : (tensor<4x3x16xf32>, tensor<4x8x16xf32>) -> tensor<4x3x8xf32>
  %rows = tensor.collapse_shape %y [[0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
  %z = nn.combine %rows, %places weights %g : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %z dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss, %counts outputs ["counts"] : tensor<f32>, tensor<4xi32>
}
