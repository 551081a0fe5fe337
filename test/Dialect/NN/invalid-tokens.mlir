// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @embedding_c1(%ids: tensor<4xi32>, %table: tensor<16xf32>) {
  // expected-error @+1 {{'nn.embedding' op table is 16xf32, wanted [v, w] of f32}}
  %0 = nn.embedding %ids, %table : (tensor<4xi32>, tensor<16xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @embedding_c2(%ids: tensor<4xi32>, %table: tensor<16x8xf32>) {
  // expected-error @+1 {{'nn.embedding' op y is 4x16xf32, wanted 4x8xf32}}
  %0 = nn.embedding %ids, %table : (tensor<4xi32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @embedding_ids(%ids: tensor<4xi64>, %table: tensor<16x8xf32>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of 32-bit signless integer values}}
  %0 = nn.embedding %ids, %table : (tensor<4xi64>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @embedding_grad_c1(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>) {
  // expected-error @+1 {{'nn.embedding_grad' op dtable is 8xf32, wanted [v, 8] of f32}}
  %0 = nn.embedding_grad %dy, %ids : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}

// -----

func.func @embedding_grad_c2(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>) {
  // expected-error @+1 {{'nn.embedding_grad' op dtable is 16x6xf32, wanted 16x8xf32}}
  %0 = nn.embedding_grad %dy, %ids : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  return
}

// -----

func.func @embedding_grad_c3(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>, %base: tensor<15x8xf32>) {
  // expected-error @+1 {{'nn.embedding_grad' op dtable is 16x8xf32, wanted 15x8xf32}}
  %0 = nn.embedding_grad %dy, %ids init %base : (tensor<4x8xf32>, tensor<4xi32>, tensor<15x8xf32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @embedding_grad_c4(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>) {
  // expected-error @+1 {{'nn.embedding_grad' op dtable is 16x8xf32, wanted 8x8xf32}}
  %0 = nn.embedding_grad %dy, %ids rows [8, 16] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @embedding_grad_c4_empty(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>) {
  // expected-error @+1 {{'nn.embedding_grad' op attribute 'rows' is [8, 8], wanted [begin, end] with 0 <= begin < end}}
  %0 = nn.embedding_grad %dy, %ids rows [8, 8] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<16x8xf32>
  return
}

// -----

func.func @cross_entropy_c1(%l: tensor<f32>, %y: tensor<i32>) {
  // expected-error @+1 {{'nn.cross_entropy' op logits is f32, wanted [r.., n] of f32}}
  %0:2 = nn.cross_entropy %l, %y : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_c2(%l: tensor<4x8xf32>, %y: tensor<8xi32>) {
  // expected-error @+1 {{'nn.cross_entropy' op targets is 8xi32, wanted 4xi32}}
  %0:2 = nn.cross_entropy %l, %y : (tensor<4x8xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_c3(%l: tensor<4x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.cross_entropy' op loss is 1xf32, wanted f32}}
  %0:2 = nn.cross_entropy %l, %y : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<1xf32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_grad_c1(%d: tensor<f32>, %l: tensor<f32>, %y: tensor<i32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op logits is f32, wanted [r.., n] of f32}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %d : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_grad_c2(%d: tensor<f32>, %l: tensor<4x8xf32>, %y: tensor<8xi32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op targets is 8xi32, wanted 4xi32}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %s : (tensor<f32>, tensor<4x8xf32>, tensor<8xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3_dloss(%d: tensor<4xf32>, %l: tensor<4x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op dloss is 4xf32, wanted f32}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %d : (tensor<4xf32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_grad_c3_lse(%d: tensor<f32>, %l: tensor<4x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op lse is f32, wanted 4xf32}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %d : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_grad_c4(%d: tensor<f32>, %l: tensor<4x8xbf16>, %y: tensor<4xi32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op dlogits is 4x8xf32, wanted 4x8xbf16}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %s : (tensor<f32>, tensor<4x8xbf16>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @embedding_c3(%ids: tensor<4xi32>, %table: tensor<16x8xf32>) {
  // expected-error @+1 {{'nn.embedding' op attribute 'num_embeddings' is 17, wanted 0 to 16}}
  %0 = nn.embedding %ids, %table num_embeddings 17 : (tensor<4xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_c4(%l: tensor<4x8xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{'nn.cross_entropy' op attribute 'classes' is 9, wanted 1 to 8}}
  %0:2 = nn.cross_entropy %l, %y classes 9 : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @cross_entropy_grad_c5(%d: tensor<f32>, %l: tensor<4x8xf32>, %y: tensor<4xi32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'nn.cross_entropy_grad' op attribute 'classes' is 0, wanted 1 to 8}}
  %0 = nn.cross_entropy_grad %d, %l, %y, %s classes 0 : (tensor<f32>, tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}
