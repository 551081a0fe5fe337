// RUN: zero-opt %s -split-input-file -zero-limit-experts='factor=0.75 least=2' | FileCheck %s
// RUN: zero-opt %s -split-input-file -zero-limit-experts='factor=0.5 least=4 policy=probs renormalize' | FileCheck %s --check-prefix=PROBS
// RUN: zero-opt %s -split-input-file -zero-limit-experts='factor=0.75' 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: not zero-opt %s -zero-limit-experts='policy=random' 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: error: the option policy is 'random', wanted 'position' or 'probs'

// 6 rows with 2 choices of 4 experts each: 3 choices an expert, times 0.75, are 2.25.
// REMARK: remark: each of 4 experts has 3 places for the 12 choices of a micro-batch of 6 rows; what finds none is dropped

// CHECK-LABEL: zero.step @train
// CHECK: %[[S:.*]], %[[P:.*]], %{{.*}} = nn.capacity_dispatch %{{.*}}, %{{.*}} : (tensor<6x8xf32>, tensor<6x2xi32>) -> (tensor<4x3x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %[[S]] {{\[\[}}0, 1], [2]] : tensor<4x3x8xf32> into tensor<12x8xf32>
// CHECK: %[[X:.*]] = tensor.expand_shape %[[ROWS]]
// CHECK: %[[H:.*]] = nn.matmul %[[X]], %{{.*}} transpose_b : (tensor<4x3x8xf32>, tensor<4x16x8xf32>) -> tensor<4x3x16xf32>
// The bias is a product of ones.
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<4x3x1xf32>
// CHECK: nn.matmul %[[ONES]], %{{.*}} : (tensor<4x3x1xf32>, tensor<4x1x16xf32>) -> tensor<4x3x16xf32>
// CHECK: arith.addf %{{.*}} : tensor<12x16xf32>
// CHECK: arith.constant dense<2.000000e+00> : tensor<12x16xf32>
// CHECK: tensor.expand_shape %{{.*}} output_shape [12, 2, 8] : tensor<12x16xf32> into tensor<12x2x8xf32>
// CHECK: nn.combine %{{.*}}, %[[P]] weights %[[G:.*]] : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>

// By weight, and divided by the sum of what is left.
// PROBS: %[[G:.*]] = nn.gather
// PROBS: %[[FLAT:.*]] = tensor.collapse_shape %[[G]] {{\[\[}}0, 1]] : tensor<6x2xf32> into tensor<12xf32>
// PROBS: %[[ORDER:.*]] = nn.argsort %[[FLAT]] descending first 12 : tensor<12xf32> -> tensor<12xi32>
// PROBS: %{{.*}}, %[[P:.*]], %{{.*}} = nn.capacity_dispatch %{{.*}}, %{{.*}} order %[[ORDER]] : {{.*}} -> (tensor<4x4x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
// PROBS: %[[KEPT:.*]] = arith.cmpi sge, %[[P]], %{{.*}} : tensor<6x2xi32>
// PROBS: %[[W:.*]] = arith.select %[[KEPT]], %[[G]], %{{.*}} : tensor<6x2xi1>, tensor<6x2xf32>
// PROBS: %[[SUM:.*]] = nn.reduce sum %[[W]] dims [1]
// PROBS: %[[SUMS:.*]] = nn.broadcast %[[SUM]] dims [0]
// PROBS: arith.constant dense<1.1920929E-7> : tensor<6x2xf32>
// PROBS: %[[D:.*]] = arith.maximumf %[[SUMS]], %{{.*}}
// PROBS: %[[N:.*]] = arith.divf %[[W]], %[[D]]
// PROBS: nn.combine %{{.*}}, %[[P]] weights %[[N]]
zero.parameter @gate : tensor<4x8xf32> = #zero.normal<std = 0.02>
zero.parameter @up : tensor<4x16x8xf32> = #zero.normal<std = 0.02>
zero.parameter @bias : tensor<4x1x16xf32> = #zero.normal<std = 0.02>

zero.step @train(%x: tensor<6x8xf32>) {
  %gate = zero.load @gate : tensor<4x8xf32>
  %up = zero.load @up : tensor<4x16x8xf32>
  %bias = zero.load @bias : tensor<4x1x16xf32>
  %scores = nn.linear %x, %gate transposed : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %p = nn.softmax %scores : tensor<6x4xf32>
  %ids = nn.argsort %p descending first 2 : tensor<6x4xf32> -> tensor<6x2xi32>
  %s, %places, %ends = nn.dispatch %x, %ids experts 4 : (tensor<6x8xf32>, tensor<6x2xi32>) -> (tensor<12x8xf32>, tensor<6x2xi32>, tensor<4xi32>)
  %h = nn.grouped_matmul %s, %up offsets %ends transpose_b : (tensor<12x8xf32>, tensor<4x16x8xf32>, tensor<4xi32>) -> tensor<12x16xf32>
  %ones = arith.constant dense<1.0> : tensor<12x1xf32>
  %b = nn.grouped_matmul %ones, %bias offsets %ends : (tensor<12x1xf32>, tensor<4x1x16xf32>, tensor<4xi32>) -> tensor<12x16xf32>
  %sum = arith.addf %h, %b : tensor<12x16xf32>
  %two = arith.constant dense<2.0> : tensor<12x16xf32>
  %twice = arith.mulf %sum, %two : tensor<12x16xf32>
  %halves = tensor.expand_shape %twice [[0], [1, 2]] output_shape [12, 2, 8] : tensor<12x16xf32> into tensor<12x2x8xf32>
  %y = nn.reduce sum %halves dims [1] : (tensor<12x2x8xf32>) -> tensor<12x8xf32>
  // After the rows are sent.
  %g = nn.gather %p, %ids dim 1 : (tensor<6x4xf32>, tensor<6x2xi32>) -> tensor<6x2xf32>
  %z = nn.combine %y, %places weights %g : (tensor<12x8xf32>, tensor<6x2xi32>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %loss = nn.reduce mean %z dims [0, 1] : (tensor<6x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
