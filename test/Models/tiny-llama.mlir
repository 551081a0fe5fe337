// Llama: 2 layers of width 32, 4 query and 2 key heads, perceptrons of 48,
// vocabulary 256, sequences of 16, micro-batches of 2. RMS norm, rotary
// positions, SwiGLU, no biases, an output projection of its own.
//
// Made by: generate.py llama --layers 2 --width 32 --heads 4 --key-heads 2 --hidden 48 --sequence 16 --micro-batch 2

!tokens = tensor<2x16xi32>
!residual = tensor<2x16x32xf32>
!rows = tensor<2x16xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>
!vector = tensor<32xf32>
!narrow = tensor<2x16x16xf32>
!keys = tensor<2x16x2x8xf32>
!wide = tensor<2x16x48xf32>
!table = tensor<256x32xf32>
!w32x32 = tensor<32x32xf32>
!w16x32 = tensor<16x32xf32>
!w48x32 = tensor<48x32xf32>
!w32x48 = tensor<32x48xf32>
!logits = tensor<2x16x256xf32>

zero.parameter @model.embed_tokens.weight : !table = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.q_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.k_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.v_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.o_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate_proj.weight : !w48x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.up_proj.weight : !w48x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.down_proj.weight : !w32x48 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.k_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.v_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.o_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.mlp.gate_proj.weight : !w48x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.up_proj.weight : !w48x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.down_proj.weight : !w32x48 = #zero.normal<std = 0.02>
zero.parameter @model.norm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : !table = #zero.normal<std = 0.02>

