// Llama: 4 layers of width 256, 4 query and 2 key heads, perceptrons of 688,
// vocabulary 256, sequences of 256, micro-batches of 4. RMS norm, rotary
// positions, SwiGLU, no biases, an output projection of its own.
//
// Made by: generate.py llama

!tokens = tensor<4x256xi32>
!residual = tensor<4x256x256xf32>
!rows = tensor<4x256xf32>
!heads = tensor<4x256x4x64xf32>
!lse = tensor<4x4x256xf32>
!vector = tensor<256xf32>
!narrow = tensor<4x256x128xf32>
!keys = tensor<4x256x2x64xf32>
!wide = tensor<4x256x688xf32>
!table = tensor<256x256xf32>
!w256x256 = tensor<256x256xf32>
!w128x256 = tensor<128x256xf32>
!w688x256 = tensor<688x256xf32>
!w256x688 = tensor<256x688xf32>
!logits = tensor<4x256x256xf32>

zero.parameter @model.embed_tokens.weight : !table = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.up_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.down_proj.weight : !w256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.mlp.gate_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.up_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.down_proj.weight : !w256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.2.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.2.mlp.gate_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.mlp.up_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.mlp.down_proj.weight : !w256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.3.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.3.mlp.gate_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.mlp.up_proj.weight : !w688x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.mlp.down_proj.weight : !w256x688 = #zero.normal<std = 0.02>
zero.parameter @model.norm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : !table = #zero.normal<std = 0.02>

