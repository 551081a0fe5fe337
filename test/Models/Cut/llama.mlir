// Made by import.py.

zero.parameter @model.embed_tokens.weight : tensor<101x32xf32> = #zero.normal<std = 0.0197>
zero.parameter @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.02025>
zero.parameter @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02041>
zero.parameter @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02093>
zero.parameter @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01971>
zero.parameter @model.layers.0.mlp.gate_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.0201>
zero.parameter @model.layers.0.mlp.up_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.02015>
zero.parameter @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> = #zero.normal<std = 0.01983>
zero.parameter @model.layers.0.input_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.1.self_attn.q_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01972>
zero.parameter @model.layers.1.self_attn.k_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02067>
zero.parameter @model.layers.1.self_attn.v_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.01912>
zero.parameter @model.layers.1.self_attn.o_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01977>
zero.parameter @model.layers.1.mlp.gate_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.01978>
zero.parameter @model.layers.1.mlp.up_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.02>
zero.parameter @model.layers.1.mlp.down_proj.weight : tensor<32x96xf32> = #zero.normal<std = 0.0199>
zero.parameter @model.layers.1.input_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.1.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : tensor<101x32xf32> = #zero.normal<std = 0.02015>

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %model.embed_tokens.weight = zero.load @model.embed_tokens.weight : tensor<101x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %model.embed_tokens.weight : (tensor<2x16xi32>, tensor<101x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %model.layers.0.input_layernorm.weight = zero.load @model.layers.0.input_layernorm.weight : tensor<32xf32> loc(#loc1)
  %rms_norm_1, %rms_norm_1_1 = nn.rms_norm %embedding, %model.layers.0.input_layernorm.weight eps 1.0e-6 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc1)
  %model.layers.0.self_attn.q_proj.weight = zero.load @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> loc(#loc2)
  %linear = nn.linear %rms_norm_1, %model.layers.0.self_attn.q_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc2)
  %view = tensor.expand_shape %linear [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc3)
  %model.layers.0.self_attn.k_proj.weight = zero.load @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> loc(#loc4)
  %linear_1 = nn.linear %rms_norm_1, %model.layers.0.self_attn.k_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc4)
  %view_1 = tensor.expand_shape %linear_1 [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : tensor<2x16x16xf32> into tensor<2x16x2x8xf32> loc(#loc5)
  %model.layers.0.self_attn.v_proj.weight = zero.load @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> loc(#loc6)
  %linear_2 = nn.linear %rms_norm_1, %model.layers.0.self_attn.v_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc6)
  %view_2 = tensor.expand_shape %linear_2 [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : tensor<2x16x16xf32> into tensor<2x16x2x8xf32> loc(#loc7)
  %rotary = nn.rotary %view theta 10000.0 : tensor<2x16x4x8xf32> loc(#loc8)
  %rotary_1 = nn.rotary %view_1 theta 10000.0 : tensor<2x16x2x8xf32> loc(#loc8)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %rotary, %rotary_1, %view_2 causal scale 0.3535533905932738 : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc9)
  %view_4 = tensor.collapse_shape %scaled_dot_product_attention [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32> loc(#loc10)
  %model.layers.0.self_attn.o_proj.weight = zero.load @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> loc(#loc11)
  %linear_3 = nn.linear %view_4, %model.layers.0.self_attn.o_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc11)
  %add_6 = arith.addf %embedding, %linear_3 : tensor<2x16x32xf32> loc(#loc12)
  %model.layers.0.post_attention_layernorm.weight = zero.load @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> loc(#loc13)
  %rms_norm_3, %rms_norm_3_1 = nn.rms_norm %add_6, %model.layers.0.post_attention_layernorm.weight eps 1.0e-6 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc13)
  %model.layers.0.mlp.gate_proj.weight = zero.load @model.layers.0.mlp.gate_proj.weight : tensor<96x32xf32> loc(#loc14)
  %linear_4 = nn.linear %rms_norm_3, %model.layers.0.mlp.gate_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc14)
  %model.layers.0.mlp.up_proj.weight = zero.load @model.layers.0.mlp.up_proj.weight : tensor<96x32xf32> loc(#loc15)
  %linear_5 = nn.linear %rms_norm_3, %model.layers.0.mlp.up_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc15)
  %silu_mul = nn.silu_mul %linear_4, %linear_5 : tensor<2x16x96xf32> loc(#loc16)
  %model.layers.0.mlp.down_proj.weight = zero.load @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> loc(#loc17)
  %linear_6 = nn.linear %silu_mul, %model.layers.0.mlp.down_proj.weight transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32> loc(#loc17)
  %add_8 = arith.addf %add_6, %linear_6 : tensor<2x16x32xf32> loc(#loc18)
  %model.layers.1.input_layernorm.weight = zero.load @model.layers.1.input_layernorm.weight : tensor<32xf32> loc(#loc19)
  %rms_norm_5, %rms_norm_5_1 = nn.rms_norm %add_8, %model.layers.1.input_layernorm.weight eps 1.0e-6 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc19)
  %model.layers.1.self_attn.q_proj.weight = zero.load @model.layers.1.self_attn.q_proj.weight : tensor<32x32xf32> loc(#loc20)
  %linear_7 = nn.linear %rms_norm_5, %model.layers.1.self_attn.q_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc20)
  %view_5 = tensor.expand_shape %linear_7 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc21)
  %model.layers.1.self_attn.k_proj.weight = zero.load @model.layers.1.self_attn.k_proj.weight : tensor<16x32xf32> loc(#loc22)
  %linear_8 = nn.linear %rms_norm_5, %model.layers.1.self_attn.k_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc22)
  %view_6 = tensor.expand_shape %linear_8 [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : tensor<2x16x16xf32> into tensor<2x16x2x8xf32> loc(#loc23)
  %model.layers.1.self_attn.v_proj.weight = zero.load @model.layers.1.self_attn.v_proj.weight : tensor<16x32xf32> loc(#loc24)
  %linear_9 = nn.linear %rms_norm_5, %model.layers.1.self_attn.v_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc24)
  %view_7 = tensor.expand_shape %linear_9 [[0], [1], [2, 3]] output_shape [2, 16, 2, 8] : tensor<2x16x16xf32> into tensor<2x16x2x8xf32> loc(#loc25)
  %rotary_2 = nn.rotary %view_5 theta 10000.0 : tensor<2x16x4x8xf32> loc(#loc26)
  %rotary_3 = nn.rotary %view_6 theta 10000.0 : tensor<2x16x2x8xf32> loc(#loc26)
  %scaled_dot_product_attention_1_1, %scaled_dot_product_attention_1_2 = nn.attention %rotary_2, %rotary_3, %view_7 causal scale 0.3535533905932738 : (tensor<2x16x4x8xf32>, tensor<2x16x2x8xf32>, tensor<2x16x2x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc27)
  %view_9 = tensor.collapse_shape %scaled_dot_product_attention_1_1 [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32> loc(#loc28)
  %model.layers.1.self_attn.o_proj.weight = zero.load @model.layers.1.self_attn.o_proj.weight : tensor<32x32xf32> loc(#loc29)
  %linear_10 = nn.linear %view_9, %model.layers.1.self_attn.o_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc29)
  %add_12 = arith.addf %add_8, %linear_10 : tensor<2x16x32xf32> loc(#loc30)
  %model.layers.1.post_attention_layernorm.weight = zero.load @model.layers.1.post_attention_layernorm.weight : tensor<32xf32> loc(#loc31)
  %rms_norm_7, %rms_norm_7_1 = nn.rms_norm %add_12, %model.layers.1.post_attention_layernorm.weight eps 1.0e-6 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc31)
  %model.layers.1.mlp.gate_proj.weight = zero.load @model.layers.1.mlp.gate_proj.weight : tensor<96x32xf32> loc(#loc32)
  %linear_11 = nn.linear %rms_norm_7, %model.layers.1.mlp.gate_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc32)
  %model.layers.1.mlp.up_proj.weight = zero.load @model.layers.1.mlp.up_proj.weight : tensor<96x32xf32> loc(#loc33)
  %linear_12 = nn.linear %rms_norm_7, %model.layers.1.mlp.up_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc33)
  %silu_mul_1 = nn.silu_mul %linear_11, %linear_12 : tensor<2x16x96xf32> loc(#loc34)
  %model.layers.1.mlp.down_proj.weight = zero.load @model.layers.1.mlp.down_proj.weight : tensor<32x96xf32> loc(#loc35)
  %linear_13 = nn.linear %silu_mul_1, %model.layers.1.mlp.down_proj.weight transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32> loc(#loc35)
  %add_14 = arith.addf %add_12, %linear_13 : tensor<2x16x32xf32> loc(#loc36)
  %model.norm.weight = zero.load @model.norm.weight : tensor<32xf32> loc(#loc37)
  %rms_norm_9, %rms_norm_9_1 = nn.rms_norm %add_14, %model.norm.weight eps 1.0e-6 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc37)
  %lm_head.weight = zero.load @lm_head.weight : tensor<101x32xf32> loc(#loc38)
  %linear_14 = nn.linear %rms_norm_9, %lm_head.weight transposed : (tensor<2x16x32xf32>, tensor<101x32xf32>) -> tensor<2x16x101xf32> loc(#loc38)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc39)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc39)
  %slice_12 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc39)
  %view_10 = tensor.collapse_shape %linear_14 [[0, 1], [2]] : tensor<2x16x101xf32> into tensor<32x101xf32> loc(#loc39)
  %view_11 = tensor.collapse_shape %slice_12 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc39)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_10, %view_11 ignore_index -100 : (tensor<32x101xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc39)
  zero.yield %cross_entropy_loss : tensor<f32>
}

#loc0 = loc("model.embed_tokens, transformers/models/llama/modeling_llama.py":370:1)
#loc1 = loc("model.layers.0.input_layernorm, transformers/models/llama/modeling_llama.py":66:1)
#loc2 = loc("model.layers.0.self_attn.q_proj, transformers/models/llama/modeling_llama.py":243:1)
#loc3 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":243:1)
#loc4 = loc("model.layers.0.self_attn.k_proj, transformers/models/llama/modeling_llama.py":244:1)
#loc5 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":244:1)
#loc6 = loc("model.layers.0.self_attn.v_proj, transformers/models/llama/modeling_llama.py":245:1)
#loc7 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":245:1)
#loc8 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":248:1)
#loc9 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":257:1)
#loc10 = loc("model.layers.0.self_attn, transformers/models/llama/modeling_llama.py":268:1)
#loc11 = loc("model.layers.0.self_attn.o_proj, transformers/models/llama/modeling_llama.py":269:1)
#loc12 = loc("model.layers.0, transformers/models/llama/modeling_llama.py":306:1)
#loc13 = loc("model.layers.0.post_attention_layernorm, transformers/models/llama/modeling_llama.py":66:1)
#loc14 = loc("model.layers.0.mlp.gate_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc15 = loc("model.layers.0.mlp.up_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc16 = loc("model.layers.0.mlp, transformers/models/llama/modeling_llama.py":164:1)
#loc17 = loc("model.layers.0.mlp.down_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc18 = loc("model.layers.0, transformers/models/llama/modeling_llama.py":312:1)
#loc19 = loc("model.layers.1.input_layernorm, transformers/models/llama/modeling_llama.py":66:1)
#loc20 = loc("model.layers.1.self_attn.q_proj, transformers/models/llama/modeling_llama.py":243:1)
#loc21 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":243:1)
#loc22 = loc("model.layers.1.self_attn.k_proj, transformers/models/llama/modeling_llama.py":244:1)
#loc23 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":244:1)
#loc24 = loc("model.layers.1.self_attn.v_proj, transformers/models/llama/modeling_llama.py":245:1)
#loc25 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":245:1)
#loc26 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":248:1)
#loc27 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":257:1)
#loc28 = loc("model.layers.1.self_attn, transformers/models/llama/modeling_llama.py":268:1)
#loc29 = loc("model.layers.1.self_attn.o_proj, transformers/models/llama/modeling_llama.py":269:1)
#loc30 = loc("model.layers.1, transformers/models/llama/modeling_llama.py":306:1)
#loc31 = loc("model.layers.1.post_attention_layernorm, transformers/models/llama/modeling_llama.py":66:1)
#loc32 = loc("model.layers.1.mlp.gate_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc33 = loc("model.layers.1.mlp.up_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc34 = loc("model.layers.1.mlp, transformers/models/llama/modeling_llama.py":164:1)
#loc35 = loc("model.layers.1.mlp.down_proj, transformers/models/llama/modeling_llama.py":164:1)
#loc36 = loc("model.layers.1, transformers/models/llama/modeling_llama.py":312:1)
#loc37 = loc("model.norm, transformers/models/llama/modeling_llama.py":66:1)
#loc38 = loc("lm_head, transformers/models/llama/modeling_llama.py":468:1)
#loc39 = loc("transformers/models/llama/modeling_llama.py":472:1)
