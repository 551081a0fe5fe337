// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @broadcast_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op attribute 'dims' is [1], wanted 2 numbers for the dimensions r}}
  %0 = nn.broadcast %x dims [1] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c2_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op attribute 'dims' is [2, 1], wanted strictly increasing dimensions of y, 2x8x4xf32}}
  %0 = nn.broadcast %x dims [2, 1] : (tensor<4x8xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

func.func @broadcast_c2_range(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op attribute 'dims' is [1, 3], wanted strictly increasing dimensions of y, 2x4x8xf32}}
  %0 = nn.broadcast %x dims [1, 3] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op y is 4x2x6xf32, wanted 4x2x8xf32}}
  %0 = nn.broadcast %x dims [0, 2] : (tensor<4x8xf32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @broadcast_c4(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op y is 4x8xf16, wanted [..] of f32}}
  %0 = nn.broadcast %x dims [1] : (tensor<8xf32>) -> tensor<4x8xf16>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op attribute 'dims' is [0, 2], wanted strictly increasing dimensions of x, 4x8xf32}}
  %0 = nn.reduce sum %x dims [0, 2] : (tensor<4x8xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{'nn.reduce' op dimension 1 of x is empty, wanted an element to take the mean of}}
  %0 = nn.reduce mean %x dims [1] : (tensor<4x0xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op y is 4xf32, wanted 8xf32}}
  %0 = nn.reduce sum %x dims [0] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_c1_length(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op attribute 'permutation' is [0], wanted 2 numbers for the dimensions r}}
  %0 = nn.transpose %x permutation [0] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_c1_repeated(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op attribute 'permutation' is [1, 1], wanted each of the 2 dimensions of x once}}
  %0 = nn.transpose %x permutation [1, 1] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op y is 4x8xf32, wanted 8x4xf32}}
  %0 = nn.transpose %x permutation [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @split_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op attribute 'dim' is 2, wanted a dimension of x, 4x8xf32}}
  %0:2 = nn.split %x dim 2 sizes [4, 4] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @split_c2_sum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op attribute 'sizes' is [4, 3], wanted positive ones with the sum 8}}
  %0:2 = nn.split %x dim 1 sizes [4, 3] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @split_c2_positive(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op attribute 'sizes' is [8, 0], wanted positive ones with the sum 8}}
  %0:2 = nn.split %x dim 1 sizes [8, 0] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x0xf32>)
  return
}

// -----

func.func @split_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op piece 0 is 4x4xf32, wanted 4x6xf32}}
  %0:2 = nn.split %x dim 1 sizes [6, 2] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}
