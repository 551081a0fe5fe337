// What one of 2 ranks of an axis `tensor` computes of tiny-gpt.mlir where the vocabulary
// is whole, without its exchanges: 2 heads of 4, half of the width of a perceptron.
// Written by hand; values mean nothing, sizes do.

!tokens = tensor<2x16xi32>
!residual = tensor<2x16x32xf32>
!part = tensor<2x16x16xf32>
!rows = tensor<2x16xf32>
!heads = tensor<2x16x2x8xf32>
!lse = tensor<2x2x16xf32>
!vector = tensor<32xf32>
!table = tensor<256x32xf32>
!places = tensor<16x32xf32>
!qkv = tensor<2x16x48xf32>
!w32x48 = tensor<32x48xf32>
!w48 = tensor<48xf32>
!w16x32 = tensor<16x32xf32>
!wide = tensor<2x16x64xf32>
!w32x64 = tensor<32x64xf32>
!w64 = tensor<64xf32>
!w64x32 = tensor<64x32xf32>
!logits = tensor<2x16x256xf32>

zero.parameter @wte.weight : !table = #zero.normal<std = 0.02>
zero.parameter @wpe.weight : !places = #zero.normal<std = 0.02> frozen
zero.parameter @h.0.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_attn.weight : !w32x48 = #zero.normal<std = 0.02>
zero.parameter @h.0.attn.c_attn.bias : !w48 = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_proj.weight : !w16x32 = #zero.normal<std = 0.01>
zero.parameter @h.0.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_fc.weight : !w32x64 = #zero.normal<std = 0.02>
zero.parameter @h.0.mlp.c_fc.bias : !w64 = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_proj.weight : !w64x32 = #zero.normal<std = 0.01>
zero.parameter @h.0.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_attn.weight : !w32x48 = #zero.normal<std = 0.02>
zero.parameter @h.1.attn.c_attn.bias : !w48 = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_proj.weight : !w16x32 = #zero.normal<std = 0.01>
zero.parameter @h.1.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_fc.bias : !w64 = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_proj.weight : !w64x32 = #zero.normal<std = 0.01>
zero.parameter @h.1.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @ln_f.weight : !vector = #zero.ones group "no_decay"
zero.parameter @ln_f.bias : !vector = #zero.zeros group "no_decay"

