// The gradient of a convolution's weights in blocks of rows; with groups, a row
// sees some channels only, and it is made whole.
// RUN: zero-opt %s --zero-configure="options='stage=2 ranks=2'" --zero-set-precision="compute=f32" --zero-differentiate --canonicalize --cse --zero-split-gradients="reduce-bucket-size=80 alignment=4" 2>&1 | FileCheck %s

// CHECK: remark: the gradient of @grouped, 144 elements, is made whole, although a bucket has 80: the operation that makes it has no blocks of rows, which RowBlockOpInterface would give it

// CHECK: nn.conv_weight_grad %{{.*}}, %{{.*}} strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 rows [0, 4] : (tensor<2x8x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<4x2x3x3xf32>
// CHECK: zero.gradient @w[0 to 72]
// CHECK: nn.conv_weight_grad %{{.*}}, %{{.*}} strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 rows [4, 8]
// CHECK: zero.gradient @w[72 to 144]

zero.parameter @w : tensor<8x2x3x3xf32> = #zero.normal<std = 0.2>
zero.parameter @grouped : tensor<8x2x3x3xf32> = #zero.normal<std = 0.2>

zero.step @train(%x: tensor<2x2x4x4xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<8x2x3x3xf32>
  %grouped = zero.load @grouped : tensor<8x2x3x3xf32>
  %0 = nn.conv %x, %w strides [1, 1] padding [1, 1] dilations [1, 1] groups 1 : (tensor<2x2x4x4xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32>
  %1 = nn.conv %0, %grouped strides [1, 1] padding [1, 1] dilations [1, 1] groups 4 : (tensor<2x8x4x4xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32>
  %loss = nn.reduce mean %1 dims [0, 1, 2, 3] : (tensor<2x8x4x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
