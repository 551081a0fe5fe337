// GPT-2: 4 layers of width 256, 4 heads, vocabulary 256, sequences of 256,
// micro-batches of 4. Learned positions, biases everywhere, GELU by tanh, layer
// norm before each block; the output projection is the token embedding.
//
// Made by: generate.py gpt

!tokens = tensor<4x256xi32>
!residual = tensor<4x256x256xf32>
!rows = tensor<4x256xf32>
!heads = tensor<4x256x4x64xf32>
!lse = tensor<4x4x256xf32>
!vector = tensor<256xf32>
!table = tensor<256x256xf32>
!places = tensor<256x256xf32>
!qkv = tensor<4x256x768xf32>
!w256x768 = tensor<256x768xf32>
!w768 = tensor<768xf32>
!w256x256 = tensor<256x256xf32>
!wide = tensor<4x256x1024xf32>
!w256x1024 = tensor<256x1024xf32>
!w1024 = tensor<1024xf32>
!w1024x256 = tensor<1024x256xf32>
!logits = tensor<4x256x256xf32>

zero.parameter @wte.weight : !table = #zero.normal<std = 0.02>
zero.parameter @wpe.weight : !places = #zero.normal<std = 0.02>
zero.parameter @h.0.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_attn.weight : !w256x768 = #zero.normal<std = 0.02>
zero.parameter @h.0.attn.c_attn.bias : !w768 = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_proj.weight : !w256x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.0.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_fc.weight : !w256x1024 = #zero.normal<std = 0.02>
zero.parameter @h.0.mlp.c_fc.bias : !w1024 = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_proj.weight : !w1024x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.0.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_attn.weight : !w256x768 = #zero.normal<std = 0.02>
zero.parameter @h.1.attn.c_attn.bias : !w768 = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_proj.weight : !w256x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.1.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_fc.weight : !w256x1024 = #zero.normal<std = 0.02>
zero.parameter @h.1.mlp.c_fc.bias : !w1024 = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_proj.weight : !w1024x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.1.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.2.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.attn.c_attn.weight : !w256x768 = #zero.normal<std = 0.02>
zero.parameter @h.2.attn.c_attn.bias : !w768 = #zero.zeros group "no_decay"
zero.parameter @h.2.attn.c_proj.weight : !w256x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.2.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.2.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.mlp.c_fc.weight : !w256x1024 = #zero.normal<std = 0.02>
zero.parameter @h.2.mlp.c_fc.bias : !w1024 = #zero.zeros group "no_decay"
zero.parameter @h.2.mlp.c_proj.weight : !w1024x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.2.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.3.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.attn.c_attn.weight : !w256x768 = #zero.normal<std = 0.02>
zero.parameter @h.3.attn.c_attn.bias : !w768 = #zero.zeros group "no_decay"
zero.parameter @h.3.attn.c_proj.weight : !w256x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.3.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.3.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.mlp.c_fc.weight : !w256x1024 = #zero.normal<std = 0.02>
zero.parameter @h.3.mlp.c_fc.bias : !w1024 = #zero.zeros group "no_decay"
zero.parameter @h.3.mlp.c_proj.weight : !w1024x256 = #zero.normal<std = 0.0070710678118654745>
zero.parameter @h.3.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
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
  %h0_qkv_w = zero.load @h.0.attn.c_attn.weight : !w256x768
  %h0_qkv_b = zero.load @h.0.attn.c_attn.bias : !w768
  %h0_qkv = nn.linear %h0_n1, %h0_qkv_w bias %h0_qkv_b : (!residual, !w256x768, !w768) -> !qkv
  %h0_q, %h0_k, %h0_v = nn.split %h0_qkv dim 2 sizes [256, 256, 256] : (!qkv) -> (!residual, !residual, !residual)
  %h0_qh = tensor.expand_shape %h0_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h0_kh = tensor.expand_shape %h0_k [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h0_vh = tensor.expand_shape %h0_v [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h0_att, %h0_lse = nn.attention %h0_qh, %h0_kh, %h0_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h0_cat = tensor.collapse_shape %h0_att [[0], [1], [2, 3]] : !heads into !residual
  %h0_proj_w = zero.load @h.0.attn.c_proj.weight : !w256x256
  %h0_proj_b = zero.load @h.0.attn.c_proj.bias : !vector
  %h0_proj = nn.linear %h0_cat, %h0_proj_w bias %h0_proj_b : (!residual, !w256x256, !vector) -> !residual
  %h0_x1 = arith.addf %x, %h0_proj : !residual

  // layer 0: perceptron
  %h0_n2_w = zero.load @h.0.ln_2.weight : !vector
  %h0_n2_b = zero.load @h.0.ln_2.bias : !vector
  %h0_n2, %h0_n2_mean, %h0_n2_rstd = nn.layer_norm %h0_x1, %h0_n2_w, %h0_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h0_fc_w = zero.load @h.0.mlp.c_fc.weight : !w256x1024
  %h0_fc_b = zero.load @h.0.mlp.c_fc.bias : !w1024
  %h0_fc = nn.linear %h0_n2, %h0_fc_w bias %h0_fc_b : (!residual, !w256x1024, !w1024) -> !wide
  %h0_act = nn.gelu tanh %h0_fc : !wide
  %h0_out_w = zero.load @h.0.mlp.c_proj.weight : !w1024x256
  %h0_out_b = zero.load @h.0.mlp.c_proj.bias : !vector
  %h0_out = nn.linear %h0_act, %h0_out_w bias %h0_out_b : (!wide, !w1024x256, !vector) -> !residual
  %h0_x2 = arith.addf %h0_x1, %h0_out : !residual

  // layer 1: attention
  %h1_n1_w = zero.load @h.1.ln_1.weight : !vector
  %h1_n1_b = zero.load @h.1.ln_1.bias : !vector
  %h1_n1, %h1_n1_mean, %h1_n1_rstd = nn.layer_norm %h0_x2, %h1_n1_w, %h1_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_qkv_w = zero.load @h.1.attn.c_attn.weight : !w256x768
  %h1_qkv_b = zero.load @h.1.attn.c_attn.bias : !w768
  %h1_qkv = nn.linear %h1_n1, %h1_qkv_w bias %h1_qkv_b : (!residual, !w256x768, !w768) -> !qkv
  %h1_q, %h1_k, %h1_v = nn.split %h1_qkv dim 2 sizes [256, 256, 256] : (!qkv) -> (!residual, !residual, !residual)
  %h1_qh = tensor.expand_shape %h1_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h1_kh = tensor.expand_shape %h1_k [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h1_vh = tensor.expand_shape %h1_v [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h1_att, %h1_lse = nn.attention %h1_qh, %h1_kh, %h1_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h1_cat = tensor.collapse_shape %h1_att [[0], [1], [2, 3]] : !heads into !residual
  %h1_proj_w = zero.load @h.1.attn.c_proj.weight : !w256x256
  %h1_proj_b = zero.load @h.1.attn.c_proj.bias : !vector
  %h1_proj = nn.linear %h1_cat, %h1_proj_w bias %h1_proj_b : (!residual, !w256x256, !vector) -> !residual
  %h1_x1 = arith.addf %h0_x2, %h1_proj : !residual

  // layer 1: perceptron
  %h1_n2_w = zero.load @h.1.ln_2.weight : !vector
  %h1_n2_b = zero.load @h.1.ln_2.bias : !vector
  %h1_n2, %h1_n2_mean, %h1_n2_rstd = nn.layer_norm %h1_x1, %h1_n2_w, %h1_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_fc_w = zero.load @h.1.mlp.c_fc.weight : !w256x1024
  %h1_fc_b = zero.load @h.1.mlp.c_fc.bias : !w1024
  %h1_fc = nn.linear %h1_n2, %h1_fc_w bias %h1_fc_b : (!residual, !w256x1024, !w1024) -> !wide
  %h1_act = nn.gelu tanh %h1_fc : !wide
  %h1_out_w = zero.load @h.1.mlp.c_proj.weight : !w1024x256
  %h1_out_b = zero.load @h.1.mlp.c_proj.bias : !vector
  %h1_out = nn.linear %h1_act, %h1_out_w bias %h1_out_b : (!wide, !w1024x256, !vector) -> !residual
  %h1_x2 = arith.addf %h1_x1, %h1_out : !residual

  // layer 2: attention
  %h2_n1_w = zero.load @h.2.ln_1.weight : !vector
  %h2_n1_b = zero.load @h.2.ln_1.bias : !vector
  %h2_n1, %h2_n1_mean, %h2_n1_rstd = nn.layer_norm %h1_x2, %h2_n1_w, %h2_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h2_qkv_w = zero.load @h.2.attn.c_attn.weight : !w256x768
  %h2_qkv_b = zero.load @h.2.attn.c_attn.bias : !w768
  %h2_qkv = nn.linear %h2_n1, %h2_qkv_w bias %h2_qkv_b : (!residual, !w256x768, !w768) -> !qkv
  %h2_q, %h2_k, %h2_v = nn.split %h2_qkv dim 2 sizes [256, 256, 256] : (!qkv) -> (!residual, !residual, !residual)
  %h2_qh = tensor.expand_shape %h2_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h2_kh = tensor.expand_shape %h2_k [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h2_vh = tensor.expand_shape %h2_v [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h2_att, %h2_lse = nn.attention %h2_qh, %h2_kh, %h2_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h2_cat = tensor.collapse_shape %h2_att [[0], [1], [2, 3]] : !heads into !residual
  %h2_proj_w = zero.load @h.2.attn.c_proj.weight : !w256x256
  %h2_proj_b = zero.load @h.2.attn.c_proj.bias : !vector
  %h2_proj = nn.linear %h2_cat, %h2_proj_w bias %h2_proj_b : (!residual, !w256x256, !vector) -> !residual
  %h2_x1 = arith.addf %h1_x2, %h2_proj : !residual

  // layer 2: perceptron
  %h2_n2_w = zero.load @h.2.ln_2.weight : !vector
  %h2_n2_b = zero.load @h.2.ln_2.bias : !vector
  %h2_n2, %h2_n2_mean, %h2_n2_rstd = nn.layer_norm %h2_x1, %h2_n2_w, %h2_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h2_fc_w = zero.load @h.2.mlp.c_fc.weight : !w256x1024
  %h2_fc_b = zero.load @h.2.mlp.c_fc.bias : !w1024
  %h2_fc = nn.linear %h2_n2, %h2_fc_w bias %h2_fc_b : (!residual, !w256x1024, !w1024) -> !wide
  %h2_act = nn.gelu tanh %h2_fc : !wide
  %h2_out_w = zero.load @h.2.mlp.c_proj.weight : !w1024x256
  %h2_out_b = zero.load @h.2.mlp.c_proj.bias : !vector
  %h2_out = nn.linear %h2_act, %h2_out_w bias %h2_out_b : (!wide, !w1024x256, !vector) -> !residual
  %h2_x2 = arith.addf %h2_x1, %h2_out : !residual

  // layer 3: attention
  %h3_n1_w = zero.load @h.3.ln_1.weight : !vector
  %h3_n1_b = zero.load @h.3.ln_1.bias : !vector
  %h3_n1, %h3_n1_mean, %h3_n1_rstd = nn.layer_norm %h2_x2, %h3_n1_w, %h3_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h3_qkv_w = zero.load @h.3.attn.c_attn.weight : !w256x768
  %h3_qkv_b = zero.load @h.3.attn.c_attn.bias : !w768
  %h3_qkv = nn.linear %h3_n1, %h3_qkv_w bias %h3_qkv_b : (!residual, !w256x768, !w768) -> !qkv
  %h3_q, %h3_k, %h3_v = nn.split %h3_qkv dim 2 sizes [256, 256, 256] : (!qkv) -> (!residual, !residual, !residual)
  %h3_qh = tensor.expand_shape %h3_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h3_kh = tensor.expand_shape %h3_k [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h3_vh = tensor.expand_shape %h3_v [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %h3_att, %h3_lse = nn.attention %h3_qh, %h3_kh, %h3_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h3_cat = tensor.collapse_shape %h3_att [[0], [1], [2, 3]] : !heads into !residual
  %h3_proj_w = zero.load @h.3.attn.c_proj.weight : !w256x256
  %h3_proj_b = zero.load @h.3.attn.c_proj.bias : !vector
  %h3_proj = nn.linear %h3_cat, %h3_proj_w bias %h3_proj_b : (!residual, !w256x256, !vector) -> !residual
  %h3_x1 = arith.addf %h2_x2, %h3_proj : !residual

  // layer 3: perceptron
  %h3_n2_w = zero.load @h.3.ln_2.weight : !vector
  %h3_n2_b = zero.load @h.3.ln_2.bias : !vector
  %h3_n2, %h3_n2_mean, %h3_n2_rstd = nn.layer_norm %h3_x1, %h3_n2_w, %h3_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h3_fc_w = zero.load @h.3.mlp.c_fc.weight : !w256x1024
  %h3_fc_b = zero.load @h.3.mlp.c_fc.bias : !w1024
  %h3_fc = nn.linear %h3_n2, %h3_fc_w bias %h3_fc_b : (!residual, !w256x1024, !w1024) -> !wide
  %h3_act = nn.gelu tanh %h3_fc : !wide
  %h3_out_w = zero.load @h.3.mlp.c_proj.weight : !w1024x256
  %h3_out_b = zero.load @h.3.mlp.c_proj.bias : !vector
  %h3_out = nn.linear %h3_act, %h3_out_w bias %h3_out_b : (!wide, !w1024x256, !vector) -> !residual
  %h3_x2 = arith.addf %h3_x1, %h3_out : !residual

  // next token
  %nf_w = zero.load @ln_f.weight : !vector
  %nf_b = zero.load @ln_f.bias : !vector
  %nf, %nf_mean, %nf_rstd = nn.layer_norm %h3_x2, %nf_w, %nf_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %head = zero.load @wte.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
