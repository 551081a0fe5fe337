// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @gather_c1(%x: tensor<4x8xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{'nn.gather' op attribute 'dim' is 2, wanted a dimension of x, 4x8xf32}}
  %0 = nn.gather %x, %i dim 2 : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4x8x6xf32>, %i: tensor<3x2xi32>) {
  // expected-error @+1 {{'nn.gather' op ids is 3x2xi32, wanted 4x2x6xi32, or without its last dimensions}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8x6xf32>, tensor<3x2xi32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @gather_c2_others(%x: tensor<4x8x6xf32>, %i: tensor<4x2x5xi32>) {
  // expected-error @+1 {{'nn.gather' op ids is 4x2x5xi32, wanted 4x2x6xi32, or without its last dimensions}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8x6xf32>, tensor<4x2x5xi32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @gather_c2_rank(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.gather' op attribute 'dim' is 1, wanted a dimension of ids, 4xi32}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<4x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'nn.gather' op y is 4x8xf32, wanted 3x8xf32}}
  %0 = nn.gather %x, %i dim 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_c3_element(%x: tensor<4x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'nn.gather' op y is 3x8xbf16, wanted 3x8xf32}}
  %0 = nn.gather %x, %i dim 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xbf16>
  return
}

// -----

func.func @scatter_add_c1(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op attribute 'dim' is -1, wanted a dimension of x, 4x8xf32}}
  %0 = nn.scatter_add %x, %i dim -1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c2_rank(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op y is 6x8xf32, wanted 6xf32}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c2(%x: tensor<4x7xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op y is 6x8xf32, wanted 6x7xf32}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4x7xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c3(%x: tensor<4x8xf32>, %i: tensor<5xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op ids is 5xi32, wanted 4x8xi32, or without its last dimensions}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4x8xf32>, tensor<5xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c4(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<5x8xf32>) {
  // expected-error @+1 {{'nn.scatter_add' op y is 6x8xf32, wanted 5x8xf32}}
  %0 = nn.scatter_add %x, %i init %h dim 0 : (tensor<4x8xf32>, tensor<4xi32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c5(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op y is 6x8xf32, wanted 2x8xf32}}
  %0 = nn.scatter_add %x, %i dim 0 rows [1, 3] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c5_range(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op attribute 'rows' is [3, 1], wanted [begin, end] with 0 <= begin < end}}
  %0 = nn.scatter_add %x, %i dim 0 rows [3, 1] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @scatter_add_c5_dim(%x: tensor<2x4xf32>, %i: tensor<2x4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op rows are given along dimension 1 of y, 2x8xf32, wanted along dimension 0}}
  %0 = nn.scatter_add %x, %i dim 1 rows [1, 3] : (tensor<2x4xf32>, tensor<2x4xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @scatter_c1(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op attribute 'dim' is 3, wanted a dimension of x, 4x8xf32}}
  %0 = nn.scatter set %x, %i into %h dim 3 : (tensor<4x8xf32>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<4x8xbf16>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op into is 6x8xf32, wanted 6x8xbf16}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xbf16>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c3(%x: tensor<4x8xf32>, %i: tensor<8xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op ids is 8xi32, wanted 4x8xi32, or without its last dimensions}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xf32>, tensor<8xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c4(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op y is 5x8xf32, wanted 6x8xf32}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xf32>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @scatter_c5(%x: tensor<4xi32>, %i: tensor<4xi32>, %h: tensor<6xi32>) {
  // expected-error @+1 {{'nn.scatter' op x is 4xi32, wanted floats to take the largest of}}
  %0 = nn.scatter max %x, %i into %h dim 0 : (tensor<4xi32>, tensor<4xi32>, tensor<6xi32>) -> tensor<6xi32>
  return
}

// -----

func.func @argsort_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.argsort' op x is f32, wanted [r.., n] of f32}}
  %0 = nn.argsort %x : tensor<f32> -> tensor<i32>
  return
}

// -----

func.func @argsort_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op order is 4x9xi32 and first 9, wanted as many positions, at most 8}}
  %0 = nn.argsort %x first 9 : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}

// -----

func.func @argsort_c2_none(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op attribute 'first' is 0, wanted 1 or more}}
  %0 = nn.argsort %x first 0 : tensor<4x8xf32> -> tensor<4x0xi32>
  return
}

// -----

func.func @argsort_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op order is 4x8xi32 and first 2, wanted as many positions, at most 8}}
  %0 = nn.argsort %x first 2 : tensor<4x8xf32> -> tensor<4x8xi32>
  return
}

// -----

func.func @argsort_bool(%x: tensor<4xi1>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of}}
  %0 = nn.argsort %x : tensor<4xi1> -> tensor<4xi32>
  return
}

// -----

func.func @cumsum_c1(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.cumsum' op attribute 'dim' is 2, wanted a dimension of x, 4x8xf32}}
  %0 = nn.cumsum %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @random_normal_c1() {
  // expected-error @+1 {{'nn.random_normal' op y is f32, wanted [samples, r..] of f32}}
  %0 = nn.random_normal id 0 : tensor<f32>
  return
}

// -----

func.func @random_normal_c2() {
  // expected-error @+1 {{'nn.random_normal' op attribute 'id' is -1, wanted 0 or more}}
  %0 = nn.random_normal id -1 : tensor<4xf32>
  return
}

// -----

func.func @random_uniform_c1() {
  // expected-error @+1 {{'nn.random_uniform' op y is f32, wanted [samples, r..] of f32}}
  %0 = nn.random_uniform id 0 : tensor<f32>
  return
}

// -----

func.func @random_integers_c1() {
  // expected-error @+1 {{'nn.random_integers' op attribute 'below' is 0, wanted 1 or more and less than 2147483648}}
  %0 = nn.random_integers id 0 below 0 : tensor<4xi32>
  return
}

// -----

func.func @random_integers_c2() {
  // expected-error @+1 {{'nn.random_integers' op attribute 'below' is 2147483648, wanted 1 or more and less than 2147483648}}
  %0 = nn.random_integers id 0 below 2147483648 : tensor<4xi32>
  return
}
