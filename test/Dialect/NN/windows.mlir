// RUN: zero-opt %s --verify-roundtrip | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s

// CHECK-LABEL: func.func @conv
// CHECK: nn.conv %{{.*}}, %{{.*}} strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x3x32x32xbf16>, tensor<16x3x3x3xbf16>) -> tensor<8x16x16x16xbf16>
// CHECK: nn.conv_transpose %{{.*}}, %{{.*}} strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xbf16>, tensor<16x3x3x3xbf16>) -> tensor<8x3x32x32xbf16>
// CHECK: nn.conv_weight_grad %{{.*}}, %{{.*}} strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 rows [4, 12] : (tensor<8x16x16x16xbf16>, tensor<8x3x32x32xbf16>) -> tensor<8x3x3x3xbf16>
func.func @conv(%x: tensor<8x3x32x32xbf16>, %w: tensor<16x3x3x3xbf16>) {
  %y = nn.conv %x, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x3x32x32xbf16>, tensor<16x3x3x3xbf16>) -> tensor<8x16x16x16xbf16>
  %dx = nn.conv_transpose %y, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xbf16>, tensor<16x3x3x3xbf16>) -> tensor<8x3x32x32xbf16>
  %dw = nn.conv_weight_grad %y, %x strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 rows [4, 12] : (tensor<8x16x16x16xbf16>, tensor<8x3x32x32xbf16>) -> tensor<8x3x3x3xbf16>
  return
}

// One and three spatial dimensions, groups and dilation.
// CHECK-LABEL: func.func @conv_forms
// CHECK: nn.conv %{{.*}}, %{{.*}} strides [1] padding [2] dilations [2] groups 4 : (tensor<2x4x9xf32>, tensor<8x1x3xf32>) -> tensor<2x8x9xf32>
// CHECK: nn.conv %{{.*}}, %{{.*}} strides [1, 2, 1] padding [0, 0, 1] dilations [1, 1, 1] groups 1 : (tensor<1x2x3x4x5xf32>, tensor<2x2x2x2x3xf32>) -> tensor<1x2x2x2x5xf32>
// CHECK: nn.conv_weight_grad %{{.*}}, %{{.*}} strides [1] padding [2] dilations [2] groups 4 : (tensor<2x8x9xf32>, tensor<2x4x9xf32>) -> tensor<8x1x3xf32>
func.func @conv_forms(%x: tensor<2x4x9xf32>, %w: tensor<8x1x3xf32>, %v: tensor<1x2x3x4x5xf32>, %u: tensor<2x2x2x2x3xf32>) {
  %y = nn.conv %x, %w strides [1] padding [2] dilations [2] groups 4 : (tensor<2x4x9xf32>, tensor<8x1x3xf32>) -> tensor<2x8x9xf32>
  %z = nn.conv %v, %u strides [1, 2, 1] padding [0, 0, 1] dilations [1, 1, 1] groups 1 : (tensor<1x2x3x4x5xf32>, tensor<2x2x2x2x3xf32>) -> tensor<1x2x2x2x5xf32>
  %dw = nn.conv_weight_grad %y, %x strides [1] padding [2] dilations [2] groups 4 : (tensor<2x8x9xf32>, tensor<2x4x9xf32>) -> tensor<8x1x3xf32>
  return
}

// The second maximum has windows that hang over the end.
// CHECK-LABEL: func.func @pool
// CHECK: nn.max_pool %{{.*}} window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
// CHECK: nn.max_pool %{{.*}} window [3, 3] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
// CHECK: nn.max_pool_grad %{{.*}}, %{{.*}} window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
// CHECK: nn.avg_pool %{{.*}} window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
// CHECK: nn.avg_pool_grad %{{.*}} window [3, 3] strides [2, 2] padding [1, 1] : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
func.func @pool(%x: tensor<2x4x8x8xf32>) {
  %y = nn.max_pool %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %z = nn.max_pool %x window [3, 3] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %dx = nn.max_pool_grad %y, %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %a = nn.avg_pool %x window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %da = nn.avg_pool_grad %a window [3, 3] strides [2, 2] padding [1, 1] : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
  return
}

// CHECK-LABEL: func.func @batch_norm
// CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}} eps 1.000000e-05 : (tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xbf16>) -> (tensor<8x16x4x4xbf16>, tensor<16xf32>, tensor<16xf32>)
// CHECK: nn.batch_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} eps 1.000000e-05 : (tensor<8x16x4x4xbf16>, tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xbf16>)
func.func @batch_norm(%x: tensor<8x16x4x4xbf16>, %w: tensor<16xbf16>) {
  %y, %mean, %variance = nn.batch_norm %x, %w, %w eps 1.0e-5 : (tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xbf16>) -> (tensor<8x16x4x4xbf16>, tensor<16xf32>, tensor<16xf32>)
  %dx, %dw, %db = nn.batch_norm_grad %y, %x, %w, %mean, %variance eps 1.0e-5 : (tensor<8x16x4x4xbf16>, tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x4x4xbf16>, tensor<16xbf16>, tensor<16xbf16>)
  return
}