zero.step @train(%tokens: !tokens {zero.input = "tokens"}, %targets: !tokens {zero.input = "targets"}) {
  // tokens
  %embed = zero.load @model.embed_tokens.weight : !table
  %x = nn.embedding %tokens, %embed : (!tokens, !table) -> !residual

  // layer 0: attention
  %l0_n1_w = zero.load @model.layers.0.input_layernorm.weight : !vector
  %l0_n1, %l0_n1_rstd = nn.rms_norm %x, %l0_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_q_w = zero.load @model.layers.0.self_attn.q_proj.weight : !w32x32
  %l0_q = nn.linear %l0_n1, %l0_q_w transposed : (!residual, !w32x32) -> !residual
  %l0_k_w = zero.load @model.layers.0.self_attn.k_proj.weight : !w16x32
  %l0_k = nn.linear %l0_n1, %l0_k_w transposed : (!residual, !w16x32) -> !narrow
  %l0_v_w = zero.load @model.layers.0.self_attn.v_proj.weight : !w16x32
  %l0_v = nn.linear %l0_n1, %l0_v_w transposed : (!residual, !w16x32) -> !narrow
  %l0_qh = tensor.expand_shape %l0_q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : !residual into !heads
  %l0_kh = tensor.expand_shape %l0_k [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !narrow into !keys
  %l0_vh = tensor.expand_shape %l0_v [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !narrow into !keys
  %l0_qr = nn.rotary %l0_qh theta 10000.0 : !heads
  %l0_kr = nn.rotary %l0_kh theta 10000.0 : !keys
  %l0_att, %l0_lse = nn.attention %l0_qr, %l0_kr, %l0_vh causal scale 0.35355339059327373 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l0_cat = tensor.collapse_shape %l0_att [[0], [1], [2, 3]] : !heads into !residual
  %l0_o_w = zero.load @model.layers.0.self_attn.o_proj.weight : !w32x32
  %l0_o = nn.linear %l0_cat, %l0_o_w transposed : (!residual, !w32x32) -> !residual
  %l0_x1 = arith.addf %x, %l0_o : !residual

  // layer 0: perceptron
  %l0_n2_w = zero.load @model.layers.0.post_attention_layernorm.weight : !vector
  %l0_n2, %l0_n2_rstd = nn.rms_norm %l0_x1, %l0_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_gate_w = zero.load @model.layers.0.mlp.gate_proj.weight : !w48x32
  %l0_gate = nn.linear %l0_n2, %l0_gate_w transposed : (!residual, !w48x32) -> !wide
  %l0_up_w = zero.load @model.layers.0.mlp.up_proj.weight : !w48x32
  %l0_up = nn.linear %l0_n2, %l0_up_w transposed : (!residual, !w48x32) -> !wide
  %l0_silu = nn.silu %l0_gate : !wide
  %l0_act = arith.mulf %l0_silu, %l0_up : !wide
  %l0_down_w = zero.load @model.layers.0.mlp.down_proj.weight : !w32x48
  %l0_down = nn.linear %l0_act, %l0_down_w transposed : (!wide, !w32x48) -> !residual
  %l0_x2 = arith.addf %l0_x1, %l0_down : !residual

  // layer 1: attention
  %l1_n1_w = zero.load @model.layers.1.input_layernorm.weight : !vector
  %l1_n1, %l1_n1_rstd = nn.rms_norm %l0_x2, %l1_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_q_w = zero.load @model.layers.1.self_attn.q_proj.weight : !w32x32
  %l1_q = nn.linear %l1_n1, %l1_q_w transposed : (!residual, !w32x32) -> !residual
  %l1_k_w = zero.load @model.layers.1.self_attn.k_proj.weight : !w16x32
  %l1_k = nn.linear %l1_n1, %l1_k_w transposed : (!residual, !w16x32) -> !narrow
  %l1_v_w = zero.load @model.layers.1.self_attn.v_proj.weight : !w16x32
  %l1_v = nn.linear %l1_n1, %l1_v_w transposed : (!residual, !w16x32) -> !narrow
  %l1_qh = tensor.expand_shape %l1_q [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : !residual into !heads
  %l1_kh = tensor.expand_shape %l1_k [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !narrow into !keys
  %l1_vh = tensor.expand_shape %l1_v [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : !narrow into !keys
  %l1_qr = nn.rotary %l1_qh theta 10000.0 : !heads
  %l1_kr = nn.rotary %l1_kh theta 10000.0 : !keys
  %l1_att, %l1_lse = nn.attention %l1_qr, %l1_kr, %l1_vh causal scale 0.35355339059327373 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l1_cat = tensor.collapse_shape %l1_att [[0], [1], [2, 3]] : !heads into !residual
  %l1_o_w = zero.load @model.layers.1.self_attn.o_proj.weight : !w32x32
  %l1_o = nn.linear %l1_cat, %l1_o_w transposed : (!residual, !w32x32) -> !residual
  %l1_x1 = arith.addf %l0_x2, %l1_o : !residual

  // layer 1: perceptron
  %l1_n2_w = zero.load @model.layers.1.post_attention_layernorm.weight : !vector
  %l1_n2, %l1_n2_rstd = nn.rms_norm %l1_x1, %l1_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_gate_w = zero.load @model.layers.1.mlp.gate_proj.weight : !w48x32
  %l1_gate = nn.linear %l1_n2, %l1_gate_w transposed : (!residual, !w48x32) -> !wide
  %l1_up_w = zero.load @model.layers.1.mlp.up_proj.weight : !w48x32
  %l1_up = nn.linear %l1_n2, %l1_up_w transposed : (!residual, !w48x32) -> !wide
  %l1_silu = nn.silu %l1_gate : !wide
  %l1_act = arith.mulf %l1_silu, %l1_up : !wide
  %l1_down_w = zero.load @model.layers.1.mlp.down_proj.weight : !w32x48
  %l1_down = nn.linear %l1_act, %l1_down_w transposed : (!wide, !w32x48) -> !residual
  %l1_x2 = arith.addf %l1_x1, %l1_down : !residual

  // next token
  %nf_w = zero.load @model.norm.weight : !vector
  %nf, %nf_rstd = nn.rms_norm %l1_x2, %nf_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %head = zero.load @lm_head.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
