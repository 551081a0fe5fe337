// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @gelu_c2(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op w is 16x8xbf16, wanted 8x8xbf16}}
  %0 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @gelu_c3(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op bias is 8xbf16, wanted 16xbf16}}
  %0 = nn.linear_gelu %x, %w bias %b : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<8xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @gelu_c5(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op y is 4x8xbf16, wanted 4x16xbf16}}
  %0 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x8xbf16>
  return
}

// -----

func.func @gelu_c6(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu' op h is 4x16xf32, wanted 4x16xbf16}}
  %0, %1 = nn.linear_gelu %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x16xf32>)
  return
}

// -----

func.func @grad_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %h: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op dy is f32, wanted [r.., k] of f32}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<f32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @grad_c4(%x: tensor<4x8xbf16>, %w: tensor<8x16xf16>, %h: tensor<4x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op w is 8x16xf16, wanted 8x16xbf16}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @grad_c6(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %h: tensor<4x8xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op h is 4x8xbf16, wanted 4x16xbf16}}
  %0 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>) -> tensor<4x16xbf16>
  return
}

// -----

func.func @grad_c7(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %h: tensor<4x16xbf16>) {
  // expected-error @+1 {{'nn.linear_gelu_grad' op db is 8xbf16, wanted 16xbf16}}
  %0, %1 = nn.linear_gelu_grad %x, %w, %h : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<8xbf16>)
  return
}

// -----

func.func @add_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %c: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op x is f32, wanted [r.., k] of f32}}
  %0 = nn.linear_add %x, %w, %c : (tensor<f32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @add_c5(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op y is 4x8xf32, wanted 4x16xf32}}
  %0 = nn.linear_add %x, %w, %c : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @add_c6(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %c: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op c is 16xf32, wanted 4x16xf32}}
  %0 = nn.linear_add %x, %w, %c : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @weight_c1_dy(%dy: tensor<f32>, %x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op dy is f32, wanted [r.., n] of f32}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<f32>, tensor<8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c1_x(%dy: tensor<16xf32>, %x: tensor<f32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x is f32, wanted [k] of f32}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<16xf32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c2(%dy: tensor<4x16xf32>, %x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x is 2x4x8xf32, wanted 4x8xf32}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xf32>, tensor<2x4x8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c3(%dy: tensor<4x16xbf16>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x is 4x8xf32, wanted 4x8xbf16}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xbf16>, tensor<4x8xf32>) -> (tensor<8x16xbf16>, tensor<16xbf16>)
  return
}

// -----

func.func @weight_c4(%dy: tensor<4x16xf32>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op dw is 8x16xf32, wanted 16x8xf32}}
  %0:2 = nn.linear_weight_grad %dy, %x transposed : (tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c5(%dy: tensor<4x16xf32>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op db is 8xf32, wanted 16xf32}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
  return
}

// -----

func.func @loss_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op x is f32, wanted [r.., k] of f32}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<f32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c2(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op w is 8x16xf32, wanted 8x8xf32}}
  %0 = nn.linear_cross_entropy %x, %w, %y transposed chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c3(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op bias is 8xf32, wanted 16xf32}}
  %0 = nn.linear_cross_entropy %x, %w, %y bias %b chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c4(%x: tensor<4x8xf32>, %w: tensor<8x16xbf16>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op w is 8x16xbf16, wanted 8x16xf32}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xbf16>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c5(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op targets is 5xi32, wanted 4xi32}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<5xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c6(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op loss is 4xf32, wanted f32}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @loss_c7(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op attribute 'chunk' is 0, wanted 1 or more}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 0 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @grad_c9(%s: tensor<1xf32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dloss is 1xf32, wanted f32}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<1xf32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @grad_c10_dx(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dx is 8x4xf32, wanted 4x8xf32}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<8x4xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @grad_c10_dw(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dw is 16x8xf32, wanted 8x16xf32}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

func.func @grad_c10_db(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op db is 8xf32, wanted 16xf32}}
  %0:4 = nn.linear_cross_entropy_grad %s, %x, %w, %y bias %b chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>, tensor<16xf32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<8xf32>)
  return
}

// -----

func.func @grad_no_db(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op has a bias and no db, wanted both}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y bias %b chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>, tensor<16xf32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @grad_no_bias(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op has db and no bias, wanted both or none}}
  %0:4 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @classes(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op attribute 'classes' is 17, wanted 1 to 16}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 classes 17 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @grad_classes(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op attribute 'classes' is 0, wanted 1 to 16}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y transposed chunk 4 classes 0 : (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

func.func @linear_partial_cross_entropy_grad_c1(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %f: tensor<i32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{'nn.linear_partial_cross_entropy_grad' op has db and no bias, wanted both or none}}
  %0:3 = nn.linear_partial_cross_entropy_grad %s, %r, %x, %w, %y, %f, %r chunk 4 classes 30 : (tensor<f32>, tensor<4xf32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>, tensor<i32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>)
  return
}
