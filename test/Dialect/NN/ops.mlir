// RUN: zero-opt %s --verify-roundtrip | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s
// RUN: zero-opt %s --verify-roundtrip | FileCheck %s --check-prefix=SPACES --match-full-lines --strict-whitespace
// RUN: zero-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// CHECK-LABEL: func.func @linear
// CHECK: nn.linear %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<32x784xf32>, tensor<784x250xf32>, tensor<250xf32>) -> tensor<32x250xf32>
// CHECK: nn.linear %{{.*}}, %{{.*}} transposed : (tensor<32x250xf32>, tensor<10x250xf32>) -> tensor<32x10xf32>
// GENERIC: "nn.linear"(%{{.*}}, %{{.*}}) <{transposed}>
func.func @linear(%x: tensor<32x784xf32>, %w: tensor<784x250xf32>, %b: tensor<250xf32>, %e: tensor<10x250xf32>) -> tensor<32x10xf32> {
  %h = nn.linear %x, %w bias %b : (tensor<32x784xf32>, tensor<784x250xf32>, tensor<250xf32>) -> tensor<32x250xf32>
  %l = nn.linear %h, %e transposed : (tensor<32x250xf32>, tensor<10x250xf32>) -> tensor<32x10xf32>
  return %l : tensor<32x10xf32>
}

// CHECK-LABEL: func.func @linear_gelu
// CHECK: nn.linear_gelu %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> (tensor<32x256xbf16>, tensor<32x256xbf16>)
// CHECK: nn.linear_gelu %{{.*}}, %{{.*}} transposed : (tensor<32x256xbf16>, tensor<8x256xbf16>) -> tensor<32x8xbf16>
// CHECK: nn.linear_gelu_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<32x8xbf16>, tensor<8x256xbf16>, tensor<32x256xbf16>) -> (tensor<32x256xbf16>, tensor<256xbf16>)
// CHECK: nn.linear_gelu_grad %{{.*}}, %{{.*}}, %{{.*}} transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
func.func @linear_gelu(%x: tensor<32x784xbf16>, %w: tensor<784x256xbf16>, %b: tensor<256xbf16>, %e: tensor<8x256xbf16>, %t: tensor<256x784xbf16>) {
  %y, %h = nn.linear_gelu %x, %w bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> (tensor<32x256xbf16>, tensor<32x256xbf16>)
  %z = nn.linear_gelu %y, %e transposed : (tensor<32x256xbf16>, tensor<8x256xbf16>) -> tensor<32x8xbf16>
  %dh, %db = nn.linear_gelu_grad %z, %e, %h : (tensor<32x8xbf16>, tensor<8x256xbf16>, tensor<32x256xbf16>) -> (tensor<32x256xbf16>, tensor<256xbf16>)
  %dg = nn.linear_gelu_grad %x, %t, %h transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
  return
}

// CHECK-LABEL: func.func @linear_add
// CHECK: nn.linear_add %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<32x256xbf16>, tensor<256xbf16>) -> tensor<32x256xbf16>
// CHECK: nn.linear_add %{{.*}}, %{{.*}}, %{{.*}} transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
func.func @linear_add(%x: tensor<32x784xbf16>, %w: tensor<784x256xbf16>, %t: tensor<256x784xbf16>, %b: tensor<256xbf16>, %c: tensor<32x256xbf16>) {
  %y = nn.linear_add %x, %w, %c bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<32x256xbf16>, tensor<256xbf16>) -> tensor<32x256xbf16>
  %z = nn.linear_add %x, %t, %y transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
  return
}

// CHECK-LABEL: func.func @linear_weight_grad
// CHECK: nn.linear_weight_grad %{{.*}}, %{{.*}} : (tensor<4x8x256xbf16>, tensor<4x8x784xbf16>) -> (tensor<784x256xbf16>, tensor<256xbf16>)
// CHECK: nn.linear_weight_grad %{{.*}}, %{{.*}} transposed : (tensor<4x8x256xbf16>, tensor<4x8x784xbf16>) -> (tensor<256x784xbf16>, tensor<256xbf16>)
func.func @linear_weight_grad(%dy: tensor<4x8x256xbf16>, %x: tensor<4x8x784xbf16>) {
  %dw, %db = nn.linear_weight_grad %dy, %x : (tensor<4x8x256xbf16>, tensor<4x8x784xbf16>) -> (tensor<784x256xbf16>, tensor<256xbf16>)
  %dv, %dc = nn.linear_weight_grad %dy, %x transposed : (tensor<4x8x256xbf16>, tensor<4x8x784xbf16>) -> (tensor<256x784xbf16>, tensor<256xbf16>)
  return
}