zero.step @train(%tokens: !tokens {zero.input = "tokens"}, %targets: !tokens {zero.input = "targets"}) {
  // tokens
  %embed = zero.load @model.embed_tokens.weight : !table
  %x = nn.embedding %tokens, %embed : (!tokens, !table) -> !residual

  // layer 0: attention
  %l0_n1_w = zero.load @model.layers.0.input_layernorm.weight : !vector
  %l0_n1, %l0_n1_rstd = nn.rms_norm %x, %l0_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_q_w = zero.load @model.layers.0.self_attn.q_proj.weight : !w256x256
  %l0_q = nn.linear %l0_n1, %l0_q_w transposed : (!residual, !w256x256) -> !residual
  %l0_k_w = zero.load @model.layers.0.self_attn.k_proj.weight : !w128x256
  %l0_k = nn.linear %l0_n1, %l0_k_w transposed : (!residual, !w128x256) -> !narrow
  %l0_v_w = zero.load @model.layers.0.self_attn.v_proj.weight : !w128x256
  %l0_v = nn.linear %l0_n1, %l0_v_w transposed : (!residual, !w128x256) -> !narrow
  %l0_qh = tensor.expand_shape %l0_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %l0_kh = tensor.expand_shape %l0_k [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l0_vh = tensor.expand_shape %l0_v [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l0_qr = nn.rotary %l0_qh theta 10000.0 : !heads
  %l0_kr = nn.rotary %l0_kh theta 10000.0 : !keys
  %l0_att, %l0_lse = nn.attention %l0_qr, %l0_kr, %l0_vh causal scale 0.125 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l0_cat = tensor.collapse_shape %l0_att [[0], [1], [2, 3]] : !heads into !residual
  %l0_o_w = zero.load @model.layers.0.self_attn.o_proj.weight : !w256x256
  %l0_o = nn.linear %l0_cat, %l0_o_w transposed : (!residual, !w256x256) -> !residual
  %l0_x1 = arith.addf %x, %l0_o : !residual

  // layer 0: perceptron
  %l0_n2_w = zero.load @model.layers.0.post_attention_layernorm.weight : !vector
  %l0_n2, %l0_n2_rstd = nn.rms_norm %l0_x1, %l0_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l0_gate_w = zero.load @model.layers.0.mlp.gate_proj.weight : !w688x256
  %l0_gate = nn.linear %l0_n2, %l0_gate_w transposed : (!residual, !w688x256) -> !wide
  %l0_up_w = zero.load @model.layers.0.mlp.up_proj.weight : !w688x256
  %l0_up = nn.linear %l0_n2, %l0_up_w transposed : (!residual, !w688x256) -> !wide
  %l0_silu = nn.silu %l0_gate : !wide
  %l0_act = arith.mulf %l0_silu, %l0_up : !wide
  %l0_down_w = zero.load @model.layers.0.mlp.down_proj.weight : !w256x688
  %l0_down = nn.linear %l0_act, %l0_down_w transposed : (!wide, !w256x688) -> !residual
  %l0_x2 = arith.addf %l0_x1, %l0_down : !residual

  // layer 1: attention
  %l1_n1_w = zero.load @model.layers.1.input_layernorm.weight : !vector
  %l1_n1, %l1_n1_rstd = nn.rms_norm %l0_x2, %l1_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_q_w = zero.load @model.layers.1.self_attn.q_proj.weight : !w256x256
  %l1_q = nn.linear %l1_n1, %l1_q_w transposed : (!residual, !w256x256) -> !residual
  %l1_k_w = zero.load @model.layers.1.self_attn.k_proj.weight : !w128x256
  %l1_k = nn.linear %l1_n1, %l1_k_w transposed : (!residual, !w128x256) -> !narrow
  %l1_v_w = zero.load @model.layers.1.self_attn.v_proj.weight : !w128x256
  %l1_v = nn.linear %l1_n1, %l1_v_w transposed : (!residual, !w128x256) -> !narrow
  %l1_qh = tensor.expand_shape %l1_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %l1_kh = tensor.expand_shape %l1_k [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l1_vh = tensor.expand_shape %l1_v [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l1_qr = nn.rotary %l1_qh theta 10000.0 : !heads
  %l1_kr = nn.rotary %l1_kh theta 10000.0 : !keys
  %l1_att, %l1_lse = nn.attention %l1_qr, %l1_kr, %l1_vh causal scale 0.125 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l1_cat = tensor.collapse_shape %l1_att [[0], [1], [2, 3]] : !heads into !residual
  %l1_o_w = zero.load @model.layers.1.self_attn.o_proj.weight : !w256x256
  %l1_o = nn.linear %l1_cat, %l1_o_w transposed : (!residual, !w256x256) -> !residual
  %l1_x1 = arith.addf %l0_x2, %l1_o : !residual

  // layer 1: perceptron
  %l1_n2_w = zero.load @model.layers.1.post_attention_layernorm.weight : !vector
  %l1_n2, %l1_n2_rstd = nn.rms_norm %l1_x1, %l1_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l1_gate_w = zero.load @model.layers.1.mlp.gate_proj.weight : !w688x256
  %l1_gate = nn.linear %l1_n2, %l1_gate_w transposed : (!residual, !w688x256) -> !wide
  %l1_up_w = zero.load @model.layers.1.mlp.up_proj.weight : !w688x256
  %l1_up = nn.linear %l1_n2, %l1_up_w transposed : (!residual, !w688x256) -> !wide
  %l1_silu = nn.silu %l1_gate : !wide
  %l1_act = arith.mulf %l1_silu, %l1_up : !wide
  %l1_down_w = zero.load @model.layers.1.mlp.down_proj.weight : !w256x688
  %l1_down = nn.linear %l1_act, %l1_down_w transposed : (!wide, !w256x688) -> !residual
  %l1_x2 = arith.addf %l1_x1, %l1_down : !residual

  // layer 2: attention
  %l2_n1_w = zero.load @model.layers.2.input_layernorm.weight : !vector
  %l2_n1, %l2_n1_rstd = nn.rms_norm %l1_x2, %l2_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l2_q_w = zero.load @model.layers.2.self_attn.q_proj.weight : !w256x256
  %l2_q = nn.linear %l2_n1, %l2_q_w transposed : (!residual, !w256x256) -> !residual
  %l2_k_w = zero.load @model.layers.2.self_attn.k_proj.weight : !w128x256
  %l2_k = nn.linear %l2_n1, %l2_k_w transposed : (!residual, !w128x256) -> !narrow
  %l2_v_w = zero.load @model.layers.2.self_attn.v_proj.weight : !w128x256
  %l2_v = nn.linear %l2_n1, %l2_v_w transposed : (!residual, !w128x256) -> !narrow
  %l2_qh = tensor.expand_shape %l2_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %l2_kh = tensor.expand_shape %l2_k [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l2_vh = tensor.expand_shape %l2_v [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l2_qr = nn.rotary %l2_qh theta 10000.0 : !heads
  %l2_kr = nn.rotary %l2_kh theta 10000.0 : !keys
  %l2_att, %l2_lse = nn.attention %l2_qr, %l2_kr, %l2_vh causal scale 0.125 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l2_cat = tensor.collapse_shape %l2_att [[0], [1], [2, 3]] : !heads into !residual
  %l2_o_w = zero.load @model.layers.2.self_attn.o_proj.weight : !w256x256
  %l2_o = nn.linear %l2_cat, %l2_o_w transposed : (!residual, !w256x256) -> !residual
  %l2_x1 = arith.addf %l1_x2, %l2_o : !residual

  // layer 2: perceptron
  %l2_n2_w = zero.load @model.layers.2.post_attention_layernorm.weight : !vector
  %l2_n2, %l2_n2_rstd = nn.rms_norm %l2_x1, %l2_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l2_gate_w = zero.load @model.layers.2.mlp.gate_proj.weight : !w688x256
  %l2_gate = nn.linear %l2_n2, %l2_gate_w transposed : (!residual, !w688x256) -> !wide
  %l2_up_w = zero.load @model.layers.2.mlp.up_proj.weight : !w688x256
  %l2_up = nn.linear %l2_n2, %l2_up_w transposed : (!residual, !w688x256) -> !wide
  %l2_silu = nn.silu %l2_gate : !wide
  %l2_act = arith.mulf %l2_silu, %l2_up : !wide
  %l2_down_w = zero.load @model.layers.2.mlp.down_proj.weight : !w256x688
  %l2_down = nn.linear %l2_act, %l2_down_w transposed : (!wide, !w256x688) -> !residual
  %l2_x2 = arith.addf %l2_x1, %l2_down : !residual

  // layer 3: attention
  %l3_n1_w = zero.load @model.layers.3.input_layernorm.weight : !vector
  %l3_n1, %l3_n1_rstd = nn.rms_norm %l2_x2, %l3_n1_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l3_q_w = zero.load @model.layers.3.self_attn.q_proj.weight : !w256x256
  %l3_q = nn.linear %l3_n1, %l3_q_w transposed : (!residual, !w256x256) -> !residual
  %l3_k_w = zero.load @model.layers.3.self_attn.k_proj.weight : !w128x256
  %l3_k = nn.linear %l3_n1, %l3_k_w transposed : (!residual, !w128x256) -> !narrow
  %l3_v_w = zero.load @model.layers.3.self_attn.v_proj.weight : !w128x256
  %l3_v = nn.linear %l3_n1, %l3_v_w transposed : (!residual, !w128x256) -> !narrow
  %l3_qh = tensor.expand_shape %l3_q [[0], [1], [2, 3]] output_shape [4, 256, 4, 64] : !residual into !heads
  %l3_kh = tensor.expand_shape %l3_k [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l3_vh = tensor.expand_shape %l3_v [[0], [1], [2, 3]] output_shape [4, 256, 2, 64] : !narrow into !keys
  %l3_qr = nn.rotary %l3_qh theta 10000.0 : !heads
  %l3_kr = nn.rotary %l3_kh theta 10000.0 : !keys
  %l3_att, %l3_lse = nn.attention %l3_qr, %l3_kr, %l3_vh causal scale 0.125 : (!heads, !keys, !keys) -> (!heads, !lse)
  %l3_cat = tensor.collapse_shape %l3_att [[0], [1], [2, 3]] : !heads into !residual
  %l3_o_w = zero.load @model.layers.3.self_attn.o_proj.weight : !w256x256
  %l3_o = nn.linear %l3_cat, %l3_o_w transposed : (!residual, !w256x256) -> !residual
  %l3_x1 = arith.addf %l2_x2, %l3_o : !residual

  // layer 3: perceptron
  %l3_n2_w = zero.load @model.layers.3.post_attention_layernorm.weight : !vector
  %l3_n2, %l3_n2_rstd = nn.rms_norm %l3_x1, %l3_n2_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %l3_gate_w = zero.load @model.layers.3.mlp.gate_proj.weight : !w688x256
  %l3_gate = nn.linear %l3_n2, %l3_gate_w transposed : (!residual, !w688x256) -> !wide
  %l3_up_w = zero.load @model.layers.3.mlp.up_proj.weight : !w688x256
  %l3_up = nn.linear %l3_n2, %l3_up_w transposed : (!residual, !w688x256) -> !wide
  %l3_silu = nn.silu %l3_gate : !wide
  %l3_act = arith.mulf %l3_silu, %l3_up : !wide
  %l3_down_w = zero.load @model.layers.3.mlp.down_proj.weight : !w256x688
  %l3_down = nn.linear %l3_act, %l3_down_w transposed : (!wide, !w256x688) -> !residual
  %l3_x2 = arith.addf %l3_x1, %l3_down : !residual

  // next token
  %nf_w = zero.load @model.norm.weight : !vector
  %nf, %nf_rstd = nn.rms_norm %l3_x2, %nf_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %head = zero.load @lm_head.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
