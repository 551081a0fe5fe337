// Llama: 2 layers of width 32, 4 query and 2 key heads, perceptrons of 48,
// vocabulary 256, sequences of 16, micro-batches of 2. RMS norm, rotary
// positions, SwiGLU, no biases, an output projection of its own. Each layer has
// 4 experts, as Mixtral's, of which a token takes 2. An expert has 10 places
// for tokens; what finds none is dropped.
//
// Made by: generate.py llama --layers 2 --width 32 --heads 4 --key-heads 2 --hidden 48 --sequence 16 --micro-batch 2 --experts 4 --chosen 2 --capacity 10

!tokens = tensor<2x16xi32>
!residual = tensor<2x16x32xf32>
!rows = tensor<2x16xf32>
!heads = tensor<2x16x4x8xf32>
!lse = tensor<2x4x16xf32>
!vector = tensor<32xf32>
!narrow = tensor<2x16x16xf32>
!keys = tensor<2x16x2x8xf32>
!table = tensor<256x32xf32>
!w32x32 = tensor<32x32xf32>
!w16x32 = tensor<16x32xf32>
!flat = tensor<32x32xf32>
!scores = tensor<32x4xf32>
!choices = tensor<32x2xi32>
!shares = tensor<32x2xf32>
!each = tensor<32xf32>
!ends = tensor<4xi32>
!sent = tensor<4x10x32xf32>
!sent_wide = tensor<4x10x48xf32>
!sent_both = tensor<4x10x96xf32>
!w4x32 = tensor<4x32xf32>
!w4x96x32 = tensor<4x96x32xf32>
!w4x32x48 = tensor<4x32x48xf32>
!sent_rows = tensor<40x32xf32>
!logits = tensor<2x16x256xf32>

zero.parameter @model.embed_tokens.weight : !table = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.q_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.k_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.v_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.self_attn.o_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate.weight : !w4x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.experts.gate_up_proj : !w4x96x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.0.mlp.experts.down_proj : !w4x32x48 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.input_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.k_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.v_proj.weight : !w16x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.self_attn.o_proj.weight : !w32x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.post_attention_layernorm.weight : !vector = #zero.ones group "no_decay"
zero.parameter @model.layers.1.mlp.gate.weight : !w4x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.experts.gate_up_proj : !w4x96x32 = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.experts.down_proj : !w4x32x48 = #zero.normal<std = 0.02>
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
  %l0_flat = tensor.collapse_shape %l0_n2 [[0, 1], [2]] : !residual into !flat
  %l0_router_w = zero.load @model.layers.0.mlp.gate.weight : !w4x32
  %l0_router = nn.linear %l0_flat, %l0_router_w transposed : (!flat, !w4x32) -> !scores
  %l0_soft = nn.softmax %l0_router : !scores
  %l0_ids = nn.argsort %l0_soft descending first 2 : !scores -> !choices
  %l0_top = nn.gather %l0_soft, %l0_ids dim 1 : (!scores, !choices) -> !shares
  %l0_sum = nn.reduce sum %l0_top dims [1] : (!shares) -> !each
  %l0_sums = nn.broadcast %l0_sum dims [0] : (!each) -> !shares
  %l0_share = arith.divf %l0_top, %l0_sums : !shares
  %l0_sent, %l0_places, %l0_counts = nn.capacity_dispatch %l0_flat, %l0_ids : (!flat, !choices) -> (!sent, !choices, !ends)
  %l0_both_w = zero.load @model.layers.0.mlp.experts.gate_up_proj : !w4x96x32
  %l0_both = nn.matmul %l0_sent, %l0_both_w transpose_b : (!sent, !w4x96x32) -> !sent_both
  %l0_gate, %l0_up = nn.split %l0_both dim 2 sizes [48, 48] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l0_act = nn.silu_mul %l0_gate, %l0_up : !sent_wide
  %l0_down_w = zero.load @model.layers.0.mlp.experts.down_proj : !w4x32x48
  %l0_down = nn.matmul %l0_act, %l0_down_w transpose_b : (!sent_wide, !w4x32x48) -> !sent
  %l0_rows = tensor.collapse_shape %l0_down [[0, 1], [2]] : !sent into !sent_rows
  %l0_back = nn.combine %l0_rows, %l0_places weights %l0_share : (!sent_rows, !choices, !shares) -> !flat
  %l0_moe = tensor.expand_shape %l0_back [[0, 1], [2]] output_shape [2, 16, 32] : !flat into !residual
  %l0_x2 = arith.addf %l0_x1, %l0_moe : !residual

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
  %l1_flat = tensor.collapse_shape %l1_n2 [[0, 1], [2]] : !residual into !flat
  %l1_router_w = zero.load @model.layers.1.mlp.gate.weight : !w4x32
  %l1_router = nn.linear %l1_flat, %l1_router_w transposed : (!flat, !w4x32) -> !scores
  %l1_soft = nn.softmax %l1_router : !scores
  %l1_ids = nn.argsort %l1_soft descending first 2 : !scores -> !choices
  %l1_top = nn.gather %l1_soft, %l1_ids dim 1 : (!scores, !choices) -> !shares
  %l1_sum = nn.reduce sum %l1_top dims [1] : (!shares) -> !each
  %l1_sums = nn.broadcast %l1_sum dims [0] : (!each) -> !shares
  %l1_share = arith.divf %l1_top, %l1_sums : !shares
  %l1_sent, %l1_places, %l1_counts = nn.capacity_dispatch %l1_flat, %l1_ids : (!flat, !choices) -> (!sent, !choices, !ends)
  %l1_both_w = zero.load @model.layers.1.mlp.experts.gate_up_proj : !w4x96x32
  %l1_both = nn.matmul %l1_sent, %l1_both_w transpose_b : (!sent, !w4x96x32) -> !sent_both
  %l1_gate, %l1_up = nn.split %l1_both dim 2 sizes [48, 48] : (!sent_both) -> (!sent_wide, !sent_wide)
  %l1_act = nn.silu_mul %l1_gate, %l1_up : !sent_wide
  %l1_down_w = zero.load @model.layers.1.mlp.experts.down_proj : !w4x32x48
  %l1_down = nn.matmul %l1_act, %l1_down_w transpose_b : (!sent_wide, !w4x32x48) -> !sent
  %l1_rows = tensor.collapse_shape %l1_down [[0, 1], [2]] : !sent into !sent_rows
  %l1_back = nn.combine %l1_rows, %l1_places weights %l1_share : (!sent_rows, !choices, !shares) -> !flat
  %l1_moe = tensor.expand_shape %l1_back [[0, 1], [2]] output_shape [2, 16, 32] : !flat into !residual
  %l1_x2 = arith.addf %l1_x1, %l1_moe : !residual

  // next token
  %nf_w = zero.load @model.norm.weight : !vector
  %nf, %nf_rstd = nn.rms_norm %l1_x2, %nf_w eps 1.0e-5 : (!residual, !vector) -> (!residual, !rows)
  %head = zero.load @lm_head.weight : !table
  %logits = nn.linear %nf, %head transposed : (!residual, !table) -> !logits
  %loss, %lse = nn.cross_entropy %logits, %targets : (!logits, !tokens) -> (tensor<f32>, !rows)
  zero.yield %loss, %logits outputs ["logits"] : tensor<f32>, !logits
}