// CHECK-LABEL: func.func @linear_cross_entropy
// CHECK: nn.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} transposed chunk 32 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> tensor<f32>
// CHECK: nn.linear_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} transposed chunk 32 : (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>)
// CHECK: nn.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} transposed chunk 32 sum classes 250 :
// CHECK: nn.linear_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} chunk 64 sum ignore_index 0 : (tensor<f32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<4x16xi32>, tensor<256xf32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<256xf32>)
func.func @linear_cross_entropy(%s: tensor<f32>, %x: tensor<4x16x64xf32>, %w: tensor<256x64xf32>, %v: tensor<64x256xf32>, %b: tensor<256xf32>, %y: tensor<4x16xi32>) {
  %l = nn.linear_cross_entropy %x, %w, %y transposed chunk 32 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> tensor<f32>
  %m, %dx, %dw = nn.linear_cross_entropy_grad %s, %x, %w, %y transposed chunk 32 : (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>)
  %p = nn.linear_cross_entropy %x, %w, %y transposed chunk 32 sum classes 250 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> tensor<f32>
  %n, %dz, %dv, %db = nn.linear_cross_entropy_grad %s, %x, %v, %y bias %b chunk 64 sum ignore_index 0 : (tensor<f32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<4x16xi32>, tensor<256xf32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<256xf32>)
  return
}

// CHECK-LABEL: func.func @matmul
// CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<8x4x16xbf16>, tensor<8x16x32xbf16>) -> tensor<8x4x32xbf16>
// CHECK: nn.matmul %{{.*}}, %{{.*}} transpose_a transpose_b : (tensor<8x4x16xbf16>, tensor<8x32x4xbf16>) -> tensor<8x16x32xbf16>
// CHECK: nn.matmul %{{.*}}, %{{.*}} transpose_a rows [4, 12] : (tensor<4x16xf32>, tensor<4x32xf32>) -> tensor<8x32xf32>
func.func @matmul(%a: tensor<8x4x16xbf16>, %b: tensor<8x16x32xbf16>, %c: tensor<8x32x4xbf16>) {
  %0 = nn.matmul %a, %b : (tensor<8x4x16xbf16>, tensor<8x16x32xbf16>) -> tensor<8x4x32xbf16>
  %1 = nn.matmul %a, %c transpose_a transpose_b : (tensor<8x4x16xbf16>, tensor<8x32x4xbf16>) -> tensor<8x16x32xbf16>
  %d = tensor.empty() : tensor<4x16xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %2 = nn.matmul %d, %e transpose_a rows [4, 12] : (tensor<4x16xf32>, tensor<4x32xf32>) -> tensor<8x32xf32>
  return
}

// CHECK-LABEL: func.func @attention
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale 1.250000e-01 :
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 :
// CHECK: nn.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 :
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 dropout 1.000000e-01 id 3 :
// CHECK: nn.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 dropout 1.000000e-01 id 3 :
// CHECK: nn.partial_attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} causal scale 1.250000e-01 dropout 1.000000e-01 id 3 :
// CHECK: nn.partial_attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} causal scale 1.250000e-01 dropout 1.000000e-01 id 3 :
func.func @attention(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x2x64xf16>, %m: tensor<2x1x16x16xf32>) {
  %o, %lse = nn.attention %q, %k, %k causal scale 0.125 : (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>) -> (tensor<2x16x4x64xf16>, tensor<2x4x16xf32>)
  %p, %lsf = nn.attention %q, %k, %k mask %m scale 0.125 : (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = nn.attention_grad %o, %q, %k, %k, %p, %lsf mask %m scale 0.125 : (tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x4x64xf16>, tensor<2x4x16xf32>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)
  %r, %lsg = nn.attention %q, %k, %k mask %m scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x4x16xf32>)
  %dq1, %dk1, %dv1 = nn.attention_grad %o, %q, %k, %k, %r, %lsg mask %m scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x4x64xf16>, tensor<2x4x16xf32>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)
  %first = arith.constant dense<2> : tensor<i32>
  %s, %lsh = nn.partial_attention %q, %k, %k, %first mask %m causal scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<i32>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x4x16xf32>)
  %dq2, %dk2, %dv2 = nn.partial_attention_grad %o, %q, %k, %k, %s, %lsh, %first mask %m causal scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf16>, tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x4x64xf16>, tensor<2x4x16xf32>, tensor<i32>, tensor<2x1x16x16xf32>) -> (tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)
  return
}

