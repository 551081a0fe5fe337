// What one of 2 ranks of an axis `tensor` computes of tiny-llama.mlir where the vocabulary
// is whole, without its exchanges: 2 query heads of 4 and a key head of 2, half of the width
// of a perceptron. Written by hand; values mean nothing, sizes do.

!tokens = tensor<2x16xi32>
!residual = tensor<2x16x32xf32>
!rows = tensor<2x16xf32>
!heads = tensor<2x16x2x8xf32>
!lse = tensor<2x2x16xf32>
!vector = tensor<32xf32>
!part = tensor<2x16x16xf32>
!narrow = tensor<2x16x8xf32>
!keys = tensor<2x16x1x8xf32>
!wide = tensor<2x16x24xf32>
!table = tensor<256x32xf32>
!w32x16 = tensor<32x16xf32>
!w8x32 = tensor<8x32xf32>
!w16x32 = tensor<16x32xf32>
!w24x32 = tensor<24x32xf32>
!w32x24 = tensor<32x24xf32>
!logits = tensor<2x16x256xf32>

zero.parameter @model.embed_tokens.weight : !table = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.q_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.k_proj.weight : !w8x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.v_proj.weight : !w8x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.o_proj.weight : !w32x16 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate_proj.weight : !w24x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.up_proj.weight : !w24x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.down_proj.weight : !w32x24 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.k_proj.weight : !w8x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.v_proj.weight : !w8x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.o_proj.weight : !w32x16 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.mlp.gate_proj.weight : !w24x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.up_proj.weight : !w24x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.down_proj.weight : !w32x24 = #zero.normal<std = 0.02>
zero.parameter @model.norm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : !table = #zero.normal<std = 0.02>

