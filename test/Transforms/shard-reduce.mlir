// Means and maxima of what is cut.

// RUN: zero-opt %s --split-input-file --zero-shard-model --zero-verify-values 2>%t | FileCheck %s
// RUN: zero-opt %s --split-input-file --zero-shard-model --zero-differentiate --zero-verify-values -o /dev/null 2>%t

zero.mesh @mesh <data = 1, tensor = 2>
zero.parameter @up : tensor<32x128xf32> = #zero.ones

// The mean of the ranks' means is a sum, which is scaled and sent; of the maxima of
// all ranges each rank takes the largest, and what is reduced before the range with it.
// CHECK-LABEL: zero.step @train
zero.step @train(%x: tensor<3x8x32xf32>) {
  %u = zero.load @up : tensor<32x128xf32>
  // CHECK: %[[H:.*]] = nn.linear {{.*}} -> tensor<3x8x64xf32>
  %h = nn.linear %x, %u : (tensor<3x8x32xf32>, tensor<32x128xf32>) -> tensor<3x8x128xf32>
  // CHECK: %[[R:.*]] = tensor.expand_shape %[[H]] {{\[\[}}0], [1], [2, 3]{{\]}} output_shape [3, 8, 1, 64]
  // CHECK: %[[OWN:.*]] = nn.reduce mean %[[R]] dims [0, 3] : (tensor<3x8x1x64xf32>) -> tensor<8x1xf32>
  // CHECK: %[[SUM:.*]] = nn.reduce sum %[[OWN]] dims [1] : (tensor<8x1xf32>) -> tensor<8xf32>
  // CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<8xf32>
  // CHECK: %[[TERM:.*]] = arith.divf %[[SUM]], %[[TWO]] : tensor<8xf32>
  %m = nn.reduce mean %h dims [0, 2] : (tensor<3x8x128xf32>) -> tensor<8xf32>
  // CHECK: %[[L:.*]] = nn.reduce max %{{.*}} dims [3] : (tensor<3x8x1x64xf32>) -> tensor<3x8x1xf32>
  // CHECK: %[[ALL:.*]] = zero.gather_value %[[L]] cut <dim 2 of [2] over <tensor = 2>> : tensor<3x8x1xf32> -> tensor<3x8x2xf32>
  // CHECK: %[[MAX:.*]] = nn.reduce max %[[ALL]] dims [0, 2] : (tensor<3x8x2xf32>) -> tensor<8xf32>
  %n = nn.reduce max %h dims [0, 2] : (tensor<3x8x128xf32>) -> tensor<8xf32>
  // CHECK: %[[BOTH:.*]] = zero.replicate %[[MAX]]
  // CHECK: %[[P:.*]] = arith.mulf %[[TERM]], %[[BOTH]]
  // CHECK: zero.all_reduce_value %[[P]] over <tensor = 2> : tensor<8xf32>
  %p = arith.mulf %m, %n : tensor<8xf32>
  %l = nn.reduce sum %p dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, sequence = 2>
zero.parameter @table : tensor<16x8xf32> = #zero.ones

// The mean over positions is one of what each rank has; a maximum is of all of them.
// CHECK-LABEL: zero.step @pool
zero.step @pool(%tokens: tensor<2x6xi32>) {
  %t = zero.load @table : tensor<16x8xf32>
  // CHECK: nn.embedding {{.*}} -> tensor<2x3x8xf32>
  %x = nn.embedding %tokens, %t : (tensor<2x6xi32>, tensor<16x8xf32>) -> tensor<2x6x8xf32>
  // CHECK: nn.reduce mean %{{.*}} dims [2] : (tensor<2x1x3x8xf32>) -> tensor<2x1x8xf32>
  // CHECK: zero.all_reduce_value %{{.*}} over <sequence = 2> : tensor<2x8xf32>
  %m = nn.reduce mean %x dims [1] : (tensor<2x6x8xf32>) -> tensor<2x8xf32>
  %e = math.exp %m : tensor<2x8xf32>
  %l = nn.reduce sum %e dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
