//===- convolutions -------------------------------------------------------===//

func.func @conv(%x: tensor<2x2x4x3xf64>, %w: tensor<3x2x2x2xf64>) -> tensor<2x3x3x2xf64> {
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x2x4x3xf64>, tensor<3x2x2x2xf64>) -> tensor<2x3x3x2xf64>
  return %y : tensor<2x3x3x2xf64>
}
func.func @conv_strided(%x: tensor<1x2x5x6xf64>, %w: tensor<2x2x3x2xf64>) -> tensor<1x2x3x3xf64> {
  %y = nn.conv %x, %w strides [2, 2] padding [1, 0] dilations [1, 1] groups 1 : (tensor<1x2x5x6xf64>, tensor<2x2x3x2xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}
func.func @conv_dilated(%x: tensor<1x1x5x5xf64>, %w: tensor<2x1x2x3xf64>) -> tensor<1x2x5x3xf64> {
  %y = nn.conv %x, %w strides [1, 1] padding [1, 1] dilations [2, 2] groups 1 : (tensor<1x1x5x5xf64>, tensor<2x1x2x3xf64>) -> tensor<1x2x5x3xf64>
  return %y : tensor<1x2x5x3xf64>
}
func.func @conv_grouped(%x: tensor<2x4x3xf64>, %w: tensor<6x2x2xf64>) -> tensor<2x6x4xf64> {
  %y = nn.conv %x, %w strides [1] padding [1] dilations [1] groups 2 : (tensor<2x4x3xf64>, tensor<6x2x2xf64>) -> tensor<2x6x4xf64>
  return %y : tensor<2x6x4xf64>
}
func.func @conv_depthwise(%x: tensor<1x3x4x4xf64>, %w: tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64> {
  %y = nn.conv %x, %w strides [1, 1] padding [1, 1] dilations [1, 1] groups 3 : (tensor<1x3x4x4xf64>, tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64>
  return %y : tensor<1x3x4x4xf64>
}
func.func @conv_volume(%x: tensor<1x1x3x2x3xf64>, %w: tensor<2x1x2x2x2xf64>) -> tensor<1x2x2x1x3xf64> {
  %y = nn.conv %x, %w strides [1, 1, 1] padding [0, 0, 1] dilations [1, 1, 2] groups 1 : (tensor<1x1x3x2x3xf64>, tensor<2x1x2x2x2xf64>) -> tensor<1x2x2x1x3xf64>
  return %y : tensor<1x2x2x1x3xf64>
}
func.func @conv_point(%x: tensor<2x3x2x2xf64>, %w: tensor<2x3x1x1xf64>) -> tensor<2x2x2x2xf64> {
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x3x2x2xf64>, tensor<2x3x1x1xf64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}
func.func @conv_transpose(%x: tensor<2x3x3x2xf64>, %w: tensor<3x2x2x2xf64>) -> tensor<2x2x4x3xf64> {
  %y = nn.conv_transpose %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x3x3x2xf64>, tensor<3x2x2x2xf64>) -> tensor<2x2x4x3xf64>
  return %y : tensor<2x2x4x3xf64>
}
func.func @conv_transpose_strided(%x: tensor<1x2x3x3xf64>, %w: tensor<2x2x3x2xf64>) -> tensor<1x2x6x6xf64> {
  %y = nn.conv_transpose %x, %w strides [2, 2] padding [1, 0] dilations [1, 1] groups 1 : (tensor<1x2x3x3xf64>, tensor<2x2x3x2xf64>) -> tensor<1x2x6x6xf64>
  return %y : tensor<1x2x6x6xf64>
}
func.func @conv_transpose_grouped(%x: tensor<2x4x3xf64>, %w: tensor<4x3x2xf64>) -> tensor<2x6x4xf64> {
  %y = nn.conv_transpose %x, %w strides [1] padding [0] dilations [1] groups 2 : (tensor<2x4x3xf64>, tensor<4x3x2xf64>) -> tensor<2x6x4xf64>
  return %y : tensor<2x6x4xf64>
}

//===- pooling ------------------------------------------------------------===//

func.func @max_pool(%x: tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64> {
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}
func.func @max_pool_overlapping(%x: tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64> {
  %y = nn.max_pool %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}
func.func @max_pool_up(%x: tensor<1x2x6xf64>) -> tensor<1x2x3xf64> {
  %y = nn.max_pool %x window [3] strides [2] padding [0] dilations [1] : (tensor<1x2x6xf64>) -> tensor<1x2x3xf64>
  return %y : tensor<1x2x3xf64>
}
func.func @max_pool_dilated(%x: tensor<1x1x5x2x5xf64>) -> tensor<1x1x3x2x1xf64> {
  %y = nn.max_pool %x window [2, 1, 3] strides [1, 1, 1] padding [0, 0, 0] dilations [2, 1, 2] : (tensor<1x1x5x2x5xf64>) -> tensor<1x1x3x2x1xf64>
  return %y : tensor<1x1x3x2x1xf64>
}
func.func @avg_pool(%x: tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64> {
  %y = nn.avg_pool %x window [2, 2] strides [2, 2] padding [0, 0] : (tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}
func.func @avg_pool_padded(%x: tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64> {
  %y = nn.avg_pool %x window [3, 3] strides [2, 2] padding [1, 1] : (tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}
func.func @avg_pool_count_padding(%x: tensor<1x2x5x6xf64>) -> tensor<1x2x3x4xf64> {
  %y = nn.avg_pool %x window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<1x2x5x6xf64>) -> tensor<1x2x3x4xf64>
  return %y : tensor<1x2x3x4xf64>
}
func.func @avg_pool_grad(%x: tensor<1x2x3xf64>) -> tensor<1x2x5xf64> {
  %y = nn.avg_pool_grad %x window [3] strides [2] padding [1] : (tensor<1x2x3xf64>) -> tensor<1x2x5xf64>
  return %y : tensor<1x2x5xf64>
}

//===- batch norm ---------------------------------------------------------===//

func.func @batch_norm(%x: tensor<3x2x2x2xf64>, %w: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<3x2x2x2xf64> {
  %y, %mean, %variance = nn.batch_norm %x, %w, %b eps 1.0e-2 : (tensor<3x2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<3x2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y : tensor<3x2x2x2xf64>
}
func.func @batch_norm_rows(%x: tensor<4x3xf64>, %w: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<4x3xf64> {
  %y, %mean, %variance = nn.batch_norm %x, %w, %b eps 1.0e-2 : (tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y : tensor<4x3xf64>
}