// CHECK-LABEL: func.func @rotary
// CHECK: nn.rotary %{{.*}} theta 1.000000e+04 : tensor<2x16x4x64xf32>
// CHECK: nn.rotary %{{.*}} theta 5.000000e+05 interleaved inverse : tensor<2x16x4x64xf32>
// CHECK: nn.rotary %{{.*}} theta 1.000000e+04 heads [1, 3] : tensor<2x16x4x64xf32>
func.func @rotary(%x: tensor<2x16x4x64xf32>) {
  %0 = nn.rotary %x theta 10000.0 : tensor<2x16x4x64xf32>
  %1 = nn.rotary %x theta 500000.0 interleaved inverse : tensor<2x16x4x64xf32>
  %2 = nn.rotary %x theta 10000.0 heads [1, 3] : tensor<2x16x4x64xf32>
  return
}

// Statistics of a 16-bit norm are f32, of an f64 norm f64.
// CHECK-LABEL: func.func @norms
// CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} eps 1.000000e-05 : (tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x16x64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>)
// CHECK: nn.layer_norm_grad
// CHECK: nn.rms_norm %{{.*}}, %{{.*}} eps 9.9999999999999995E-7 : (tensor<3x5xf64>, tensor<5xf64>) -> (tensor<3x5xf64>, tensor<3xf64>)
// CHECK: nn.rms_norm_grad
// CHECK: nn.add_layer_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} eps 1.000000e-05 : (tensor<4x16x64xbf16>, tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x16x64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16x64xbf16>)
// CHECK: nn.add_layer_norm_grad
// CHECK: nn.add_rms_norm %{{.*}}, %{{.*}}, %{{.*}} eps 9.9999999999999995E-7 : (tensor<3x5xf64>, tensor<3x5xf64>, tensor<5xf64>) -> (tensor<3x5xf64>, tensor<3xf64>, tensor<3x5xf64>)
// CHECK: nn.add_rms_norm_grad
func.func @norms(%x: tensor<4x16x64xbf16>, %w: tensor<64xbf16>, %z: tensor<3x5xf64>, %v: tensor<5xf64>) {
  %y, %mean, %rstd = nn.layer_norm %x, %w, %w eps 1.0e-5 : (tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x16x64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>)
  %dx, %dw, %db = nn.layer_norm_grad %y, %x, %w, %mean, %rstd : (tensor<4x16x64xbf16>, tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>)
  %r, %s = nn.rms_norm %z, %v eps 1.0e-6 : (tensor<3x5xf64>, tensor<5xf64>) -> (tensor<3x5xf64>, tensor<3xf64>)
  %dz, %dv = nn.rms_norm_grad %r, %z, %v, %s : (tensor<3x5xf64>, tensor<3x5xf64>, tensor<5xf64>, tensor<3xf64>) -> (tensor<3x5xf64>, tensor<5xf64>)
  %0:4 = nn.add_layer_norm %x, %y, %w, %w eps 1.0e-5 : (tensor<4x16x64xbf16>, tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>) -> (tensor<4x16x64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16x64xbf16>)
  %1:3 = nn.add_layer_norm_grad %y, %y, %x, %w, %mean, %rstd : (tensor<4x16x64xbf16>, tensor<4x16x64xbf16>, tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<4x16x64xbf16>, tensor<64xbf16>, tensor<64xbf16>)
  %2:3 = nn.add_rms_norm %z, %r, %v eps 1.0e-6 : (tensor<3x5xf64>, tensor<3x5xf64>, tensor<5xf64>) -> (tensor<3x5xf64>, tensor<3xf64>, tensor<3x5xf64>)
  %3:2 = nn.add_rms_norm_grad %r, %r, %z, %v, %s : (tensor<3x5xf64>, tensor<3x5xf64>, tensor<3x5xf64>, tensor<5xf64>, tensor<3xf64>) -> (tensor<3x5xf64>, tensor<5xf64>)
  return
}

