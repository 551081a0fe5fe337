// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1_q(%q: tensor<3x4x8xf32>, %k: tensor<2x3x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op q is 3x4x8xf32, wanted [b, t, g*r, d] of f32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> (tensor<3x4x8xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @attention_c1_k(%q: tensor<2x3x4x8xf32>, %k: tensor<3x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op k is 3x2x8xf32, wanted [2, s, g, 8] of f32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<3x2x8xf32>, tensor<3x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c2_k(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x2x6xf32>) {
  // expected-error @+1 {{'nn.attention' op k is 2x3x2x6xf32, wanted 2x3x2x8xf32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x2x6xf32>, tensor<2x3x2x6xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c2_v(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x2x8xf32>, %v: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op v is 2x5x2x8xf32, wanted 2x3x2x8xf32}}
  %o, %l = nn.attention %q, %k, %v scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>) {
  // expected-error @+1 {{'nn.attention' op q is 2x3x4x8xf32, wanted [2, 3, 3*r, 8] of f32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op causal with 3 queries and 5 keys, wanted equal numbers}}
  %o, %l = nn.attention %q, %k, %k causal scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c5_shape(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>, %m: tensor<2x4x3x3xf32>) {
  // expected-error @+1 {{'nn.attention' op mask is 2x4x3x3xf32, wanted 2x4x3x5xf32, with any size replaced by 1}}
  %o, %l = nn.attention %q, %k, %k mask %m scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>, tensor<2x4x3x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c5_type(%q: tensor<2x3x4x8xf64>, %k: tensor<2x5x2x8xf64>, %m: tensor<3x5xf32>) {
  // expected-error @+1 {{'nn.attention' op mask is 3x5xf32, wanted 2x4x3x5xf64, with any size replaced by 1}}
  %o, %l = nn.attention %q, %k, %k mask %m scale 1.0 : (tensor<2x3x4x8xf64>, tensor<2x5x2x8xf64>, tensor<2x5x2x8xf64>, tensor<3x5xf32>) -> (tensor<2x3x4x8xf64>, tensor<2x4x3xf64>)
  return
}

// -----

func.func @attention_c6(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf16>) {
  // expected-error @+1 {{'nn.attention' op k is 2x5x2x8xf16, wanted 2x5x2x8xf32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf16>, tensor<2x5x2x8xf16>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c7(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op lse is 2x3x4xf32, wanted 2x4x3xf32}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x5x2x8xf32>, tensor<2x5x2x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4xf32>)
  return
}

// -----

func.func @attention_grad_c3(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x3x8xf32>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op dout is 2x3x4x8xf32, wanted [2, 3, 3*r, 8] of f32}}
  %0:3 = nn.attention_grad %q, %q, %k, %k, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>)
  return
}

// -----

func.func @attention_grad_c7_dout(%q: tensor<2x3x4x8xf32>, %d: tensor<2x3x4x8xf16>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op q is 2x3x4x8xf32, wanted 2x3x4x8xf16}}
  %0:3 = nn.attention_grad %d, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf16>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
  return
}

// -----

func.func @attention_grad_c7_lse(%q: tensor<2x3x4x8xf32>, %lse: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op lse is 2x3x4xf32, wanted 2x4x3xf32}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)
  return
}

// -----

func.func @attention_grad_c8(%q: tensor<2x3x4x8xf32>, %lse: tensor<2x4x3xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op dv is 2x3x4x8xf16, wanted 2x3x4x8xf32}}
  %0:3 = nn.attention_grad %q, %q, %q, %q, %q, %lse scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf16>)
  return
}

// -----

func.func @rotary_c1(%x: tensor<3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op x is 3x4x8xf32, wanted [b, t, h, d] of f32}}
  %0 = nn.rotary %x theta 10000.0 : tensor<3x4x8xf32>
  return
}

// -----

func.func @rotary_c2(%x: tensor<2x3x4x7xf32>) {
  // expected-error @+1 {{'nn.rotary' op the operand is 2x3x4x7xf32, wanted four dimensions, the last even}}
  %0 = nn.rotary %x theta 10000.0 : tensor<2x3x4x7xf32>
  return
}

// -----

func.func @rotary_c4(%x: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op heads are [2, 5], no range of the 4 there are}}
  %0 = nn.rotary %x theta 10000.0 heads [2, 5] : tensor<2x3x4x8xf32>
  return
}

// -----

func.func @rotary_c3(%x: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.rotary' op attribute 'theta' is -1.000000, wanted more than 0}}
  %0 = nn.rotary %x theta -1.0 : tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_c3_id(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op has dropout, and no id; wanted both or neither}}
  %o, %l = nn.attention %q, %q, %q scale 1.0 dropout 0.1 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_c3_dropout(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op has an id, and no dropout; wanted both or neither}}
  %o, %l = nn.attention %q, %q, %q scale 1.0 id 3 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_dropout_of_all(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op attribute 'dropout' is 1.000000, wanted 0 or more and less than 1}}
  %o, %l = nn.attention %q, %q, %q scale 1.0 dropout 1.0 id 3 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_without_keys(%q: tensor<2x3x4x8xf32>, %k: tensor<2x0x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op no keys, wanted one or more}}
  %o, %l = nn.attention %q, %k, %k scale 1.0 : (tensor<2x3x4x8xf32>, tensor<2x0x4x8xf32>, tensor<2x0x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_id_of_more_than_32_bits(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op attribute 'id' is 4294967296, wanted 0 or more and less than 4294967296}}
  %o, %l = nn.attention %q, %q, %q scale 1.0 dropout 0.5 id 4294967296 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}

// -----

func.func @attention_scale_beyond_f32(%q: tensor<2x3x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op attribute 'scale' failed to satisfy constraint: 64-bit float attribute that f32 can hold}}
  %o, %l = nn.attention %q, %q, %q scale 1.0e39 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> (tensor<2x3x4x8xf32>, tensor<2x4x3xf32>)
  return
}
