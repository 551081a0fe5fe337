// Llama: 4 layers of width 256, 4 query and 2 key heads, perceptrons of 688,
// vocabulary 256, sequences of 256, micro-batches of 4. RMS norm, rotary
// positions, SwiGLU, no biases, an output projection of its own. Each layer has
// 4 experts, as Mixtral's, of which a token takes 2.
//
// Made by: generate.py llama --experts 4 --chosen 2

!tokens = tensor<4x256xi32>
!residual = tensor<4x256x256xf32>
!rows = tensor<4x256xf32>
!heads = tensor<4x256x4x64xf32>
!lse = tensor<4x4x256xf32>
!vector = tensor<256xf32>
!narrow = tensor<4x256x128xf32>
!keys = tensor<4x256x2x64xf32>
!table = tensor<256x256xf32>
!w256x256 = tensor<256x256xf32>
!w128x256 = tensor<128x256xf32>
!flat = tensor<1024x256xf32>
!scores = tensor<1024x4xf32>
!choices = tensor<1024x2xi32>
!shares = tensor<1024x2xf32>
!each = tensor<1024xf32>
!ends = tensor<4xi32>
!sent = tensor<2048x256xf32>
!sent_wide = tensor<2048x688xf32>
!sent_both = tensor<2048x1376xf32>
!w4x256 = tensor<4x256xf32>
!w4x1376x256 = tensor<4x1376x256xf32>
!w4x256x688 = tensor<4x256x688xf32>
!logits = tensor<4x256x256xf32>

