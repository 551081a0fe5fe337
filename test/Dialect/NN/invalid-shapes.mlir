// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @broadcast_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op dims are [1], wanted one a dimension of x, 2}}
  %0 = nn.broadcast %x dims [1] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c2_order(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op dims are [2, 1], wanted strictly increasing ones from 0 to 2}}
  %0 = nn.broadcast %x dims [2, 1] : (tensor<4x8xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

func.func @broadcast_c2_range(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op dims are [1, 3], wanted strictly increasing ones from 0 to 2}}
  %0 = nn.broadcast %x dims [1, 3] : (tensor<4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op result has shape [4, 2, 6], wanted [4, 2, 8]}}
  %0 = nn.broadcast %x dims [0, 2] : (tensor<4x8xf32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @broadcast_c4(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.broadcast' op result has element type f16, wanted f32}}
  %0 = nn.broadcast %x dims [1] : (tensor<8xf32>) -> tensor<4x8xf16>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.reduce' op dims are [0, 2], wanted strictly increasing ones from 0 to 1}}
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
  // expected-error @+1 {{'nn.reduce' op y has type tensor<4xf32>, wanted tensor<8xf32>}}
  %0 = nn.reduce sum %x dims [0] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_c1_length(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op permutation is [0], wanted one of the 2 dimensions of x}}
  %0 = nn.transpose %x permutation [0] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @transpose_c1_repeated(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op permutation is [1, 1], wanted one of the 2 dimensions of x}}
  %0 = nn.transpose %x permutation [1, 1] : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.transpose' op y has type tensor<4x8xf32>, wanted tensor<8x4xf32>}}
  %0 = nn.transpose %x permutation [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @split_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op dim is 2, wanted one of the 2 dimensions of x}}
  %0:2 = nn.split %x dim 2 sizes [4, 4] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @split_c2_sum(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op sizes are [4, 3], wanted positive ones with the sum 8}}
  %0:2 = nn.split %x dim 1 sizes [4, 3] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @split_c2_positive(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op sizes are [8, 0], wanted positive ones with the sum 8}}
  %0:2 = nn.split %x dim 1 sizes [8, 0] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x0xf32>)
  return
}

// -----

func.func @split_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.split' op piece 0 has type tensor<4x4xf32>, wanted tensor<4x6xf32>}}
  %0:2 = nn.split %x dim 1 sizes [6, 2] : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}
