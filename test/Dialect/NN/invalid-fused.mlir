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

// -----

func.func @add_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %c: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op x has rank 0, wanted 1 or more}}
  %0 = nn.linear_add %x, %w, %c : (tensor<f32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @add_c5(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %c: tensor<4x16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op y has type tensor<4x8xf32>, wanted tensor<4x16xf32>}}
  %0 = nn.linear_add %x, %w, %c : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @add_c6(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %c: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_add' op c has type tensor<16xf32>, wanted tensor<4x16xf32>}}
  %0 = nn.linear_add %x, %w, %c : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @weight_c1_dy(%dy: tensor<f32>, %x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op dy has rank 0, wanted 1 or more}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<f32>, tensor<8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c1_x(%dy: tensor<16xf32>, %x: tensor<f32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x has rank 0, wanted 1 or more}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<16xf32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c2(%dy: tensor<4x16xf32>, %x: tensor<2x4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x has leading dimensions [2, 4], wanted those of dy, [4]}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xf32>, tensor<2x4x8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c3(%dy: tensor<4x16xbf16>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op x has element type f32, wanted bf16}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xbf16>, tensor<4x8xf32>) -> (tensor<8x16xbf16>, tensor<16xbf16>)
  return
}

// -----

func.func @weight_c4(%dy: tensor<4x16xf32>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op dw has type tensor<8x16xf32>, wanted tensor<16x8xf32>}}
  %0:2 = nn.linear_weight_grad %dy, %x transposed : (tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<8x16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @weight_c5(%dy: tensor<4x16xf32>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.linear_weight_grad' op db has type tensor<8xf32>, wanted tensor<16xf32>}}
  %0:2 = nn.linear_weight_grad %dy, %x : (tensor<4x16xf32>, tensor<4x8xf32>) -> (tensor<8x16xf32>, tensor<8xf32>)
  return
}

// -----

func.func @loss_c1(%x: tensor<f32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op x has rank 0, wanted 1 or more}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<f32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c2(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op x has 8 as its last dimension, wanted the weight's 16}}
  %0 = nn.linear_cross_entropy %x, %w, %y transposed chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c3(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op bias has shape [8], wanted [16]}}
  %0 = nn.linear_cross_entropy %x, %w, %y bias %b chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>, tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c4(%x: tensor<4x8xf32>, %w: tensor<8x16xbf16>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op w has element type bf16, wanted f32}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xbf16>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c5(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<5xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op targets has shape [5], wanted [4]}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<5xi32>) -> tensor<f32>
  return
}

// -----

func.func @loss_c6(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op loss has type tensor<4xf32>, wanted tensor<f32>}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @loss_c7(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy' op chunk is 0, wanted 1 or more}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 0 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @grad_c9(%s: tensor<1xf32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dloss has type tensor<1xf32>, wanted tensor<f32>}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<1xf32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @grad_c10_dx(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dx has type tensor<8x4xf32>, wanted tensor<4x8xf32>}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<8x4xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @grad_c10_dw(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op dw has type tensor<16x8xf32>, wanted tensor<8x16xf32>}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y chunk 4 : (tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>)
  return
}

// -----

func.func @grad_c10_db(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<4xi32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op db has type tensor<8xf32>, wanted tensor<16xf32>}}
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
  // expected-error @+1 {{'nn.linear_cross_entropy' op classes is 17, wanted 1 to 16}}
  %0 = nn.linear_cross_entropy %x, %w, %y chunk 4 classes 17 : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi32>) -> tensor<f32>
  return
}

// -----

func.func @grad_classes(%s: tensor<f32>, %x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.linear_cross_entropy_grad' op classes is 0, wanted 1 to 16}}
  %0:3 = nn.linear_cross_entropy_grad %s, %x, %w, %y transposed chunk 4 classes 0 : (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x8xf32>, tensor<16x8xf32>)
  return
}
