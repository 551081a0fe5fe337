// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @linear_c1_x(%x: tensor<f32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op x has rank 0, wanted 1 or more}}
  %0 = nn.linear %x, %w : (tensor<f32>, tensor<8x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @linear_c1_w(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear' op w has rank 1, wanted 2}}
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_c2(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op x has 8 as its last dimension, wanted the weight's 2}}
  %0 = nn.linear %x, %w transposed : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @linear_c3(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'nn.linear' op bias has shape [3], wanted [2]}}
  %0 = nn.linear %x, %w bias %b : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @linear_c4_w(%x: tensor<4x8xf32>, %w: tensor<8x2xbf16>) {
  // expected-error @+1 {{'nn.linear' op w has element type bf16, wanted f32}}
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  return
}

// -----

func.func @linear_c4_bias(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>, %b: tensor<2xf32>) {
  // expected-error @+1 {{'nn.linear' op bias has element type f32, wanted f16}}
  %0 = nn.linear %x, %w bias %b : (tensor<4x8xf16>, tensor<8x2xf16>, tensor<2xf32>) -> tensor<4x2xf16>
  return
}

// -----

func.func @linear_c5(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op y has type tensor<4x3xf32>, wanted tensor<4x2xf32>}}
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @linear_dynamic(%x: tensor<?x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c1_low(%a: tensor<8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.matmul' op a has rank 1, wanted 2 or more}}
  %0 = nn.matmul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @matmul_c1_different(%a: tensor<2x4x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op b has rank 2, wanted 3}}
  %0 = nn.matmul %a, %b : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<2x4x8xf32>, %b: tensor<3x8x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op b has batch dimensions [3], wanted those of a, [2]}}
  %0 = nn.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op b has 8 elements to sum over, wanted those of a, 4}}
  %0 = nn.matmul %a, %b transpose_a : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c4(%a: tensor<4x8xf32>, %b: tensor<8x2xf16>) {
  // expected-error @+1 {{'nn.matmul' op b has element type f16, wanted f32}}
  %0 = nn.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf16>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op c has type tensor<2x4xf32>, wanted tensor<4x2xf32>}}
  %0 = nn.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_c5_rows(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op c has type tensor<4x2xf32>, wanted tensor<3x2xf32>}}
  %0 = nn.matmul %a, %b rows [1, 4] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c6(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op rows are [2, 5], wanted [begin, end] with 0 <= begin < end <= 4}}
  %0 = nn.matmul %a, %b transpose_a rows [2, 5] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c6_batch(%a: tensor<2x4x8xf32>, %b: tensor<2x8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op rows are given of products with a batch, wanted matrices}}
  %0 = nn.matmul %a, %b rows [0, 1] : (tensor<2x4x8xf32>, tensor<2x8x2xf32>) -> tensor<1x4x2xf32>
  return
}
