// RUN: zero-opt %s -split-input-file -verify-diagnostics

func.func @dispatch_c1(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.dispatch' op offsets are of 5 experts, wanted at most 4, all there are}}
  %s, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<9x4xf32>, tensor<9x2xi32>) -> (tensor<18x4xf32>, tensor<9x2xi32>, tensor<5xi32>)
  return
}

// -----

func.func @dispatch_none(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.dispatch' op attribute 'experts' is 0, wanted 1 or more}}
  %s, %p, %o = nn.dispatch %x, %i experts 0 : (tensor<9x4xf32>, tensor<9x2xi32>) -> (tensor<18x4xf32>, tensor<9x2xi32>, tensor<0xi32>)
  return
}

// -----

func.func @dispatch_places(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.dispatch' op places is 9x1xi32, wanted 9x2xi32}}
  %s, %p, %o = nn.dispatch %x, %i experts 4 : (tensor<9x4xf32>, tensor<9x2xi32>) -> (tensor<18x4xf32>, tensor<9x1xi32>, tensor<4xi32>)
  return
}

// -----

func.func @capacity_dispatch_experts(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.capacity_dispatch' op counts is 4xi32, wanted 5xi32}}
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<9x4xf32>, tensor<9x2xi32>) -> (tensor<5x3x4xf32>, tensor<9x2xi32>, tensor<4xi32>)
  return
}

// -----

func.func @capacity_dispatch_width(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.capacity_dispatch' op sorted is 5x3x5xf32, wanted 5x3x4xf32}}
  %s, %p, %n = nn.capacity_dispatch %x, %i : (tensor<9x4xf32>, tensor<9x2xi32>) -> (tensor<5x3x5xf32>, tensor<9x2xi32>, tensor<5xi32>)
  return
}

// -----

func.func @capacity_dispatch_order(%x: tensor<9x4xf32>, %i: tensor<9x2xi32>, %o: tensor<9xi32>) {
  // expected-error @+1 {{'nn.capacity_dispatch' op order is 9xi32, wanted 18xi32}}
  %s, %p, %n = nn.capacity_dispatch %x, %i order %o : (tensor<9x4xf32>, tensor<9x2xi32>, tensor<9xi32>) -> (tensor<5x3x4xf32>, tensor<9x2xi32>, tensor<5xi32>)
  return
}

// -----

func.func @combine_weights(%x: tensor<18x4xf32>, %p: tensor<9x2xi32>, %g: tensor<9x1xf32>) {
  // expected-error @+1 {{'nn.combine' op weights is 9x1xf32, wanted 9x2xf32}}
  %y = nn.combine %x, %p weights %g : (tensor<18x4xf32>, tensor<9x2xi32>, tensor<9x1xf32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @combine_grad_c1(%dy: tensor<9x4xf32>, %x: tensor<18x4xf32>, %p: tensor<9x2xi32>, %g: tensor<9x2xf32>) {
  // expected-error @+1 {{'nn.combine_grad' op weights have no gradient, wanted dweights}}
  %d = nn.combine_grad %dy, %x, %p weights %g : (tensor<9x4xf32>, tensor<18x4xf32>, tensor<9x2xi32>, tensor<9x2xf32>) -> tensor<18x4xf32>
  return
}

// -----

func.func @combine_grad_c1_without(%dy: tensor<9x4xf32>, %x: tensor<18x4xf32>, %p: tensor<9x2xi32>) {
  // expected-error @+1 {{'nn.combine_grad' op dweights is there without weights}}
  %d, %e = nn.combine_grad %dy, %x, %p : (tensor<9x4xf32>, tensor<18x4xf32>, tensor<9x2xi32>) -> (tensor<18x4xf32>, tensor<9x2xf32>)
  return
}

// -----

func.func @grouped_matmul_c1(%a: tensor<9xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op a is 9xf32, wanted [s, k] of f32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c1_b(%a: tensor<9x4xf32>, %b: tensor<4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op b is 4x5xf32, wanted [e, 4, n] of f32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<4x5xf32>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c2(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op b is 3x4x5xf32, wanted 3x4x4xf32}}
  %0 = nn.grouped_matmul %a, %b offsets %o transpose_b : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x4xf32>
  return
}

// -----

func.func @grouped_matmul_c3(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<2xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op offsets is 2xi32, wanted 3xi32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_c4(%a: tensor<9x4xf32>, %b: tensor<3x4x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op c is 9x6xf32, wanted 9x5xf32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<9x6xf32>
  return
}

// -----

func.func @grouped_matmul_c4_element(%a: tensor<9x4xf32>, %b: tensor<3x4x5xbf16>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul' op b is 3x4x5xbf16, wanted 3x4x5xf32}}
  %0 = nn.grouped_matmul %a, %b offsets %o : (tensor<9x4xf32>, tensor<3x4x5xbf16>, tensor<3xi32>) -> tensor<9x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c1(%a: tensor<9x4xf32>, %b: tensor<9xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op b is 9xf32, wanted [9, n] of f32}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<9xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c2(%a: tensor<9x4xf32>, %b: tensor<8x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op b is 8x5xf32, wanted 9x5xf32}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<8x5xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c3(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3x1xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op offsets is 3x1xi32, wanted [e] of i32}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3x1xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c4(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op d is 3x4x5xf32, wanted 1x4x5xf32}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o rows [1, 2] : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3xi32>) -> tensor<3x4x5xf32>
  return
}

// -----

func.func @grouped_matmul_grad_c5(%a: tensor<9x4xf32>, %b: tensor<9x5xf32>, %o: tensor<3xi32>) {
  // expected-error @+1 {{'nn.grouped_matmul_grad' op rows are [2, 4], no range of the 3 there are}}
  %0 = nn.grouped_matmul_grad %a, %b offsets %o rows [2, 4] : (tensor<9x4xf32>, tensor<9x5xf32>, tensor<3xi32>) -> tensor<2x4x5xf32>
  return
}