// CHECK-LABEL: func.func @activations
// CHECK: nn.softmax %{{.*}} : tensor<4x16xf32>
// CHECK: nn.softmax_grad %{{.*}}, %{{.*}} : tensor<4x16xf32>
// CHECK: nn.gelu tanh %{{.*}} : tensor<4x16xf32>
// CHECK: nn.gelu_grad exact %{{.*}}, %{{.*}} : tensor<4x16xf32>
// CHECK: nn.silu %{{.*}} : tensor<4x16xf32>
// CHECK: nn.stop_gradient %{{.*}} : tensor<4x16xf32>
// CHECK: nn.silu_grad %{{.*}}, %{{.*}} : tensor<4x16xf32>
// CHECK: nn.silu_mul %{{.*}}, %{{.*}} : tensor<4x16xf32>
// CHECK: %{{.*}}, %{{.*}} = nn.silu_mul_grad %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x16xf32>
// CHECK: nn.dropout %{{.*}} p 1.000000e-01 id 3 : tensor<4x16xf32>
// CHECK: nn.partial_dropout %{{.*}}, %{{.*}} dim 1 of 32 p 1.000000e-01 id 3 : (tensor<4x16xf32>, tensor<i32>) -> tensor<4x16xf32>
// SPACES:    %2 = nn.gelu tanh %arg0 : tensor<4x16xf32>
// GENERIC: "nn.gelu"(%{{.*}}) <{form = #nn<gelu_form tanh>}>
func.func @activations(%x: tensor<4x16xf32>) {
  %0 = nn.softmax %x : tensor<4x16xf32>
  %1 = nn.softmax_grad %x, %0 : tensor<4x16xf32>
  %2 = nn.gelu tanh %x : tensor<4x16xf32>
  %3 = nn.gelu_grad exact %x, %2 : tensor<4x16xf32>
  %4 = nn.silu %x : tensor<4x16xf32>
  %stopped = nn.stop_gradient %x : tensor<4x16xf32>
  %5 = nn.silu_grad %x, %4 : tensor<4x16xf32>
  %6 = nn.silu_mul %x, %5 : tensor<4x16xf32>
  %7, %8 = nn.silu_mul_grad %6, %x, %5 : tensor<4x16xf32>
  %9 = nn.dropout %x p 0.1 id 3 : tensor<4x16xf32>
  %first = arith.constant dense<16> : tensor<i32>
  %part = nn.partial_dropout %x, %first dim 1 of 32 p 0.1 id 3 : (tensor<4x16xf32>, tensor<i32>) -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: func.func @tokens
// CHECK: nn.embedding %{{.*}}, %{{.*}} : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
// CHECK: nn.embedding %{{.*}}, %{{.*}} num_embeddings 250 : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
// CHECK: nn.embedding_grad %{{.*}}, %{{.*}} : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<256x64xf32>
// CHECK: nn.embedding_grad %{{.*}}, %{{.*}} init %{{.*}} : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<256x64xf32>
// CHECK: nn.embedding_grad %{{.*}}, %{{.*}} rows [128, 256] : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<128x64xf32>
func.func @tokens(%ids: tensor<4x16xi32>, %table: tensor<256x64xf32>) {
  %e = nn.embedding %ids, %table : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %p = nn.embedding %ids, %table num_embeddings 250 : (tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<4x16x64xf32>
  %t = nn.embedding_grad %e, %ids : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<256x64xf32>
  %u = nn.embedding_grad %e, %ids init %t : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %v = nn.embedding_grad %e, %ids rows [128, 256] : (tensor<4x16x64xf32>, tensor<4x16xi32>) -> tensor<128x64xf32>
  return
}

// CHECK-LABEL: func.func @partial_embedding
// CHECK: nn.partial_embedding %{{.*}}, %{{.*}}, %{{.*}} num_embeddings 500 : (tensor<4x16xi32>, tensor<256x64xf32>, tensor<i32>) -> tensor<4x16x64xf32>
// CHECK: nn.partial_embedding_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<i32>) -> tensor<256x64xf32>
// CHECK: nn.partial_embedding_grad %{{.*}}, %{{.*}}, %{{.*}} init %{{.*}} rows [0, 128] : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<i32>, tensor<128x64xf32>) -> tensor<128x64xf32>
func.func @partial_embedding(%ids: tensor<4x16xi32>, %table: tensor<256x64xf32>, %first: tensor<i32>, %init: tensor<128x64xf32>) {
  %e = nn.partial_embedding %ids, %table, %first num_embeddings 500 : (tensor<4x16xi32>, tensor<256x64xf32>, tensor<i32>) -> tensor<4x16x64xf32>
  %t = nn.partial_embedding_grad %e, %ids, %first : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<i32>) -> tensor<256x64xf32>
  %u = nn.partial_embedding_grad %e, %ids, %first init %init rows [0, 128] : (tensor<4x16x64xf32>, tensor<4x16xi32>, tensor<i32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  return
}

// CHECK-LABEL: func.func @partial_cross_entropy
// CHECK: nn.partial_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} sum classes 500 : (tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
// CHECK: nn.partial_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} sum ignore_index 0 classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>) -> tensor<4x16x256xbf16>
// CHECK: nn.linear_partial_cross_entropy %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} transposed chunk 32 sum classes 500 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
// CHECK: nn.linear_partial_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} chunk 64 sum ignore_index 0 classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>, tensor<256xf32>) -> (tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<256xf32>)
func.func @partial_cross_entropy(%l: tensor<4x16x256xbf16>, %y: tensor<4x16xi32>, %first: tensor<i32>, %x: tensor<4x16x64xf32>, %w: tensor<256x64xf32>, %v: tensor<64x256xf32>, %b: tensor<256xf32>) {
  %loss, %lse = nn.partial_cross_entropy %l, %y, %first sum classes 500 : (tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
  %dl = nn.partial_cross_entropy_grad %loss, %lse, %l, %y, %first, %lse sum ignore_index 0 classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>) -> tensor<4x16x256xbf16>
  %m, %n = nn.linear_partial_cross_entropy %x, %w, %y, %first transposed chunk 32 sum classes 500 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
  %dx, %dv, %db = nn.linear_partial_cross_entropy_grad %m, %n, %x, %v, %y, %first, %n bias %b chunk 64 sum ignore_index 0 classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>, tensor<256xf32>) -> (tensor<4x16x64xf32>, tensor<64x256xf32>, tensor<256xf32>)
  return
}

// CHECK-LABEL: func.func @cross_entropy
// CHECK: nn.cross_entropy %{{[a-z0-9]*}}, %{{[a-z0-9]*}} : (tensor<4x16x256xbf16>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
// CHECK: nn.cross_entropy %{{.*}}, %{{.*}} ignore_index 0 :
// CHECK: nn.cross_entropy %{{.*}}, %{{.*}} sum ignore_index 0 classes 250 :
// CHECK: nn.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} sum classes 250 :
// CHECK: nn.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} ignore_index 0 :
func.func @cross_entropy(%l: tensor<4x16x256xbf16>, %y: tensor<4x16xi32>) {
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x16x256xbf16>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
  %lost, %lsf = nn.cross_entropy %l, %y ignore_index 0 : (tensor<4x16x256xbf16>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
  %lust, %lsg = nn.cross_entropy %l, %y sum ignore_index 0 classes 250 : (tensor<4x16x256xbf16>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16xf32>)
  %dm = nn.cross_entropy_grad %lust, %l, %y, %lsg sum classes 250 : (tensor<f32>, tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<4x16xf32>) -> tensor<4x16x256xbf16>
  %dl = nn.cross_entropy_grad %lost, %l, %y, %lsf ignore_index 0 : (tensor<f32>, tensor<4x16x256xbf16>, tensor<4x16xi32>, tensor<4x16xf32>) -> tensor<4x16x256xbf16>
  return
}

// CHECK-LABEL: func.func @shapes
// CHECK: nn.broadcast %{{.*}} dims [2] : (tensor<64xf32>) -> tensor<4x16x64xf32>
// CHECK: nn.reduce sum %{{.*}} dims [0, 1] : (tensor<4x16x64xf32>) -> tensor<64xf32>
// CHECK: nn.reduce mean %{{.*}} dims [0, 1, 2] : (tensor<4x16x64xf32>) -> tensor<f32>
// CHECK: nn.transpose %{{.*}} permutation [0, 2, 1] : (tensor<4x16x64xf32>) -> tensor<4x64x16xf32>
// CHECK: nn.split %{{.*}} dim 2 sizes [48, 16] : (tensor<4x16x64xf32>) -> (tensor<4x16x48xf32>, tensor<4x16x16xf32>)
// SPACES:    %1 = nn.reduce sum %0 dims [0, 1] : (tensor<4x16x64xf32>) -> tensor<64xf32>
// GENERIC: "nn.reduce"(%{{.*}}) <{dims = array<i64: 0, 1>, kind = #nn<reduction sum>}>
func.func @shapes(%x: tensor<64xf32>) {
  %0 = nn.broadcast %x dims [2] : (tensor<64xf32>) -> tensor<4x16x64xf32>
  %1 = nn.reduce sum %0 dims [0, 1] : (tensor<4x16x64xf32>) -> tensor<64xf32>
  %2 = nn.reduce mean %0 dims [0, 1, 2] : (tensor<4x16x64xf32>) -> tensor<f32>
  %3 = nn.transpose %0 permutation [0, 2, 1] : (tensor<4x16x64xf32>) -> tensor<4x64x16xf32>
  %4:2 = nn.split %0 dim 2 sizes [48, 16] : (tensor<4x16x64xf32>) -> (tensor<4x16x48xf32>, tensor<4x16x16xf32>)
  return
}
