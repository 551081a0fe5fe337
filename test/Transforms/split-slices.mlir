// Slices that together are a tensor become a split, in whatever order they stand.

// RUN: zero-opt %s --zero-rewrite-tensor-ops | FileCheck %s

!x = tensor<2x3x8xf32>

zero.step @train(%x: !x {zero.input = "x"}, %y: !x, %z: !x, %w: tensor<1x8x3xf32>, %l: tensor<f32>) {
  // CHECK: %[[P:.*]]:3 = nn.split %{{.*}} dim 2 sizes [4, 2, 2] : (tensor<2x3x8xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>)
  // CHECK-NEXT: arith.addf %[[P]]#2, %[[P]]#1
  // CHECK-NEXT: arith.negf %[[P]]#0
  %c = tensor.extract_slice %x[0, 0, 6] [2, 3, 2] [1, 1, 1] : !x to tensor<2x3x2xf32>
  %a = tensor.extract_slice %x[0, 0, 0] [2, 3, 4] [1, 1, 1] : !x to tensor<2x3x4xf32>
  %b = tensor.extract_slice %x[0, 0, 4] [2, 3, 2] [1, 1, 1] : !x to tensor<2x3x2xf32>
  %s = arith.addf %c, %b : tensor<2x3x2xf32>
  %t = arith.negf %a : tensor<2x3x4xf32>

  // Not where a part is missing, is there twice, or is cut along two dimensions.
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 0, 0] [2, 3, 4]
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 0, 6] [2, 3, 2]
  %d = tensor.extract_slice %y[0, 0, 0] [2, 3, 4] [1, 1, 1] : !x to tensor<2x3x4xf32>
  %e = tensor.extract_slice %y[0, 0, 6] [2, 3, 2] [1, 1, 1] : !x to tensor<2x3x2xf32>
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 0, 0] [2, 3, 4]
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 0, 4] [2, 3, 4]
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 0, 2] [2, 3, 4]
  // CHECK-NEXT: tensor.extract_slice %{{.*}}[0, 1, 4] [2, 1, 4]
  %f = tensor.extract_slice %z[0, 0, 0] [2, 3, 4] [1, 1, 1] : !x to tensor<2x3x4xf32>
  %g = tensor.extract_slice %z[0, 0, 4] [2, 3, 4] [1, 1, 1] : !x to tensor<2x3x4xf32>
  %h = tensor.extract_slice %z[0, 0, 2] [2, 3, 4] [1, 1, 1] : !x to tensor<2x3x4xf32>
  %i = tensor.extract_slice %z[0, 1, 4] [2, 1, 4] [1, 1, 1] : !x to tensor<2x1x4xf32>

  // Slices of leading dimensions are views.
  // CHECK-NEXT: tensor.extract_slice
  // CHECK-NEXT: tensor.extract_slice
  %j = tensor.extract_slice %w[0, 0, 0] [1, 4, 3] [1, 1, 1] : tensor<1x8x3xf32> to tensor<1x4x3xf32>
  %k = tensor.extract_slice %w[0, 4, 0] [1, 4, 3] [1, 1, 1] : tensor<1x8x3xf32> to tensor<1x4x3xf32>
  zero.yield %l : tensor<f32>
}
