// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @gather_c1(%x: tensor<4x8xf32>, %i: tensor<4x2xi32>) {
  // expected-error @+1 {{'nn.gather' op dim is 2, wanted one of the 2 dimensions of x}}
  %0 = nn.gather %x, %i dim 2 : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4x8x6xf32>, %i: tensor<3x2xi32>) {
  // expected-error @+1 {{'nn.gather' op ids has shape [3, 2], wanted [4, 2] or [4, 2, 6], with any size at dim}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8x6xf32>, tensor<3x2xi32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @gather_c2_others(%x: tensor<4x8x6xf32>, %i: tensor<4x2x5xi32>) {
  // expected-error @+1 {{'nn.gather' op ids has shape [4, 2, 5], wanted [4, 2] or [4, 2, 6], with any size at dim}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8x6xf32>, tensor<4x2x5xi32>) -> tensor<4x2x6xf32>
  return
}

// -----

func.func @gather_c2_rank(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.gather' op ids has shape [4], wanted [4, 8], with any size at dim}}
  %0 = nn.gather %x, %i dim 1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<4x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'nn.gather' op y has type tensor<4x8xf32>, wanted tensor<3x8xf32>}}
  %0 = nn.gather %x, %i dim 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_c3_element(%x: tensor<4x8xf32>, %i: tensor<3xi32>) {
  // expected-error @+1 {{'nn.gather' op y has type tensor<3x8xbf16>, wanted tensor<3x8xf32>}}
  %0 = nn.gather %x, %i dim 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xbf16>
  return
}

// -----

func.func @scatter_add_c1(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op dim is -1, wanted one of the 2 dimensions of the result}}
  %0 = nn.scatter_add %x, %i dim -1 : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c2_rank(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op x has rank 1, wanted 2}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c2(%x: tensor<4x7xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op x has type tensor<4x7xf32>, wanted tensor<4x8xf32>}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4x7xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c3(%x: tensor<4x8xf32>, %i: tensor<5xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op ids has shape [5], wanted [4] or [4, 8]}}
  %0 = nn.scatter_add %x, %i dim 0 : (tensor<4x8xf32>, tensor<5xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c4(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<5x8xf32>) {
  // expected-error @+1 {{'nn.scatter_add' op init has type tensor<5x8xf32>, wanted tensor<6x8xf32>}}
  %0 = nn.scatter_add %x, %i init %h dim 0 : (tensor<4x8xf32>, tensor<4xi32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c5(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op result has 6 rows, wanted 2}}
  %0 = nn.scatter_add %x, %i dim 0 rows [1, 3] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_add_c5_range(%x: tensor<4x8xf32>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op rows are [3, 1], wanted [begin, end] with 0 <= begin < end}}
  %0 = nn.scatter_add %x, %i dim 0 rows [3, 1] : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @scatter_add_c5_dim(%x: tensor<2x4xf32>, %i: tensor<2x4xi32>) {
  // expected-error @+1 {{'nn.scatter_add' op rows are given with dim 1, wanted them with dim 0}}
  %0 = nn.scatter_add %x, %i dim 1 rows [1, 3] : (tensor<2x4xf32>, tensor<2x4xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @scatter_c1(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op dim is 3, wanted one of the 2 dimensions of into}}
  %0 = nn.scatter set %x, %i into %h dim 3 : (tensor<4x8xf32>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c2(%x: tensor<4x8xbf16>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op x has type tensor<4x8xbf16>, wanted tensor<4x8xf32>}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xbf16>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c3(%x: tensor<4x8xf32>, %i: tensor<8xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op ids has shape [8], wanted [4] or [4, 8]}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xf32>, tensor<8xi32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return
}

// -----

func.func @scatter_c4(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %h: tensor<6x8xf32>) {
  // expected-error @+1 {{'nn.scatter' op y has type tensor<5x8xf32>, wanted tensor<6x8xf32>}}
  %0 = nn.scatter set %x, %i into %h dim 0 : (tensor<4x8xf32>, tensor<4xi32>, tensor<6x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @scatter_c5(%x: tensor<4xi32>, %i: tensor<4xi32>, %h: tensor<6xi32>) {
  // expected-error @+1 {{'nn.scatter' op x has elements of i32, wanted floats to take the largest of}}
  %0 = nn.scatter max %x, %i into %h dim 0 : (tensor<4xi32>, tensor<4xi32>, tensor<6xi32>) -> tensor<6xi32>
  return
}

// -----

func.func @argsort_c1(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.argsort' op x has rank 0, wanted 1 or more}}
  %0 = nn.argsort %x : tensor<f32> -> tensor<i32>
  return
}

// -----

func.func @argsort_c2(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op first is 9, wanted one from 1 to 8, the last dimension of x}}
  %0 = nn.argsort %x first 9 : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}

// -----

func.func @argsort_c2_none(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op first is 0, wanted one from 1 to 8, the last dimension of x}}
  %0 = nn.argsort %x first 0 : tensor<4x8xf32> -> tensor<4x0xi32>
  return
}

// -----

func.func @argsort_c3(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.argsort' op order has shape [4, 8], wanted [4, 2]}}
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
  // expected-error @+1 {{'nn.cumsum' op dim is 2, wanted one of the 2 dimensions of x}}
  %0 = nn.cumsum %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @random_normal_c1() {
  // expected-error @+1 {{'nn.random_normal' op result has rank 0, wanted 1 or more}}
  %0 = nn.random_normal id 0 : tensor<f32>
  return
}

// -----

func.func @random_normal_c2() {
  // expected-error @+1 {{'nn.random_normal' op id is -1, wanted 0 or more}}
  %0 = nn.random_normal id -1 : tensor<4xf32>
  return
}

// -----

func.func @grouped_matmul_c1(%a: tensor<9xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op a has rank 1, wanted 2}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c1_b(%a: tensor<9x4xf32>, %b: tensor<4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op b has rank 2, wanted 3}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<4x5xf32>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c2(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op a has 4 columns, wanted 5, the K of b}}
  %0 = nn.grouped_matmul %a, %b offsets %o transpose_b : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @grouped_matmul_c3(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<2xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op offsets has shape [2], wanted [3]}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c4(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op c has type tensor<9x6xf32>, wanted tensor<9x5xf32>}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x6xf32>
  return
}

// -----

func.func @grouped_matmul_c4_element(%a: tensor<9x4xf32>, %b: tensor<3x4x5xbf16>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op b has element type bf16, wanted f32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xbf16>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c1(%a: tensor<9x4xf32>, %b: tensor<9xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op b has rank 1, wanted 2}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<9xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c2(%a: tensor<9x4xf32>, %b: tensor<8x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op b has 8 rows, wanted 9, those of a}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<8x5xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c3(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3x1xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op offsets has rank 2, wanted 1}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3x1xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c4(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op d has type tensor<3x4x5xf32>, wanted tensor<1x4x5xf32>}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o rows [1, 2] : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c5(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op rows are [2, 4], wanted [begin, end] with 0 <= begin < end <= 3}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o rows [2, 4] : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3xi32>) -> tensor<2x4x5xf32>
  return
}