zero.step @train(%tokens: !tokens {zero.input = "tokens"}, %targets: !tokens {zero.input = "targets"}) {
  // tokens
  %embed = zero.load @model.embed_tokens.weight : !table
  %x = nn.embedding %tokens, %embed : (!tokens, !table) -> !residual

  // layer 0: attention
  %l0_n1_w = zero.load @model.layers.0.input_layernorm.weight : !vector
  %l0_n1, %l0_n1_rstd = nn.rms_norm %x, %l0_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_q_w = zero.load @model.layers.0.self_attn.q_proj.weight : !w16x32
  %l0_q = nn.linear %l0_n1, %l0_q_w transposed : (!residual, !w16x32) -> !part
  %l0_k_w = zero.load @model.layers.0.self_attn.k_proj.weight : !w8x32
  %l0_k = nn.linear %l0_n1, %l0_k_w transposed : (!residual, !w8x32) -> !narrow
  %l0_v_w = zero.load @model.layers.0.self_attn.v_proj.weight : !w8x32
  %l0_v = nn.linear %l0_n1, %l0_v_w transposed : (!residual, !w8x32) -> !narrow
  %l0_qh = tensor.expand_shape %l0_q [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %l0_kh = tensor.expand_shape %l0_k [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : !narrow into !keys
  %l0_vh = tensor.expand_shape %l0_v [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : !narrow into !keys
  %l0_qr = nn.rotary %l0_qh theta 10000.0 : !heads
  %l0_kr = nn.rotary %l0_kh theta 10000.0 : !keys
  %l0_att, %l0_lse = nn.attention %l0_qr, %l0_kr, %l0_vh causal scale 0.35355339059327373 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l0_cat = tensor.collapse_shape %l0_att [[0], [1], [2, 3]] : !heads into !part
  %l0_o_w = zero.load @model.layers.0.self_attn.o_proj.weight : !w32x16
  %l0_o = nn.linear %l0_cat, %l0_o_w transposed : (!part, !w32x16) -> !residual
  %l0_x1 = arith.addf %x, %l0_o : !residual

  // layer 0: perceptron
  %l0_n2_w = zero.load @model.layers.0.post_attention_layernorm.weight : !vector
  %l0_n2, %l0_n2_rstd = nn.rms_norm %l0_x1, %l0_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_gate_w = zero.load @model.layers.0.mlp.gate_proj.weight : !w24x32
  %l0_gate = nn.linear %l0_n2, %l0_gate_w transposed : (!residual, !w24x32) -> !wide
  %l0_up_w = zero.load @model.layers.0.mlp.up_proj.weight : !w24x32
  %l0_up = nn.linear %l0_n2, %l0_up_w transposed : (!residual, !w24x32) -> !wide
  %l0_silu = nn.silu %l0_gate : !wide
  %l0_act = arith.mulf %l0_silu, %l0_up : !wide
  %l0_down_w = zero.load @model.layers.0.mlp.down_proj.weight : !w32x24
  %l0_down = nn.linear %l0_act, %l0_down_w transposed : (!wide, !w32x24) -> !residual
  %l0_x2 = arith.addf %l0_x1, %l0_down : !residual

  // layer 1: attention
  %l1_n1_w = zero.load @model.layers.1.input_layernorm.weight : !vector
  %l1_n1, %l1_n1_rstd = nn.rms_norm %l0_x2, %l1_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_q_w = zero.load @model.layers.1.self_attn.q_proj.weight : !w16x32
  %l1_q = nn.linear %l1_n1, %l1_q_w transposed : (!residual, !w16x32) -> !part
  %l1_k_w = zero.load @model.layers.1.self_attn.k_proj.weight : !w8x32
  %l1_k = nn.linear %l1_n1, %l1_k_w transposed : (!residual, !w8x32) -> !narrow
  %l1_v_w = zero.load @model.layers.1.self_attn.v_proj.weight : !w8x32
  %l1_v = nn.linear %l1_n1, %l1_v_w transposed : (!residual, !w8x32) -> !narrow
  %l1_qh = tensor.expand_shape %l1_q [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !part into !heads
  %l1_kh = tensor.expand_shape %l1_k [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : !narrow into !keys
  %l1_vh = tensor.expand_shape %l1_v [[0], [1], [2, 3]] output_shape [2, 16, 1, 8] : !narrow into !keys
  %l1_qr = nn.rotary %l1_qh theta 10000.0 : !heads
  %l1_kr = nn.rotary %l1_kh theta 10000.0 : !keys
  %l1_att, %l1_lse = nn.attention %l1_qr, %l1_kr, %l1_vh causal scale 0.35355339059327373 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l1_cat = tensor.collapse_shape %l1_att [[0], [1], [2, 3]] : !heads into !part
  %l1_o_w = zero.load @model.layers.1.self_attn.o_proj.weight : !w32x16
  %l1_o = nn.linear %l1_cat, %l1_o_w transposed : (!part, !w32x16) -> !residual
  %l1_x1 = arith.addf %l0_x2, %l1_o : !residual

  // layer 1: perceptron
  %l1_n2_w = zero.load @model.layers.1.post_attention_layernorm.weight : !vector
  %l1_n2, %l1_n2_rstd = nn.rms_norm %l1_x1, %l1_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_gate_w = zero.load @model.layers.1.mlp.gate_proj.weight : !w24x32
  %l1_gate = nn.linear %l1_n2, %l1_gate_w transposed : (!residual, !w24x32) -> !wide
  %l1_up_w = zero.load @model.layers.1.mlp.up_proj.weight : !w24x32
  %l1_up = nn.linear %l1_n2, %l1_up_w transposed : (!residual, !w24x32) -> !wide
  %l1_silu = nn.silu %l1_gate : !wide
  %l1_act = arith.mulf %l1_silu, %l1_up : !wide
  %l1_down_w = zero.load @model.layers.1.mlp.down_proj.weight : !w32x24
  %l1_down = nn.linear %l1_act, %l1_down_w transposed : (!wide, !w32x24) -> !residual
  %l1_x2 = arith.addf %l1_x1, %l1_down : !residual

  // next token
  %nf_w = zero.load @model.norm.weight : !vector
  %nf, %nf_rstd = nn.rms_norm %l1_x2, %nf_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %head = zero.load @lm_head.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