zero.parameter @model.embed_tokens.weight : !table = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate.weight : !w4x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.experts.gate_up_proj : !w4x1376x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.experts.down_proj : !w4x256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.mlp.gate.weight : !w4x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.experts.gate_up_proj : !w4x1376x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.experts.down_proj : !w4x256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.2.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.2.mlp.gate.weight : !w4x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.mlp.experts.gate_up_proj : !w4x1376x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.2.mlp.experts.down_proj : !w4x256x688 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.3.self_attn.q_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.k_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.v_proj.weight : !w128x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.self_attn.o_proj.weight : !w256x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.3.mlp.gate.weight : !w4x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.mlp.experts.gate_up_proj : !w4x1376x256 = #zero.normal<std = 0.02>
zero.parameter @model.layers.3.mlp.experts.down_proj : !w4x256x688 = #zero.normal<std = 0.02>
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
  %l0_flat = tensor.collapse_shape %l0_n2 [[0, 1], [2]] : !residual into !flat
  %l0_router_w = zero.load @model.layers.0.mlp.gate.weight : !w4x256
  %l0_router = nn.linear %l0_flat, %l0_router_w transposed : (!flat, !w4x256) -> !scores
  %l0_soft = nn.softmax %l0_router : !scores
  %l0_ids = nn.argsort %l0_soft descending first 2 : !scores -> !choices
  %l0_top = nn.gather %l0_soft, %l0_ids dim 1 : (!scores, !choices) -> !shares
  %l0_sum = nn.reduce sum %l0_top dims [1] : (!shares) -> !each
  %l0_sums = nn.broadcast %l0_sum dims [0] : (!each) -> !shares
  %l0_share = arith.divf %l0_top, %l0_sums : !shares
  %l0_sent, %l0_places, %l0_ends = nn.dispatch %l0_flat, %l0_ids experts 4 : (!flat, !choices) -> (!sent, !choices, !ends)
  %l0_both_w = zero.load @model.layers.0.mlp.experts.gate_up_proj : !w4x1376x256
  %l0_both = nn.grouped_matmul %l0_sent, %l0_both_w offsets %l0_ends transpose_b : (!sent, !w4x1376x256, !ends) -> !sent_both
  %l0_gate, %l0_up = nn.split %l0_both dim 1 sizes [688, 688] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l0_act = nn.silu_mul %l0_gate, %l0_up : !sent_wide
  %l0_down_w = zero.load @model.layers.0.mlp.experts.down_proj : !w4x256x688
  %l0_down = nn.grouped_matmul %l0_act, %l0_down_w offsets %l0_ends transpose_b : (!sent_wide, !w4x256x688, !ends) -> !sent
  %l0_back = nn.combine %l0_down, %l0_places weights %l0_share : (!sent, !choices, !shares) -> !flat
  %l0_moe = tensor.expand_shape %l0_back [[0, 1], [2]] output_shape [4, 256, 256] : !flat into !residual
  %l0_x2 = arith.addf %l0_x1, %l0_moe : !residual

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
  %l1_flat = tensor.collapse_shape %l1_n2 [[0, 1], [2]] : !residual into !flat
  %l1_router_w = zero.load @model.layers.1.mlp.gate.weight : !w4x256
  %l1_router = nn.linear %l1_flat, %l1_router_w transposed : (!flat, !w4x256) -> !scores
  %l1_soft = nn.softmax %l1_router : !scores
  %l1_ids = nn.argsort %l1_soft descending first 2 : !scores -> !choices
  %l1_top = nn.gather %l1_soft, %l1_ids dim 1 : (!scores, !choices) -> !shares
  %l1_sum = nn.reduce sum %l1_top dims [1] : (!shares) -> !each
  %l1_sums = nn.broadcast %l1_sum dims [0] : (!each) -> !shares
  %l1_share = arith.divf %l1_top, %l1_sums : !shares
  %l1_sent, %l1_places, %l1_ends = nn.dispatch %l1_flat, %l1_ids experts 4 : (!flat, !choices) -> (!sent, !choices, !ends)
  %l1_both_w = zero.load @model.layers.1.mlp.experts.gate_up_proj : !w4x1376x256
  %l1_both = nn.grouped_matmul %l1_sent, %l1_both_w offsets %l1_ends transpose_b : (!sent, !w4x1376x256, !ends) -> !sent_both
  %l1_gate, %l1_up = nn.split %l1_both dim 1 sizes [688, 688] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l1_act = nn.silu_mul %l1_gate, %l1_up : !sent_wide
  %l1_down_w = zero.load @model.layers.1.mlp.experts.down_proj : !w4x256x688
  %l1_down = nn.grouped_matmul %l1_act, %l1_down_w offsets %l1_ends transpose_b : (!sent_wide, !w4x256x688, !ends) -> !sent
  %l1_back = nn.combine %l1_down, %l1_places weights %l1_share : (!sent, !choices, !shares) -> !flat
  %l1_moe = tensor.expand_shape %l1_back [[0, 1], [2]] output_shape [4, 256, 256] : !flat into !residual
  %l1_x2 = arith.addf %l1_x1, %l1_moe : !residual

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
  %l2_flat = tensor.collapse_shape %l2_n2 [[0, 1], [2]] : !residual into !flat
  %l2_router_w = zero.load @model.layers.2.mlp.gate.weight : !w4x256
  %l2_router = nn.linear %l2_flat, %l2_router_w transposed : (!flat, !w4x256) -> !scores
  %l2_soft = nn.softmax %l2_router : !scores
  %l2_ids = nn.argsort %l2_soft descending first 2 : !scores -> !choices
  %l2_top = nn.gather %l2_soft, %l2_ids dim 1 : (!scores, !choices) -> !shares
  %l2_sum = nn.reduce sum %l2_top dims [1] : (!shares) -> !each
  %l2_sums = nn.broadcast %l2_sum dims [0] : (!each) -> !shares
  %l2_share = arith.divf %l2_top, %l2_sums : !shares
  %l2_sent, %l2_places, %l2_ends = nn.dispatch %l2_flat, %l2_ids experts 4 : (!flat, !choices) -> (!sent, !choices, !ends)
  %l2_both_w = zero.load @model.layers.2.mlp.experts.gate_up_proj : !w4x1376x256
  %l2_both = nn.grouped_matmul %l2_sent, %l2_both_w offsets %l2_ends transpose_b : (!sent, !w4x1376x256, !ends) -> !sent_both
  %l2_gate, %l2_up = nn.split %l2_both dim 1 sizes [688, 688] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l2_act = nn.silu_mul %l2_gate, %l2_up : !sent_wide
  %l2_down_w = zero.load @model.layers.2.mlp.experts.down_proj : !w4x256x688
  %l2_down = nn.grouped_matmul %l2_act, %l2_down_w offsets %l2_ends transpose_b : (!sent_wide, !w4x256x688, !ends) -> !sent
  %l2_back = nn.combine %l2_down, %l2_places weights %l2_share : (!sent, !choices, !shares) -> !flat
  %l2_moe = tensor.expand_shape %l2_back [[0, 1], [2]] output_shape [4, 256, 256] : !flat into !residual
  %l2_x2 = arith.addf %l2_x1, %l2_moe : !residual

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
  %l3_flat = tensor.collapse_shape %l3_n2 [[0, 1], [2]] : !residual into !flat
  %l3_router_w = zero.load @model.layers.3.mlp.gate.weight : !w4x256
  %l3_router = nn.linear %l3_flat, %l3_router_w transposed : (!flat, !w4x256) -> !scores
  %l3_soft = nn.softmax %l3_router : !scores
  %l3_ids = nn.argsort %l3_soft descending first 2 : !scores -> !choices
  %l3_top = nn.gather %l3_soft, %l3_ids dim 1 : (!scores, !choices) -> !shares
  %l3_sum = nn.reduce sum %l3_top dims [1] : (!shares) -> !each
  %l3_sums = nn.broadcast %l3_sum dims [0] : (!each) -> !shares
  %l3_share = arith.divf %l3_top, %l3_sums : !shares
  %l3_sent, %l3_places, %l3_ends = nn.dispatch %l3_flat, %l3_ids experts 4 : (!flat, !choices) -> (!sent, !choices, !ends)
  %l3_both_w = zero.load @model.layers.3.mlp.experts.gate_up_proj : !w4x1376x256
  %l3_both = nn.grouped_matmul %l3_sent, %l3_both_w offsets %l3_ends transpose_b : (!sent, !w4x1376x256, !ends) -> !sent_both
  %l3_gate, %l3_up = nn.split %l3_both dim 1 sizes [688, 688] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l3_act = nn.silu_mul %l3_gate, %l3_up : !sent_wide
  %l3_down_w = zero.load @model.layers.3.mlp.experts.down_proj : !w4x256x688
  %l3_down = nn.grouped_matmul %l3_act, %l3_down_w offsets %l3_ends transpose_b : (!sent_wide, !w4x256x688, !ends) -> !sent
  %l3_back = nn.combine %l3_down, %l3_places weights %l3_share : (!sent, !choices, !shares) -> !flat
  %l3_moe = tensor.expand_shape %l3_back [[0, 1], [2]] output_shape [4, 256, 256] : !flat into !residual
  %l3_x2 = arith.addf %l3_x1, %l3_moe : !residual

  // next token
  %nf_w = zero.load @model.norm.weight : !vector
  %nf, %nf_rstd = nn.rms_norm %l3_x2, %nf_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %head = zero.load @lm_head.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
