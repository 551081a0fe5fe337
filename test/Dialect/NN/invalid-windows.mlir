// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @conv_c1(%x: tensor<2x4xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op x is 2x4xf32, wanted [n, 1*i, s..] of f32, with 1 to 3 dimensions s, with groups 1}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c1_weights(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+1 {{'nn.conv' op w is 6x4x3xf32, wanted [1*m, 4, k0, k1] of f32, with groups 1}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op attribute 'strides' is [1, 0], wanted 2 numbers for the dimensions k, each 1 or more}}
  %y = nn.conv %x, %w strides [1, 0] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_padding(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op attribute 'padding' is [0], wanted 2 numbers for the dimensions k, each 0 or more}}
  %y = nn.conv %x, %w strides [1, 1] padding [0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_dilations(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op attribute 'dilations' is [1, 1, 1], wanted 2 numbers for the dimensions k, each 1 or more}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op w is 6x4x3x3xf32, wanted [4*m, 1, 3, 3] of f32, with groups 4}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 4 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c4(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op w is 6x4x3x3xf32, wanted 6x2x3x3xf32, with groups 2}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 2 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c5(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xbf16>) {
  // expected-error @+1 {{'nn.conv' op w is 6x4x3x3xbf16, wanted 6x4x3x3xf32, with groups 1}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xbf16>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c6(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv' op y is 2x6x8x8xf32, wanted 2x6x6x6xf32}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x8x8xf32>
  return
}

// -----

func.func @conv_c6_window(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x9xf32>) {
  // expected-error @+1 {{'nn.conv' op a window of 9 elements with dilation 1 does not fit in the 8 elements of dimension 3 of x and its padding of 0}}
  %y = nn.conv %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x4x8x8xf32>, tensor<6x4x3x9xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_transpose_c4(%x: tensor<2x5x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv_transpose' op w is 6x4x3x3xf32, wanted 5x4x3x3xf32, with groups 1}}
  %y = nn.conv_transpose %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x5x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @conv_transpose_c5(%x: tensor<2x6x6x6xf32>, %w: tensor<6x4x3x3xf16>) {
  // expected-error @+1 {{'nn.conv_transpose' op w is 6x4x3x3xf16, wanted 6x4x3x3xf32, with groups 1}}
  %y = nn.conv_transpose %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<6x4x3x3xf16>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @conv_transpose_c6(%x: tensor<2x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv_transpose' op x is 2x6x6x6xf32, wanted 2x6x7x6xf32}}
  %y = nn.conv_transpose %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x9x8xf32>
  return
}

// -----

func.func @conv_transpose_c6_channels(%x: tensor<2x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv_transpose' op y is 2x3x8x8xf32, wanted 2x4x8x8xf32, with groups 1}}
  %y = nn.conv_transpose %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<2x3x8x8xf32>
  return
}

// -----

func.func @conv_weight_grad_c4(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op dw is 6x3x3x3xf32, wanted 6x4x3x3xf32, with groups 1}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x3x3x3xf32>
  return
}

// -----

func.func @conv_weight_grad_c5(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op dy is 2x6x6x6xf32, wanted 2x6x7x6xf32}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x4x2x3xf32>
  return
}

// -----

func.func @conv_weight_grad_c6(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op dw is 5x4x3x3xf32, wanted 6x4x3x3xf32, with groups 1}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<5x4x3x3xf32>
  return
}

// -----

func.func @conv_weight_grad_c6_rows(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op dw is 6x4x3x3xf32, wanted 2x4x3x3xf32, with groups 1}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 rows [0, 2] : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_weight_grad_c7(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op rows are [4, 8], no range of the 6 there are}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 1 rows [4, 8] : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<4x4x3x3xf32>
  return
}

// -----

func.func @conv_weight_grad_c7_groups(%x: tensor<2x6x6x6xf32>, %w: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.conv_weight_grad' op rows are given of a convolution with 2 groups, wanted one group}}
  %y = nn.conv_weight_grad %x, %w strides [1, 1] padding [0, 0] dilations [1, 1] groups 2 rows [0, 3] : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<3x2x3x3xf32>
  return
}

// -----

func.func @max_pool_c1(%x: tensor<2x4x8x8x2x2xf32>) {
  // expected-error @+1 {{'nn.max_pool' op x is 2x4x8x8x2x2xf32, wanted [n, c, s..] of f32, with 1 to 3 dimensions s}}
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8x2x2xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @max_pool_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op attribute 'window' is [2], wanted 2 numbers for the dimensions s, each 1 or more}}
  %y = nn.max_pool %x window [2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @max_pool_c2_strides(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op attribute 'strides' is [0, 2], wanted 2 numbers for the dimensions s, each 1 or more}}
  %y = nn.max_pool %x window [2, 2] strides [0, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @max_pool_c2_dilations(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op attribute 'dilations' is [1], wanted 2 numbers for the dimensions s, each 1 or more}}
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @max_pool_c3(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op attribute 'padding' is [0, 2], wanted at most half of the window [2, 2]}}
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 2] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @max_pool_c4(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op y is 2x4x4x5xf32, wanted 2x4x4x4xf32}}
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x5xf32>
  return
}

