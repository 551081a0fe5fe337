// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @gelu_c2(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op x has 8 as its last dimension, wanted the weight's 16}}
  %0 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @gelu_c3(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op bias has shape [8], wanted [16]}}
  %0 = nn.linear_gelu %x, %w bias %b : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<8xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @gelu_c5(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op y has type tensor<4x8xbf16>, wanted tensor<4x16xbf16>}}
  %0 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @gelu_c6(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op h has type tensor<4x16xf32>, wanted tensor<4x16xbf16>}}
  %0, %1 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xf32>)
  return
}

// -----

func.func @grad_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %h: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op dy has rank 0, wanted 1 or more}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<f32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @grad_c4(%x: tensor<4x8xbf16>, %w: tensor<8x16xf16>, %h: tensor<4x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op w has element type f16, wanted bf16}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @grad_c6(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %h: tensor<4x8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op h has type tensor<4x8xbf16>, wanted tensor<4x16xbf16>}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @grad_c7(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %h: tensor<4x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op db has type tensor<8xbf16>, wanted tensor<16xbf16>}}
  %0, %1 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<8xbf16>)
  return
}
