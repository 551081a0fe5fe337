// RUN: zero-opt %s --zero-pipeline='stage=0 ranks=1' | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=1 ranks=1' | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=2 ranks=2' > /dev/null

// A parameter that is used through a view, twice: its gradient is added up where
// it is stored, from a product in the view's shape.
zero.parameter @w : tensor<4x2x2xf32> = #zero.normal<std = 0.02>

// CHECK:      %[[P:.*]] = nn.matmul {{.*}} transpose_a {zero.at = [#zero.at<gradients[0], 64 bytes>]}
// CHECK:      %[[E:.*]] = tensor.expand_shape %[[P]]
// CHECK:      zero.launch {{.*}}%[[E]]{{.*}}#zero.at<gradients[0], 64 bytes>
zero.step @train(%x: tensor<2x4xf32> {zero.input = "x"}, %y: tensor<2xi32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<4x2x2xf32>
  %square = arith.mulf %w, %w : tensor<4x2x2xf32>
  %penalty = nn.reduce sum %square dims [0, 1, 2] : (tensor<4x2x2xf32>) -> tensor<f32>
  %matrix = tensor.collapse_shape %w [[0], [1, 2]] : tensor<4x2x2xf32> into tensor<4x4xf32>
  %logits = nn.linear %x, %matrix : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %entropy, %lse = nn.cross_entropy %logits, %y : (tensor<2x4xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  %loss = arith.addf %entropy, %penalty : tensor<f32>
  zero.yield %loss : tensor<f32>
}
