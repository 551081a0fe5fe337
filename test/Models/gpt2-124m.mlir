// GPT-2: 12 layers of width 768, 12 heads, vocabulary 50304, sequences of 256,
// micro-batches of 1. Learned positions, biases everywhere, GELU by tanh, layer
// norm before each block; the output projection is the token embedding.
//
// Made by: generate.py gpt --layers 12 --width 768 --heads 12 --vocabulary 50304 --micro-batch 1

!tokens = tensor<1x256xi32>
!residual = tensor<1x256x768xf32>
!rows = tensor<1x256xf32>
!heads = tensor<1x256x12x64xf32>
!lse = tensor<1x12x256xf32>
!vector = tensor<768xf32>
!table = tensor<50304x768xf32>
!places = tensor<256x768xf32>
!qkv = tensor<1x256x2304xf32>
!w768x2304 = tensor<768x2304xf32>
!w2304 = tensor<2304xf32>
!w768x768 = tensor<768x768xf32>
!wide = tensor<1x256x3072xf32>
!w768x3072 = tensor<768x3072xf32>
!w3072 = tensor<3072xf32>
!w3072x768 = tensor<3072x768xf32>
!logits = tensor<1x256x50304xf32>

zero.parameter @wte.weight : !table = #zero.normal<std = 0.02>
zero.parameter @wpe.weight : !places = #zero.normal<std = 0.02>
zero.parameter @h.0.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.0.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.0.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.0.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.0.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.0.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.0.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.0.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.1.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.1.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.1.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.1.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.1.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.1.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.1.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.2.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.2.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.2.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.2.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.2.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.2.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.2.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.2.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.2.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.3.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.3.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.3.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.3.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.3.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.3.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.3.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.3.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.3.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.4.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.4.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.4.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.4.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.4.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.4.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.4.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.4.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.4.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.4.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.4.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.4.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.5.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.5.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.5.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.5.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.5.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.5.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.5.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.5.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.5.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.5.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.5.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.5.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.6.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.6.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.6.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.6.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.6.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.6.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.6.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.6.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.6.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.6.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.6.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.6.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.7.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.7.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.7.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.7.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.7.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.7.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.7.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.7.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.7.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.7.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.7.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.7.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.8.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.8.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.8.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.8.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.8.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.8.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.8.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.8.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.8.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.8.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.8.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.8.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.9.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.9.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.9.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.9.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.9.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.9.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.9.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.9.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.9.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.9.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.9.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.9.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.10.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.10.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.10.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.10.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.10.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.10.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.10.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.10.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.10.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.10.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.10.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.10.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.11.ln_1.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.11.ln_1.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.11.attn.c_attn.weight : !w768x2304 = #zero.normal<std = 0.02>
zero.parameter @h.11.attn.c_attn.bias : !w2304 = #zero.zeros group "no_decay"
zero.parameter @h.11.attn.c_proj.weight : !w768x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.11.attn.c_proj.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.11.ln_2.weight : !vector = #zero.ones group "no_decay"
zero.parameter @h.11.ln_2.bias : !vector = #zero.zeros group "no_decay"
zero.parameter @h.11.mlp.c_fc.weight : !w768x3072 = #zero.normal<std = 0.02>
zero.parameter @h.11.mlp.c_fc.bias : !w3072 = #zero.zeros group "no_decay"
zero.parameter @h.11.mlp.c_proj.weight : !w3072x768 = #zero.normal<std = 0.004082482904638631>
zero.parameter @h.11.mlp.c_proj.bias : !vector = #zero.zeros group "no_decay"
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
  %h0_qkv_w = zero.load @h.0.attn.c_attn.weight : !w768x2304
  %h0_qkv_b = zero.load @h.0.attn.c_attn.bias : !w2304
  %h0_qkv = nn.linear %h0_n1, %h0_qkv_w bias %h0_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h0_q, %h0_k, %h0_v = nn.split %h0_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h0_qh = tensor.expand_shape %h0_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h0_kh = tensor.expand_shape %h0_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h0_vh = tensor.expand_shape %h0_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h0_att, %h0_lse = nn.attention %h0_qh, %h0_kh, %h0_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h0_cat = tensor.collapse_shape %h0_att [[0], [1], [2, 3]] : !heads into !residual
  %h0_proj_w = zero.load @h.0.attn.c_proj.weight : !w768x768
  %h0_proj_b = zero.load @h.0.attn.c_proj.bias : !vector
  %h0_proj = nn.linear %h0_cat, %h0_proj_w bias %h0_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h0_x1 = arith.addf %x, %h0_proj : !residual

  // layer 0: perceptron
  %h0_n2_w = zero.load @h.0.ln_2.weight : !vector
  %h0_n2_b = zero.load @h.0.ln_2.bias : !vector
  %h0_n2, %h0_n2_mean, %h0_n2_rstd = nn.layer_norm %h0_x1, %h0_n2_w, %h0_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h0_fc_w = zero.load @h.0.mlp.c_fc.weight : !w768x3072
  %h0_fc_b = zero.load @h.0.mlp.c_fc.bias : !w3072
  %h0_fc = nn.linear %h0_n2, %h0_fc_w bias %h0_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h0_act = nn.gelu tanh %h0_fc : !wide
  %h0_out_w = zero.load @h.0.mlp.c_proj.weight : !w3072x768
  %h0_out_b = zero.load @h.0.mlp.c_proj.bias : !vector
  %h0_out = nn.linear %h0_act, %h0_out_w bias %h0_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h0_x2 = arith.addf %h0_x1, %h0_out : !residual

  // layer 1: attention
  %h1_n1_w = zero.load @h.1.ln_1.weight : !vector
  %h1_n1_b = zero.load @h.1.ln_1.bias : !vector
  %h1_n1, %h1_n1_mean, %h1_n1_rstd = nn.layer_norm %h0_x2, %h1_n1_w, %h1_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_qkv_w = zero.load @h.1.attn.c_attn.weight : !w768x2304
  %h1_qkv_b = zero.load @h.1.attn.c_attn.bias : !w2304
  %h1_qkv = nn.linear %h1_n1, %h1_qkv_w bias %h1_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h1_q, %h1_k, %h1_v = nn.split %h1_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h1_qh = tensor.expand_shape %h1_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h1_kh = tensor.expand_shape %h1_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h1_vh = tensor.expand_shape %h1_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h1_att, %h1_lse = nn.attention %h1_qh, %h1_kh, %h1_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h1_cat = tensor.collapse_shape %h1_att [[0], [1], [2, 3]] : !heads into !residual
  %h1_proj_w = zero.load @h.1.attn.c_proj.weight : !w768x768
  %h1_proj_b = zero.load @h.1.attn.c_proj.bias : !vector
  %h1_proj = nn.linear %h1_cat, %h1_proj_w bias %h1_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h1_x1 = arith.addf %h0_x2, %h1_proj : !residual

  // layer 1: perceptron
  %h1_n2_w = zero.load @h.1.ln_2.weight : !vector
  %h1_n2_b = zero.load @h.1.ln_2.bias : !vector
  %h1_n2, %h1_n2_mean, %h1_n2_rstd = nn.layer_norm %h1_x1, %h1_n2_w, %h1_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h1_fc_w = zero.load @h.1.mlp.c_fc.weight : !w768x3072
  %h1_fc_b = zero.load @h.1.mlp.c_fc.bias : !w3072
  %h1_fc = nn.linear %h1_n2, %h1_fc_w bias %h1_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h1_act = nn.gelu tanh %h1_fc : !wide
  %h1_out_w = zero.load @h.1.mlp.c_proj.weight : !w3072x768
  %h1_out_b = zero.load @h.1.mlp.c_proj.bias : !vector
  %h1_out = nn.linear %h1_act, %h1_out_w bias %h1_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h1_x2 = arith.addf %h1_x1, %h1_out : !residual

  // layer 2: attention
  %h2_n1_w = zero.load @h.2.ln_1.weight : !vector
  %h2_n1_b = zero.load @h.2.ln_1.bias : !vector
  %h2_n1, %h2_n1_mean, %h2_n1_rstd = nn.layer_norm %h1_x2, %h2_n1_w, %h2_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h2_qkv_w = zero.load @h.2.attn.c_attn.weight : !w768x2304
  %h2_qkv_b = zero.load @h.2.attn.c_attn.bias : !w2304
  %h2_qkv = nn.linear %h2_n1, %h2_qkv_w bias %h2_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h2_q, %h2_k, %h2_v = nn.split %h2_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h2_qh = tensor.expand_shape %h2_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h2_kh = tensor.expand_shape %h2_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h2_vh = tensor.expand_shape %h2_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h2_att, %h2_lse = nn.attention %h2_qh, %h2_kh, %h2_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h2_cat = tensor.collapse_shape %h2_att [[0], [1], [2, 3]] : !heads into !residual
  %h2_proj_w = zero.load @h.2.attn.c_proj.weight : !w768x768
  %h2_proj_b = zero.load @h.2.attn.c_proj.bias : !vector
  %h2_proj = nn.linear %h2_cat, %h2_proj_w bias %h2_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h2_x1 = arith.addf %h1_x2, %h2_proj : !residual

  // layer 2: perceptron
  %h2_n2_w = zero.load @h.2.ln_2.weight : !vector
  %h2_n2_b = zero.load @h.2.ln_2.bias : !vector
  %h2_n2, %h2_n2_mean, %h2_n2_rstd = nn.layer_norm %h2_x1, %h2_n2_w, %h2_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h2_fc_w = zero.load @h.2.mlp.c_fc.weight : !w768x3072
  %h2_fc_b = zero.load @h.2.mlp.c_fc.bias : !w3072
  %h2_fc = nn.linear %h2_n2, %h2_fc_w bias %h2_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h2_act = nn.gelu tanh %h2_fc : !wide
  %h2_out_w = zero.load @h.2.mlp.c_proj.weight : !w3072x768
  %h2_out_b = zero.load @h.2.mlp.c_proj.bias : !vector
  %h2_out = nn.linear %h2_act, %h2_out_w bias %h2_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h2_x2 = arith.addf %h2_x1, %h2_out : !residual

  // layer 3: attention
  %h3_n1_w = zero.load @h.3.ln_1.weight : !vector
  %h3_n1_b = zero.load @h.3.ln_1.bias : !vector
  %h3_n1, %h3_n1_mean, %h3_n1_rstd = nn.layer_norm %h2_x2, %h3_n1_w, %h3_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h3_qkv_w = zero.load @h.3.attn.c_attn.weight : !w768x2304
  %h3_qkv_b = zero.load @h.3.attn.c_attn.bias : !w2304
  %h3_qkv = nn.linear %h3_n1, %h3_qkv_w bias %h3_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h3_q, %h3_k, %h3_v = nn.split %h3_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h3_qh = tensor.expand_shape %h3_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h3_kh = tensor.expand_shape %h3_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h3_vh = tensor.expand_shape %h3_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h3_att, %h3_lse = nn.attention %h3_qh, %h3_kh, %h3_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h3_cat = tensor.collapse_shape %h3_att [[0], [1], [2, 3]] : !heads into !residual
  %h3_proj_w = zero.load @h.3.attn.c_proj.weight : !w768x768
  %h3_proj_b = zero.load @h.3.attn.c_proj.bias : !vector
  %h3_proj = nn.linear %h3_cat, %h3_proj_w bias %h3_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h3_x1 = arith.addf %h2_x2, %h3_proj : !residual

  // layer 3: perceptron
  %h3_n2_w = zero.load @h.3.ln_2.weight : !vector
  %h3_n2_b = zero.load @h.3.ln_2.bias : !vector
  %h3_n2, %h3_n2_mean, %h3_n2_rstd = nn.layer_norm %h3_x1, %h3_n2_w, %h3_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h3_fc_w = zero.load @h.3.mlp.c_fc.weight : !w768x3072
  %h3_fc_b = zero.load @h.3.mlp.c_fc.bias : !w3072
  %h3_fc = nn.linear %h3_n2, %h3_fc_w bias %h3_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h3_act = nn.gelu tanh %h3_fc : !wide
  %h3_out_w = zero.load @h.3.mlp.c_proj.weight : !w3072x768
  %h3_out_b = zero.load @h.3.mlp.c_proj.bias : !vector
  %h3_out = nn.linear %h3_act, %h3_out_w bias %h3_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h3_x2 = arith.addf %h3_x1, %h3_out : !residual

  // layer 4: attention
  %h4_n1_w = zero.load @h.4.ln_1.weight : !vector
  %h4_n1_b = zero.load @h.4.ln_1.bias : !vector
  %h4_n1, %h4_n1_mean, %h4_n1_rstd = nn.layer_norm %h3_x2, %h4_n1_w, %h4_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h4_qkv_w = zero.load @h.4.attn.c_attn.weight : !w768x2304
  %h4_qkv_b = zero.load @h.4.attn.c_attn.bias : !w2304
  %h4_qkv = nn.linear %h4_n1, %h4_qkv_w bias %h4_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h4_q, %h4_k, %h4_v = nn.split %h4_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h4_qh = tensor.expand_shape %h4_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h4_kh = tensor.expand_shape %h4_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h4_vh = tensor.expand_shape %h4_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h4_att, %h4_lse = nn.attention %h4_qh, %h4_kh, %h4_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h4_cat = tensor.collapse_shape %h4_att [[0], [1], [2, 3]] : !heads into !residual
  %h4_proj_w = zero.load @h.4.attn.c_proj.weight : !w768x768
  %h4_proj_b = zero.load @h.4.attn.c_proj.bias : !vector
  %h4_proj = nn.linear %h4_cat, %h4_proj_w bias %h4_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h4_x1 = arith.addf %h3_x2, %h4_proj : !residual

  // layer 4: perceptron
  %h4_n2_w = zero.load @h.4.ln_2.weight : !vector
  %h4_n2_b = zero.load @h.4.ln_2.bias : !vector
  %h4_n2, %h4_n2_mean, %h4_n2_rstd = nn.layer_norm %h4_x1, %h4_n2_w, %h4_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h4_fc_w = zero.load @h.4.mlp.c_fc.weight : !w768x3072
  %h4_fc_b = zero.load @h.4.mlp.c_fc.bias : !w3072
  %h4_fc = nn.linear %h4_n2, %h4_fc_w bias %h4_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h4_act = nn.gelu tanh %h4_fc : !wide
  %h4_out_w = zero.load @h.4.mlp.c_proj.weight : !w3072x768
  %h4_out_b = zero.load @h.4.mlp.c_proj.bias : !vector
  %h4_out = nn.linear %h4_act, %h4_out_w bias %h4_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h4_x2 = arith.addf %h4_x1, %h4_out : !residual

  // layer 5: attention
  %h5_n1_w = zero.load @h.5.ln_1.weight : !vector
  %h5_n1_b = zero.load @h.5.ln_1.bias : !vector
  %h5_n1, %h5_n1_mean, %h5_n1_rstd = nn.layer_norm %h4_x2, %h5_n1_w, %h5_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h5_qkv_w = zero.load @h.5.attn.c_attn.weight : !w768x2304
  %h5_qkv_b = zero.load @h.5.attn.c_attn.bias : !w2304
  %h5_qkv = nn.linear %h5_n1, %h5_qkv_w bias %h5_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h5_q, %h5_k, %h5_v = nn.split %h5_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h5_qh = tensor.expand_shape %h5_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h5_kh = tensor.expand_shape %h5_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h5_vh = tensor.expand_shape %h5_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h5_att, %h5_lse = nn.attention %h5_qh, %h5_kh, %h5_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h5_cat = tensor.collapse_shape %h5_att [[0], [1], [2, 3]] : !heads into !residual
  %h5_proj_w = zero.load @h.5.attn.c_proj.weight : !w768x768
  %h5_proj_b = zero.load @h.5.attn.c_proj.bias : !vector
  %h5_proj = nn.linear %h5_cat, %h5_proj_w bias %h5_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h5_x1 = arith.addf %h4_x2, %h5_proj : !residual

  // layer 5: perceptron
  %h5_n2_w = zero.load @h.5.ln_2.weight : !vector
  %h5_n2_b = zero.load @h.5.ln_2.bias : !vector
  %h5_n2, %h5_n2_mean, %h5_n2_rstd = nn.layer_norm %h5_x1, %h5_n2_w, %h5_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h5_fc_w = zero.load @h.5.mlp.c_fc.weight : !w768x3072
  %h5_fc_b = zero.load @h.5.mlp.c_fc.bias : !w3072
  %h5_fc = nn.linear %h5_n2, %h5_fc_w bias %h5_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h5_act = nn.gelu tanh %h5_fc : !wide
  %h5_out_w = zero.load @h.5.mlp.c_proj.weight : !w3072x768
  %h5_out_b = zero.load @h.5.mlp.c_proj.bias : !vector
  %h5_out = nn.linear %h5_act, %h5_out_w bias %h5_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h5_x2 = arith.addf %h5_x1, %h5_out : !residual

  // layer 6: attention
  %h6_n1_w = zero.load @h.6.ln_1.weight : !vector
  %h6_n1_b = zero.load @h.6.ln_1.bias : !vector
  %h6_n1, %h6_n1_mean, %h6_n1_rstd = nn.layer_norm %h5_x2, %h6_n1_w, %h6_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h6_qkv_w = zero.load @h.6.attn.c_attn.weight : !w768x2304
  %h6_qkv_b = zero.load @h.6.attn.c_attn.bias : !w2304
  %h6_qkv = nn.linear %h6_n1, %h6_qkv_w bias %h6_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h6_q, %h6_k, %h6_v = nn.split %h6_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h6_qh = tensor.expand_shape %h6_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h6_kh = tensor.expand_shape %h6_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h6_vh = tensor.expand_shape %h6_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h6_att, %h6_lse = nn.attention %h6_qh, %h6_kh, %h6_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h6_cat = tensor.collapse_shape %h6_att [[0], [1], [2, 3]] : !heads into !residual
  %h6_proj_w = zero.load @h.6.attn.c_proj.weight : !w768x768
  %h6_proj_b = zero.load @h.6.attn.c_proj.bias : !vector
  %h6_proj = nn.linear %h6_cat, %h6_proj_w bias %h6_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h6_x1 = arith.addf %h5_x2, %h6_proj : !residual

  // layer 6: perceptron
  %h6_n2_w = zero.load @h.6.ln_2.weight : !vector
  %h6_n2_b = zero.load @h.6.ln_2.bias : !vector
  %h6_n2, %h6_n2_mean, %h6_n2_rstd = nn.layer_norm %h6_x1, %h6_n2_w, %h6_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h6_fc_w = zero.load @h.6.mlp.c_fc.weight : !w768x3072
  %h6_fc_b = zero.load @h.6.mlp.c_fc.bias : !w3072
  %h6_fc = nn.linear %h6_n2, %h6_fc_w bias %h6_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h6_act = nn.gelu tanh %h6_fc : !wide
  %h6_out_w = zero.load @h.6.mlp.c_proj.weight : !w3072x768
  %h6_out_b = zero.load @h.6.mlp.c_proj.bias : !vector
  %h6_out = nn.linear %h6_act, %h6_out_w bias %h6_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h6_x2 = arith.addf %h6_x1, %h6_out : !residual

  // layer 7: attention
  %h7_n1_w = zero.load @h.7.ln_1.weight : !vector
  %h7_n1_b = zero.load @h.7.ln_1.bias : !vector
  %h7_n1, %h7_n1_mean, %h7_n1_rstd = nn.layer_norm %h6_x2, %h7_n1_w, %h7_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h7_qkv_w = zero.load @h.7.attn.c_attn.weight : !w768x2304
  %h7_qkv_b = zero.load @h.7.attn.c_attn.bias : !w2304
  %h7_qkv = nn.linear %h7_n1, %h7_qkv_w bias %h7_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h7_q, %h7_k, %h7_v = nn.split %h7_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h7_qh = tensor.expand_shape %h7_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h7_kh = tensor.expand_shape %h7_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h7_vh = tensor.expand_shape %h7_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h7_att, %h7_lse = nn.attention %h7_qh, %h7_kh, %h7_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h7_cat = tensor.collapse_shape %h7_att [[0], [1], [2, 3]] : !heads into !residual
  %h7_proj_w = zero.load @h.7.attn.c_proj.weight : !w768x768
  %h7_proj_b = zero.load @h.7.attn.c_proj.bias : !vector
  %h7_proj = nn.linear %h7_cat, %h7_proj_w bias %h7_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h7_x1 = arith.addf %h6_x2, %h7_proj : !residual

  // layer 7: perceptron
  %h7_n2_w = zero.load @h.7.ln_2.weight : !vector
  %h7_n2_b = zero.load @h.7.ln_2.bias : !vector
  %h7_n2, %h7_n2_mean, %h7_n2_rstd = nn.layer_norm %h7_x1, %h7_n2_w, %h7_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h7_fc_w = zero.load @h.7.mlp.c_fc.weight : !w768x3072
  %h7_fc_b = zero.load @h.7.mlp.c_fc.bias : !w3072
  %h7_fc = nn.linear %h7_n2, %h7_fc_w bias %h7_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h7_act = nn.gelu tanh %h7_fc : !wide
  %h7_out_w = zero.load @h.7.mlp.c_proj.weight : !w3072x768
  %h7_out_b = zero.load @h.7.mlp.c_proj.bias : !vector
  %h7_out = nn.linear %h7_act, %h7_out_w bias %h7_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h7_x2 = arith.addf %h7_x1, %h7_out : !residual

  // layer 8: attention
  %h8_n1_w = zero.load @h.8.ln_1.weight : !vector
  %h8_n1_b = zero.load @h.8.ln_1.bias : !vector
  %h8_n1, %h8_n1_mean, %h8_n1_rstd = nn.layer_norm %h7_x2, %h8_n1_w, %h8_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h8_qkv_w = zero.load @h.8.attn.c_attn.weight : !w768x2304
  %h8_qkv_b = zero.load @h.8.attn.c_attn.bias : !w2304
  %h8_qkv = nn.linear %h8_n1, %h8_qkv_w bias %h8_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h8_q, %h8_k, %h8_v = nn.split %h8_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h8_qh = tensor.expand_shape %h8_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h8_kh = tensor.expand_shape %h8_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h8_vh = tensor.expand_shape %h8_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h8_att, %h8_lse = nn.attention %h8_qh, %h8_kh, %h8_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h8_cat = tensor.collapse_shape %h8_att [[0], [1], [2, 3]] : !heads into !residual
  %h8_proj_w = zero.load @h.8.attn.c_proj.weight : !w768x768
  %h8_proj_b = zero.load @h.8.attn.c_proj.bias : !vector
  %h8_proj = nn.linear %h8_cat, %h8_proj_w bias %h8_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h8_x1 = arith.addf %h7_x2, %h8_proj : !residual

  // layer 8: perceptron
  %h8_n2_w = zero.load @h.8.ln_2.weight : !vector
  %h8_n2_b = zero.load @h.8.ln_2.bias : !vector
  %h8_n2, %h8_n2_mean, %h8_n2_rstd = nn.layer_norm %h8_x1, %h8_n2_w, %h8_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h8_fc_w = zero.load @h.8.mlp.c_fc.weight : !w768x3072
  %h8_fc_b = zero.load @h.8.mlp.c_fc.bias : !w3072
  %h8_fc = nn.linear %h8_n2, %h8_fc_w bias %h8_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h8_act = nn.gelu tanh %h8_fc : !wide
  %h8_out_w = zero.load @h.8.mlp.c_proj.weight : !w3072x768
  %h8_out_b = zero.load @h.8.mlp.c_proj.bias : !vector
  %h8_out = nn.linear %h8_act, %h8_out_w bias %h8_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h8_x2 = arith.addf %h8_x1, %h8_out : !residual

  // layer 9: attention
  %h9_n1_w = zero.load @h.9.ln_1.weight : !vector
  %h9_n1_b = zero.load @h.9.ln_1.bias : !vector
  %h9_n1, %h9_n1_mean, %h9_n1_rstd = nn.layer_norm %h8_x2, %h9_n1_w, %h9_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h9_qkv_w = zero.load @h.9.attn.c_attn.weight : !w768x2304
  %h9_qkv_b = zero.load @h.9.attn.c_attn.bias : !w2304
  %h9_qkv = nn.linear %h9_n1, %h9_qkv_w bias %h9_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h9_q, %h9_k, %h9_v = nn.split %h9_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h9_qh = tensor.expand_shape %h9_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h9_kh = tensor.expand_shape %h9_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h9_vh = tensor.expand_shape %h9_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h9_att, %h9_lse = nn.attention %h9_qh, %h9_kh, %h9_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h9_cat = tensor.collapse_shape %h9_att [[0], [1], [2, 3]] : !heads into !residual
  %h9_proj_w = zero.load @h.9.attn.c_proj.weight : !w768x768
  %h9_proj_b = zero.load @h.9.attn.c_proj.bias : !vector
  %h9_proj = nn.linear %h9_cat, %h9_proj_w bias %h9_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h9_x1 = arith.addf %h8_x2, %h9_proj : !residual

  // layer 9: perceptron
  %h9_n2_w = zero.load @h.9.ln_2.weight : !vector
  %h9_n2_b = zero.load @h.9.ln_2.bias : !vector
  %h9_n2, %h9_n2_mean, %h9_n2_rstd = nn.layer_norm %h9_x1, %h9_n2_w, %h9_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h9_fc_w = zero.load @h.9.mlp.c_fc.weight : !w768x3072
  %h9_fc_b = zero.load @h.9.mlp.c_fc.bias : !w3072
  %h9_fc = nn.linear %h9_n2, %h9_fc_w bias %h9_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h9_act = nn.gelu tanh %h9_fc : !wide
  %h9_out_w = zero.load @h.9.mlp.c_proj.weight : !w3072x768
  %h9_out_b = zero.load @h.9.mlp.c_proj.bias : !vector
  %h9_out = nn.linear %h9_act, %h9_out_w bias %h9_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h9_x2 = arith.addf %h9_x1, %h9_out : !residual

  // layer 10: attention
  %h10_n1_w = zero.load @h.10.ln_1.weight : !vector
  %h10_n1_b = zero.load @h.10.ln_1.bias : !vector
  %h10_n1, %h10_n1_mean, %h10_n1_rstd = nn.layer_norm %h9_x2, %h10_n1_w, %h10_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h10_qkv_w = zero.load @h.10.attn.c_attn.weight : !w768x2304
  %h10_qkv_b = zero.load @h.10.attn.c_attn.bias : !w2304
  %h10_qkv = nn.linear %h10_n1, %h10_qkv_w bias %h10_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h10_q, %h10_k, %h10_v = nn.split %h10_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h10_qh = tensor.expand_shape %h10_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h10_kh = tensor.expand_shape %h10_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h10_vh = tensor.expand_shape %h10_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h10_att, %h10_lse = nn.attention %h10_qh, %h10_kh, %h10_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h10_cat = tensor.collapse_shape %h10_att [[0], [1], [2, 3]] : !heads into !residual
  %h10_proj_w = zero.load @h.10.attn.c_proj.weight : !w768x768
  %h10_proj_b = zero.load @h.10.attn.c_proj.bias : !vector
  %h10_proj = nn.linear %h10_cat, %h10_proj_w bias %h10_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h10_x1 = arith.addf %h9_x2, %h10_proj : !residual

  // layer 10: perceptron
  %h10_n2_w = zero.load @h.10.ln_2.weight : !vector
  %h10_n2_b = zero.load @h.10.ln_2.bias : !vector
  %h10_n2, %h10_n2_mean, %h10_n2_rstd = nn.layer_norm %h10_x1, %h10_n2_w, %h10_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h10_fc_w = zero.load @h.10.mlp.c_fc.weight : !w768x3072
  %h10_fc_b = zero.load @h.10.mlp.c_fc.bias : !w3072
  %h10_fc = nn.linear %h10_n2, %h10_fc_w bias %h10_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h10_act = nn.gelu tanh %h10_fc : !wide
  %h10_out_w = zero.load @h.10.mlp.c_proj.weight : !w3072x768
  %h10_out_b = zero.load @h.10.mlp.c_proj.bias : !vector
  %h10_out = nn.linear %h10_act, %h10_out_w bias %h10_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h10_x2 = arith.addf %h10_x1, %h10_out : !residual

  // layer 11: attention
  %h11_n1_w = zero.load @h.11.ln_1.weight : !vector
  %h11_n1_b = zero.load @h.11.ln_1.bias : !vector
  %h11_n1, %h11_n1_mean, %h11_n1_rstd = nn.layer_norm %h10_x2, %h11_n1_w, %h11_n1_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h11_qkv_w = zero.load @h.11.attn.c_attn.weight : !w768x2304
  %h11_qkv_b = zero.load @h.11.attn.c_attn.bias : !w2304
  %h11_qkv = nn.linear %h11_n1, %h11_qkv_w bias %h11_qkv_b : (!residual, !w768x2304, !w2304) -> !qkv
  %h11_q, %h11_k, %h11_v = nn.split %h11_qkv dim 2 sizes [768, 768, 768] : (!qkv) -> (!residual, !residual, !residual)
  %h11_qh = tensor.expand_shape %h11_q [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h11_kh = tensor.expand_shape %h11_k [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h11_vh = tensor.expand_shape %h11_v [[0], [1], [2, 3]] output_shape [1, 256, 12, 64] : !residual into !heads
  %h11_att, %h11_lse = nn.attention %h11_qh, %h11_kh, %h11_vh causal scale 0.125 : (!heads, !heads, !heads) -> (!heads, !lse)
  %h11_cat = tensor.collapse_shape %h11_att [[0], [1], [2, 3]] : !heads into !residual
  %h11_proj_w = zero.load @h.11.attn.c_proj.weight : !w768x768
  %h11_proj_b = zero.load @h.11.attn.c_proj.bias : !vector
  %h11_proj = nn.linear %h11_cat, %h11_proj_w bias %h11_proj_b : (!residual, !w768x768, !vector) -> !residual
  %h11_x1 = arith.addf %h10_x2, %h11_proj : !residual

  // layer 11: perceptron
  %h11_n2_w = zero.load @h.11.ln_2.weight : !vector
  %h11_n2_b = zero.load @h.11.ln_2.bias : !vector
  %h11_n2, %h11_n2_mean, %h11_n2_rstd = nn.layer_norm %h11_x1, %h11_n2_w, %h11_n2_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %h11_fc_w = zero.load @h.11.mlp.c_fc.weight : !w768x3072
  %h11_fc_b = zero.load @h.11.mlp.c_fc.bias : !w3072
  %h11_fc = nn.linear %h11_n2, %h11_fc_w bias %h11_fc_b : (!residual, !w768x3072, !w3072) -> !wide
  %h11_act = nn.gelu tanh %h11_fc : !wide
  %h11_out_w = zero.load @h.11.mlp.c_proj.weight : !w3072x768
  %h11_out_b = zero.load @h.11.mlp.c_proj.bias : !vector
  %h11_out = nn.linear %h11_act, %h11_out_w bias %h11_out_b : (!wide, !w3072x768, !vector) -> !residual
  %h11_x2 = arith.addf %h11_x1, %h11_out : !residual

  // next token
  %nf_w = zero.load @ln_f.weight : !vector
  %nf_b = zero.load @ln_f.bias : !vector
  %nf, %nf_mean, %nf_rstd = nn.layer_norm %h11_x2, %nf_w, %nf_b eps 1.0e-5 : (!residual, !vector, !vector) -> (!residual, !rows, !rows)
  %head = zero.load @wte.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
