// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1_q(%q: tensor<3x4x8xf32>, %k: tensor<2x3x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op q has rank 3, wanted 4}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> (tensor<3x4x8xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @attention_c1_k(%q: tensor<2x3x4x8xf32>, %k: tensor<3x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op k has rank 3, wanted 4}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<3x2x8xf32>, tensor<3x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c2_k(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x2x6xf32>) {
  // expected-error @+1 {{'nn.attention' op k has shape [2, 3, 2, 6], wanted [2, 3, 2, 8]}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c2_v(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op v has shape [2, 5, 2, 8], wanted [2, 3, 2, 8]}}
  %o, %l = nn.attention %q, %k, %v scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>) {
  // expected-error @+1 {{'nn.attention' op q has 4 heads, wanted a multiple of the 3 heads of k}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op causal attention of 3 queries has 5 keys, wanted as many}}
  %o, %l = nn.attention %q, %k, %k causal scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c5_shape(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>, %m: tensor<2x4x3x3xf32>) {
  // expected-error @+1 {{'nn.attention' op mask has shape [2, 4, 3, 3], wanted [3, 5], or [2, 4, 3, 5] with any size replaced by 1}}
  %o, %l = nn.attention %q, %k, %k mask %m scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x4x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c5_type(%q: tensor<2x3x4x8xf64>, %k: tensor<2x5x2x8xf64>, %m: tensor<3x5xf32>) {
  // expected-error @+1 {{'nn.attention' op mask has element type f32, wanted f64}}
  %o, %l = nn.attention %q, %k, %k mask %m scale 1.0 : (tensor<2x3x4x8xf64>, tensor<2x5x2x8xf64>, tensor<2x5x2x8xf64>, tensor<3x5xf32>) -> (tensor<2x3x4x8xf64>, tensor<2x4x3xf64>)
  return
}

// -----

func.func @attention_c6(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf16>) {
  // expected-error @+1 {{'nn.attention' op k has element type f16, wanted f32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf16>, tensor<2x5x2x8xf16>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c7(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op lse has type tensor<2x3x4xf32>, wanted tensor<2x4x3xf32>}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c3(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op q has 4 heads, wanted a multiple of the 3 heads of k}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>)
  return
}

// -----

func.func @attention_grad_c7_dout(%q: tensor<2x3x4x8xf32>, %d: tensor<2x3x4x8xf16>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op dout has type tensor<2x3x4x8xf16>, wanted tensor<2x3x4x8xf32>}}
  %0:3 = nn.attention_grad %d, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf16>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
  return
}

// -----

func.func @attention_grad_c7_lse(%q: tensor<2x3x4x8xf32>, %lse: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op lse has type tensor<2x3x4xf32>, wanted tensor<2x4x3xf32>}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
  return
}

// -----

func.func @attention_grad_c8(%q: tensor<2x3x4x8xf32>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op dv has type tensor<2x3x4x8xf16>, wanted tensor<2x3x4x8xf32>}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf16>)
  return
}

// -----

func.func @rotary_c1(%x: tensor<3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op x has rank 3, wanted 4}}
  %0 = nn.rotary %x theta 10000.0 : tensor<3x4x8xf32>
  return
}

// -----

func.func @rotary_c2(%x: tensor<2x3x4x7xf32>) {
  // expected-error @+1 {{'nn.rotary' op x has 7 features, wanted an even number}}
  %0 = nn.rotary %x theta 10000.0 : tensor<2x3x4x7xf32>
  return
}

// -----

func.func @rotary_c4(%x: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op heads are [2, 5], wanted [begin, end] with 0 <= begin < end <= 4}}
  %0 = nn.rotary %x theta 10000.0 heads [2, 5] : tensor<2x3x4x8xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op theta is -1.000000, wanted a positive number}}
  %0 = nn.rotary %x theta -1.0 : tensor<2x3x4x8xf32>
  return
}
