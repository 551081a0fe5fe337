// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @linear_c1_x(%x: tensor<f32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op x is f32, wanted [r.., k] of f32}}
  %0 = nn.linear %x, %w : (tensor<f32>, tensor<8x2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @linear_c1_w(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear' op w is 8xf32, wanted [8, n] of f32}}
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_c2(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op w is 8x2xf32, wanted 8x8xf32}}
  %0 = nn.linear %x, %w transposed : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @linear_c3(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'nn.linear' op bias is 3xf32, wanted 2xf32}}
  %0 = nn.linear %x, %w bias %b : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @linear_c4_w(%x: tensor<4x8xf32>, %w: tensor<8x2xbf16>) {
  // expected-error @+1 {{'nn.linear' op w is 8x2xbf16, wanted 8x2xf32}}
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  return
}

// -----

func.func @linear_c4_bias(%x: tensor<4x8xf16>, %w: tensor<8x2xf16>, %b: tensor<2xf32>) {
  // expected-error @+1 {{'nn.linear' op bias is 2xf32, wanted 2xf16}}
  %0 = nn.linear %x, %w bias %b : (tensor<4x8xf16>, tensor<8x2xf16>, tensor<2xf32>) -> tensor<4x2xf16>
  return
}

// -----

func.func @linear_c5(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.linear' op y is 4x3xf32, wanted 4x2xf32}}
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
  // expected-error @+1 {{'nn.matmul' op a is 8xf32, wanted [b.., m, k] of f32}}
  %0 = nn.matmul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @matmul_c1_different(%a: tensor<2x4x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op b is 8x4xf32, wanted 2x8x4xf32}}
  %0 = nn.matmul %a, %b : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_c2(%a: tensor<2x4x8xf32>, %b: tensor<3x8x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op b is 3x8x4xf32, wanted 2x8x4xf32}}
  %0 = nn.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_c3(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op b is 8x2xf32, wanted 4x2xf32}}
  %0 = nn.matmul %a, %b transpose_a : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c4(%a: tensor<4x8xf32>, %b: tensor<8x2xf16>) {
  // expected-error @+1 {{'nn.matmul' op b is 8x2xf16, wanted 8x2xf32}}
  %0 = nn.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf16>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c5(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op c is 2x4xf32, wanted 4x2xf32}}
  %0 = nn.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_c5_rows(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op c is 4x2xf32, wanted 3x2xf32}}
  %0 = nn.matmul %a, %b rows [1, 4] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @matmul_c6(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op rows are [2, 5], no range of the 4 there are}}
  %0 = nn.matmul %a, %b transpose_a rows [2, 5] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @matmul_c6_batch(%a: tensor<2x4x8xf32>, %b: tensor<2x8x2xf32>) {
  // expected-error @+1 {{'nn.matmul' op rows are given along dimension 1 of c, 1x4x2xf32, wanted along dimension 0}}
  %0 = nn.matmul %a, %b rows [0, 1] : (tensor<2x4x8xf32>, tensor<2x8x2xf32>) -> tensor<1x4x2xf32>
  return
}