// -----

func.func @max_pool_c4_up(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op y is 2x4x5x4xf32, wanted 2x4x3x3xf32, or rounded up 2x4x4x4xf32}}
  %y = nn.max_pool %x window [3, 3] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x5x4xf32>
  return
}

// -----

func.func @max_pool_c4_type(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool' op y is 2x4x4x4xbf16, wanted 2x4x4x4xf32}}
  %y = nn.max_pool %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xbf16>
  return
}

// -----

func.func @max_pool_grad_c4(%dy: tensor<2x4x3x4xf32>, %x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool_grad' op dy is 2x4x3x4xf32, wanted 2x4x4x4xf32}}
  %dx = nn.max_pool_grad %dy, %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x3x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool_grad_c5(%dy: tensor<2x4x4x4xf32>, %x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool_grad' op dx is 2x4x8x9xf32, wanted 2x4x8x8xf32}}
  %dx = nn.max_pool_grad %dy, %x window [2, 2] strides [2, 2] padding [0, 0] dilations [1, 1] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x9xf32>
  return
}

// -----

func.func @avg_pool_c1(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{'nn.avg_pool' op x is 2x4xf32, wanted [n, c, s..] of f32, with 1 to 3 dimensions s}}
  %y = nn.avg_pool %x window [2, 2] strides [2, 2] padding [0, 0] : (tensor<2x4xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @avg_pool_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.avg_pool' op attribute 'padding' is [-1, 0], wanted 2 numbers for the dimensions s, each 0 or more}}
  %y = nn.avg_pool %x window [2, 2] strides [2, 2] padding [-1, 0] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @avg_pool_c3(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.avg_pool' op attribute 'padding' is [2, 0], wanted at most half of the window [2, 2]}}
  %y = nn.avg_pool %x window [2, 2] strides [2, 2] padding [2, 0] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @avg_pool_c4(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.avg_pool' op y is 2x3x4x4xf32, wanted 2x4x4x4xf32}}
  %y = nn.avg_pool %x window [2, 2] strides [2, 2] padding [0, 0] : (tensor<2x4x8x8xf32>) -> tensor<2x3x4x4xf32>
  return
}

// -----

func.func @avg_pool_grad_c4(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{'nn.avg_pool_grad' op dy is 2x4x8x8xf32, wanted 2x4x2x2xf32}}
  %y = nn.avg_pool_grad %x window [2, 2] strides [2, 2] padding [0, 0] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  return
}

// -----

func.func @batch_norm_c1(%x: tensor<8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op x is 8xf32, wanted [n, c, s..] of f32}}
  %0:3 = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_c2(%x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op b is 4xf32, wanted 8xf32}}
  %0:3 = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_c3(%x: tensor<4x8x2xf32>, %w: tensor<8xbf16>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op w is 8xbf16, wanted 8xf32}}
  %0:3 = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<8xbf16>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_c4(%x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op attribute 'eps' is -1.000000, wanted 0 or more}}
  %0:3 = nn.batch_norm %x, %w, %b eps -1.0 : (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_c5(%x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op y is 4x8xf32, wanted 4x8x2xf32}}
  %0:3 = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_c5_variance(%x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op variance is 2xf32, wanted 8xf32}}
  %0:3 = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @batch_norm_grad_c1(%dy: tensor<8xf32>, %x: tensor<8xf32>, %w: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op dy is 8xf32, wanted [n, c, s..] of f32}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps 1.0e-5 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_c2(%dy: tensor<4x8xf32>, %x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op x is 4x8x2xf32, wanted 4x8xf32}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps 1.0e-5 : (tensor<4x8xf32>, tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_c3(%dy: tensor<4x8x2xf32>, %x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %m: tensor<4xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op mean is 4xf32, wanted 8xf32}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<4x8x2xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_c4(%dy: tensor<4x8x2xf32>, %x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op attribute 'eps' is -1.000000, wanted 0 or more}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps -1.0 : (tensor<4x8x2xf32>, tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_c5(%dy: tensor<4x8x2xf32>, %x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op dx is 4x8xf32, wanted 4x8x2xf32}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @batch_norm_grad_c5_bias(%dy: tensor<4x8x2xf32>, %x: tensor<4x8x2xf32>, %w: tensor<8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) {
  // expected-error @+1 {{'nn.batch_norm_grad' op db is 4xf32, wanted 8xf32}}
  %0:3 = nn.batch_norm_grad %dy, %x, %w, %m, %v eps 1.0e-5 : (tensor<4x8x2xf32>, tensor<4x8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8x2xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}
