// Made by import.py.

zero.parameter @model.embed_tokens.weight : tensor<100x32xf32> = #zero.normal<std = 0.02005>
zero.parameter @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01975>
zero.parameter @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02011>
zero.parameter @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.01991>
zero.parameter @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01921>
zero.parameter @model.layers.0.self_attn.q_norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.self_attn.k_norm.weight : tensor<16xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.mlp.gate_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.01994>
zero.parameter @model.layers.0.mlp.up_proj.weight : tensor<96x32xf32> = #zero.normal<std = 0.02019>
zero.parameter @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> = #zero.normal<std = 0.0197>
zero.parameter @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.post_feedforward_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : tensor<100x32xf32> = #zero.normal<std = 0.02004>

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %model.embed_tokens.weight = zero.load @model.embed_tokens.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %model.embed_tokens.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %model.layers.0.self_attn.q_proj.weight = zero.load @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> loc(#loc1)
  %linear = nn.linear %embedding, %model.layers.0.self_attn.q_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc1)
  %model.layers.0.self_attn.q_norm.weight = zero.load @model.layers.0.self_attn.q_norm.weight : tensor<32xf32> loc(#loc2)
  %rms_norm_1, %rms_norm_1_1 = nn.rms_norm %linear, %model.layers.0.self_attn.q_norm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc2)
  %model.layers.0.self_attn.k_proj.weight = zero.load @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> loc(#loc3)
  %linear_1 = nn.linear %embedding, %model.layers.0.self_attn.k_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc3)
  %model.layers.0.self_attn.k_norm.weight = zero.load @model.layers.0.self_attn.k_norm.weight : tensor<16xf32> loc(#loc4)
  %rms_norm_3, %rms_norm_3_1 = nn.rms_norm %linear_1, %model.layers.0.self_attn.k_norm.weight eps 1.0e-5 : (tensor<2x16x16xf32>, tensor<16xf32>) -> (tensor<2x16x16xf32>, tensor<2x16xf32>) loc(#loc4)
  %model.layers.0.self_attn.v_proj.weight = zero.load @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> loc(#loc5)
  %linear_2 = nn.linear %embedding, %model.layers.0.self_attn.v_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc5)
  %view = tensor.expand_shape %rms_norm_1 [[0], [1], [2, 3]] output_shape [2, 16, 8, 4] : tensor<2x16x32xf32> into tensor<2x16x8x4xf32> loc(#loc6)
  %view_1 = tensor.expand_shape %rms_norm_3 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc7)
  %view_2 = tensor.expand_shape %linear_2 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc8)
  %rotary = nn.rotary %view theta 10000.0 : tensor<2x16x8x4xf32> loc(#loc9)
  %rotary_1 = nn.rotary %view_1 theta 10000.0 : tensor<2x16x4x4xf32> loc(#loc9)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %rotary, %rotary_1, %view_2 causal scale 0.5 dropout 0.1 id 0 : (tensor<2x16x8x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> (tensor<2x16x8x4xf32>, tensor<2x8x16xf32>) loc(#loc10)
  %view_4 = tensor.collapse_shape %scaled_dot_product_attention [[0], [1], [2, 3]] : tensor<2x16x8x4xf32> into tensor<2x16x32xf32> loc(#loc11)
  %model.layers.0.self_attn.o_proj.weight = zero.load @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> loc(#loc12)
  %linear_3 = nn.linear %view_4, %model.layers.0.self_attn.o_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc12)
  %model.layers.0.post_attention_layernorm.weight = zero.load @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> loc(#loc13)
  %rms_norm_5, %rms_norm_5_1 = nn.rms_norm %linear_3, %model.layers.0.post_attention_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc13)
  %add_8 = arith.addf %embedding, %rms_norm_5 : tensor<2x16x32xf32> loc(#loc14)
  %model.layers.0.mlp.gate_proj.weight = zero.load @model.layers.0.mlp.gate_proj.weight : tensor<96x32xf32> loc(#loc15)
  %linear_4 = nn.linear %add_8, %model.layers.0.mlp.gate_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc15)
  %model.layers.0.mlp.up_proj.weight = zero.load @model.layers.0.mlp.up_proj.weight : tensor<96x32xf32> loc(#loc16)
  %linear_5 = nn.linear %add_8, %model.layers.0.mlp.up_proj.weight transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>) -> tensor<2x16x96xf32> loc(#loc16)
  %silu_mul = nn.silu_mul %linear_4, %linear_5 : tensor<2x16x96xf32> loc(#loc17)
  %model.layers.0.mlp.down_proj.weight = zero.load @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> loc(#loc18)
  %linear_6 = nn.linear %silu_mul, %model.layers.0.mlp.down_proj.weight transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32> loc(#loc18)
  %model.layers.0.post_feedforward_layernorm.weight = zero.load @model.layers.0.post_feedforward_layernorm.weight : tensor<32xf32> loc(#loc19)
  %rms_norm_7, %rms_norm_7_1 = nn.rms_norm %linear_6, %model.layers.0.post_feedforward_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc19)
  %add_10 = arith.addf %add_8, %rms_norm_7 : tensor<2x16x32xf32> loc(#loc20)
  %model.norm.weight = zero.load @model.norm.weight : tensor<32xf32> loc(#loc21)
  %rms_norm_9, %rms_norm_9_1 = nn.rms_norm %add_10, %model.norm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc21)
  %lm_head.weight = zero.load @lm_head.weight : tensor<100x32xf32> loc(#loc22)
  %linear_7 = nn.linear %rms_norm_9, %lm_head.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc22)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc23)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc23)
  %slice_8 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc23)
  %view_5 = tensor.collapse_shape %linear_7 [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc23)
  %view_6 = tensor.collapse_shape %slice_8 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc23)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_5, %view_6 ignore_index -100 : (tensor<32x100xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc23)
  zero.yield %cross_entropy_loss, %linear_7 outputs ["logits"] : tensor<f32>, tensor<2x16x100xf32>
}

#loc0 = loc("model.embed_tokens, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":372:1)
#loc1 = loc("model.layers.0.self_attn.q_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":227:1)
#loc2 = loc("model.layers.0.self_attn.q_norm, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":64:1)
#loc3 = loc("model.layers.0.self_attn.k_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":228:1)
#loc4 = loc("model.layers.0.self_attn.k_norm, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":64:1)
#loc5 = loc("model.layers.0.self_attn.v_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":229:1)
#loc6 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":231:1)
#loc7 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":232:1)
#loc8 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":233:1)
#loc9 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":236:1)
#loc10 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":245:1)
#loc11 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":256:1)
#loc12 = loc("model.layers.0.self_attn.o_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":257:1)
#loc13 = loc("model.layers.0.post_attention_layernorm, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":64:1)
#loc14 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":308:1)
#loc15 = loc("model.layers.0.mlp.gate_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":273:1)
#loc16 = loc("model.layers.0.mlp.up_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":273:1)
#loc17 = loc("model.layers.0.mlp, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":273:1)
#loc18 = loc("model.layers.0.mlp.down_proj, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":273:1)
#loc19 = loc("model.layers.0.post_feedforward_layernorm, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":64:1)
#loc20 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":314:1)
#loc21 = loc("model.norm, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":64:1)
#loc22 = loc("lm_head, build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":470:1)
#loc23 = loc("build/python/lib/python3.11/site-packages/transformers/models/olmo2/modeling_olmo2.py":474:1)
