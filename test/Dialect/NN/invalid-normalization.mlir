// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @layer_norm_c1(%x: tensor<f32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op x is f32, wanted [r.., n] of f32}}
  %0:3 = nn.layer_norm %x, %w, %w eps 1.0e-5 : (tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op b is 4xf32, wanted 8xf32}}
  %0:3 = nn.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<4x8xbf16>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op w is 8xf32, wanted 8xbf16}}
  %0:3 = nn.layer_norm %x, %w, %w eps 1.0e-5 : (tensor<4x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xbf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op attribute 'eps' is -1.000000, wanted 0 or more}}
  %0:3 = nn.layer_norm %x, %w, %w eps -1.0 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_c5(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>) {
  // expected-error @+1 {{result #1 must be statically shaped tensor of}}
  %0:3 = nn.layer_norm %x, %w, %w eps 1.0e-5 : (tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4xbf16>, tensor<4xf32>)
  return
}

// -----

func.func @layer_norm_grad_c1(%x: tensor<f32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op dy is f32, wanted [r.., n] of f32}}
  %0:3 = nn.layer_norm_grad %x, %x, %w, %x, %x : (tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c2(%dy: tensor<8x4xf32>, %x: tensor<4x8xf32>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op x is 4x8xf32, wanted 8x4xf32}}
  %0:3 = nn.layer_norm_grad %dy, %x, %w, %s, %s : (tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %m: tensor<4xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op rstd is 8xf32, wanted 4xf32}}
  %0:3 = nn.layer_norm_grad %x, %x, %w, %m, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @layer_norm_grad_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.layer_norm_grad' op db is 4xf32, wanted 8xf32}}
  %0:3 = nn.layer_norm_grad %x, %x, %w, %s, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<f32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op x is f32, wanted [r.., n] of f32}}
  %0:2 = nn.rms_norm %x, %w eps 1.0e-5 : (tensor<f32>, tensor<8xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op w is 4xf32, wanted 8xf32}}
  %0:2 = nn.rms_norm %x, %w eps 1.0e-5 : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<4x8xf16>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op w is 8xf32, wanted 8xf16}}
  %0:2 = nn.rms_norm %x, %w eps 1.0e-5 : (tensor<4x8xf16>, tensor<8xf32>) -> (tensor<4x8xf16>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op attribute 'eps' is -0.500000, wanted 0 or more}}
  %0:2 = nn.rms_norm %x, %w eps -0.5 : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_c5(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op rstd is 8xf32, wanted 4xf32}}
  %0:2 = nn.rms_norm %x, %w eps 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c1(%x: tensor<f32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm_grad' op dy is f32, wanted [r.., n] of f32}}
  %0:2 = nn.rms_norm_grad %x, %x, %w, %x : (tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<f32>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c2(%x: tensor<4x8xf32>, %w: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.rms_norm_grad' op w is 4xf32, wanted 8xf32}}
  %0:2 = nn.rms_norm_grad %x, %x, %w, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @rms_norm_grad_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm_grad' op rstd is 8xf32, wanted 4xf32}}
  %0:2 = nn.rms_norm_grad %x, %x, %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @rms_norm_grad_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.rms_norm_grad' op dw is 4xf32, wanted 8xf32}}
  %0:2 = nn.rms_norm_grad %x, %x, %w, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @softmax_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.softmax' op x is f32, wanted [r.., n] of f32}}
  %0 = nn.softmax %x : tensor<f32>
  return
}

// -----

func.func @softmax_grad_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.softmax_grad' op dy is f32, wanted [r.., n] of f32}}
  %0 = nn.softmax_grad %x, %x : tensor<f32>
  return
}

// -----

func.func @dropout_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.dropout' op x is f32, wanted [samples, r..] of f32}}
  %0 = nn.dropout %x p 0.5 id 0 : tensor<f32>
  return
}

// -----

func.func @dropout_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.dropout' op attribute 'p' is 1.000000, wanted 0 or more and less than 1}}
  %0 = nn.dropout %x p 1.0 id 0 : tensor<4xf32>
  return
}

// -----

func.func @dropout_c3(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.dropout' op attribute 'id' is -1, wanted 0 or more}}
  %0 = nn.dropout %x p 0.5 id -1 : tensor<4xf32>
  return
}

// -----

func.func @add_layer_norm_c2(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'nn.add_layer_norm' op b is 4xf32, wanted 8xf32}}
  %0:4 = nn.add_layer_norm %x, %x, %w, %b eps 1.0e-5 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @add_layer_norm_c6(%x: tensor<4x8xbf16>, %r: tensor<4x8xf32>, %w: tensor<8xbf16>) {
  // expected-error @+1 {{'nn.add_layer_norm' op residual is 4x8xf32, wanted 4x8xbf16}}
  %0:4 = nn.add_layer_norm %x, %r, %w, %w eps 1.0e-5 : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<8xbf16>, tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4x8xbf16>)
  return
}

// -----

func.func @add_layer_norm_grad_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.add_layer_norm_grad' op db is 4xf32, wanted 8xf32}}
  %0:3 = nn.add_layer_norm_grad %x, %x, %x, %w, %s, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>)
  return
}

// -----

func.func @add_layer_norm_grad_c5(%x: tensor<4x8xf32>, %d: tensor<8x4xf32>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.add_layer_norm_grad' op dsum is 8x4xf32, wanted 4x8xf32}}
  %0:3 = nn.add_layer_norm_grad %x, %d, %x, %w, %s, %s : (tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_rms_norm_c4(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.add_rms_norm' op attribute 'eps' is -1.000000, wanted 0 or more}}
  %0:3 = nn.add_rms_norm %x, %x, %w eps -1.0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @add_rms_norm_c6(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.add_rms_norm' op sum is 8x4xf32, wanted 4x8xf32}}
  %0:3 = nn.add_rms_norm %x, %x, %w eps 1.0e-5 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @add_rms_norm_grad_c3(%x: tensor<4x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.add_rms_norm_grad' op rstd is 8xf32, wanted 4xf32}}
  %0:2 = nn.add_rms_norm_grad %x, %x, %x, %w, %w : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @add_rms_norm_grad_c5(%x: tensor<4x8xf32>, %d: tensor<4x8xf64>, %w: tensor<8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.add_rms_norm_grad' op dsum is 4x8xf64, wanted 4x8xf32}}
  %0:2 = nn.add_rms_norm_grad %x, %d, %x, %w, %s : (tensor<4x8xf32>, tensor<4x8xf64>, tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}