zero.step @train(%tokens: !tokens {zero.input = "tokens"}, %targets: !tokens {zero.input = "targets"}) {
  // tokens and positions
  %wte = zero.load @wte.weight : !table
  %wpe = zero.load @wpe.weight : !places
  %token = nn.embedding %tokens, %wte : (!tokens, !table) -> !residual
  %place = nn.broadcast %wpe dims [1, 2] : (!places) -> !residual
  %x = arith.addf %token, %place : !residual

  // layer 0: attention
  %h0_n1_w = zero.load @h.0.ln_1.weight : !vector
  %h0_n1_b = zero.load @h.0.ln_1.bias : !vector
  %h0_n1, %h0_n1_mean, %h0_n1_rstd = nn.layer_norm %x, %h0_n1_w, %h0_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h0_qkv_w = zero.load @h.0.attn.c_attn.weight : !w32x48
  %h0_qkv_b = zero.load @h.0.attn.c_attn.bias : !w48
  %h0_qkv = nn.linear %h0_n1, %h0_qkv_w bias %h0_qkv_b : (!residual, !w32x48, !w48) -> !qkv
  %h0_q, %h0_k, %h0_v = nn.split %h0_qkv dim 2 sizes [16, 16, 16] : (!qkv) -> (!part, !part, !part)
  %h0_qh = tensor.expand_shape %h0_q [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h0_kh = tensor.expand_shape %h0_k [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h0_vh = tensor.expand_shape %h0_v [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h0_att, %h0_lse = nn.attention %h0_qh, %h0_kh, %h0_vh causal scale 0.35355339059327373 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h0_cat = tensor.collapse_shape %h0_att [[0], [1], [2, 3]] : !heads into !part
  %h0_proj_w = zero.load @h.0.attn.c_proj.weight : !w16x32
  %h0_proj_b = zero.load @h.0.attn.c_proj.bias : !vector
  %h0_proj = nn.linear %h0_cat, %h0_proj_w bias %h0_proj_b : (!part, !w16x32, !vector) -> !residual
  %h0_x1 = arith.addf %x, %h0_proj : !residual

  // layer 0: perceptron
  %h0_n2_w = zero.load @h.0.ln_2.weight : !vector
  %h0_n2_b = zero.load @h.0.ln_2.bias : !vector
  %h0_n2, %h0_n2_mean, %h0_n2_rstd = nn.layer_norm %h0_x1, %h0_n2_w, %h0_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h0_fc_w = zero.load @h.0.mlp.c_fc.weight : !w32x64
  %h0_fc_b = zero.load @h.0.mlp.c_fc.bias : !w64
  %h0_fc = nn.linear %h0_n2, %h0_fc_w bias %h0_fc_b : (!residual, !w32x64, !w64) -> !wide
  %h0_act = nn.gelu tanh %h0_fc : !wide
  %h0_out_w = zero.load @h.0.mlp.c_proj.weight : !w64x32
  %h0_out_b = zero.load @h.0.mlp.c_proj.bias : !vector
  %h0_out = nn.linear %h0_act, %h0_out_w bias %h0_out_b : (!wide, !w64x32, !vector) -> !residual
  %h0_x2 = arith.addf %h0_x1, %h0_out : !residual

  // layer 1: attention
  %h1_n1_w = zero.load @h.1.ln_1.weight : !vector
  %h1_n1_b = zero.load @h.1.ln_1.bias : !vector
  %h1_n1, %h1_n1_mean, %h1_n1_rstd = nn.layer_norm %h0_x2, %h1_n1_w, %h1_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_qkv_w = zero.load @h.1.attn.c_attn.weight : !w32x48
  %h1_qkv_b = zero.load @h.1.attn.c_attn.bias : !w48
  %h1_qkv = nn.linear %h1_n1, %h1_qkv_w bias %h1_qkv_b : (!residual, !w32x48, !w48) -> !qkv
  %h1_q, %h1_k, %h1_v = nn.split %h1_qkv dim 2 sizes [16, 16, 16] : (!qkv) -> (!part, !part, !part)
  %h1_qh = tensor.expand_shape %h1_q [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h1_kh = tensor.expand_shape %h1_k [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h1_vh = tensor.expand_shape %h1_v [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %h1_att, %h1_lse = nn.attention %h1_qh, %h1_kh, %h1_vh causal scale 0.35355339059327373 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h1_cat = tensor.collapse_shape %h1_att [[0], [1], [2, 3]] : !heads into !part
  %h1_proj_w = zero.load @h.1.attn.c_proj.weight : !w16x32
  %h1_proj_b = zero.load @h.1.attn.c_proj.bias : !vector
  %h1_proj = nn.linear %h1_cat, %h1_proj_w bias %h1_proj_b : (!part, !w16x32, !vector) -> !residual
  %h1_x1 = arith.addf %h0_x2, %h1_proj : !residual

  // layer 1: perceptron
  %h1_n2_w = zero.load @h.1.ln_2.weight : !vector
  %h1_n2_b = zero.load @h.1.ln_2.bias : !vector
  %h1_n2, %h1_n2_mean, %h1_n2_rstd = nn.layer_norm %h1_x1, %h1_n2_w, %h1_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_fc_w = zero.load @h.0.mlp.c_fc.weight : !w32x64
  %h1_fc_b = zero.load @h.1.mlp.c_fc.bias : !w64
  %h1_fc = nn.linear %h1_n2, %h1_fc_w bias %h1_fc_b : (!residual, !w32x64, !w64) -> !wide
  %h1_act = nn.gelu tanh %h1_fc : !wide
  %h1_out_w = zero.load @h.1.mlp.c_proj.weight : !w64x32
  %h1_out_b = zero.load @h.1.mlp.c_proj.bias : !vector
  %h1_out = nn.linear %h1_act, %h1_out_w bias %h1_out_b : (!wide, !w64x32, !vector) -> !residual
  %h1_x2 = arith.addf %h1_x1, %h1_out : !residual

  // next token
  %nf_w = zero.load @ln_f.weight : !vector
  %nf_b = zero.load @ln_f.bias : !vector
  %nf, %nf_mean, %nf_rstd = nn.layer_norm %h1_x2, %nf_w, %nf_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %head = zero.load @wte.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
