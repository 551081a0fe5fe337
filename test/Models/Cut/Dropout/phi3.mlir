// Made by import.py.

zero.parameter @model.embed_tokens.weight : tensor<100x32xf32> = #zero.normal<std = 0.02005>
zero.parameter @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01975>
zero.parameter @model.layers.0.self_attn.qkv_proj.weight : tensor<64x32xf32> = #zero.normal<std = 0.01961>
zero.parameter @model.layers.0.mlp.gate_up_proj.weight : tensor<192x32xf32> = #zero.normal<std = 0.02007>
zero.parameter @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> = #zero.normal<std = 0.0197>
zero.parameter @model.layers.0.input_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : tensor<100x32xf32> = #zero.normal<std = 0.02004>

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %model.embed_tokens.weight = zero.load @model.embed_tokens.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %model.embed_tokens.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %model.layers.0.input_layernorm.weight = zero.load @model.layers.0.input_layernorm.weight : tensor<32xf32> loc(#loc1)
  %rms_norm_1, %rms_norm_1_1 = nn.rms_norm %embedding, %model.layers.0.input_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc1)
  %model.layers.0.self_attn.qkv_proj.weight = zero.load @model.layers.0.self_attn.qkv_proj.weight : tensor<64x32xf32> loc(#loc2)
  %linear = nn.linear %rms_norm_1, %model.layers.0.self_attn.qkv_proj.weight transposed : (tensor<2x16x32xf32>, tensor<64x32xf32>) -> tensor<2x16x64xf32> loc(#loc2)
  %slice_4 = tensor.extract_slice %linear[0, 0, 0] [2, 16, 32] [1, 1, 1] : tensor<2x16x64xf32> to tensor<2x16x32xf32> loc(#loc3)
  %slice_5 = tensor.extract_slice %linear[0, 0, 32] [2, 16, 16] [1, 1, 1] : tensor<2x16x64xf32> to tensor<2x16x16xf32> loc(#loc4)
  %slice_6 = tensor.extract_slice %linear[0, 0, 48] [2, 16, 16] [1, 1, 1] : tensor<2x16x64xf32> to tensor<2x16x16xf32> loc(#loc5)
  %view = tensor.expand_shape %slice_4 [[0], [1], [2, 3]] output_shape [2, 16, 8, 4] : tensor<2x16x32xf32> into tensor<2x16x8x4xf32> loc(#loc6)
  %view_1 = tensor.expand_shape %slice_5 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc7)
  %view_2 = tensor.expand_shape %slice_6 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc8)
  %rotary = nn.rotary %view theta 10000.0 : tensor<2x16x8x4xf32> loc(#loc9)
  %rotary_1 = nn.rotary %view_1 theta 10000.0 : tensor<2x16x4x4xf32> loc(#loc9)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %rotary, %rotary_1, %view_2 causal scale 0.5 dropout 0.1 id 0 : (tensor<2x16x8x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> (tensor<2x16x8x4xf32>, tensor<2x8x16xf32>) loc(#loc10)
  %view_4 = tensor.collapse_shape %scaled_dot_product_attention [[0], [1], [2, 3]] : tensor<2x16x8x4xf32> into tensor<2x16x32xf32> loc(#loc11)
  %model.layers.0.self_attn.o_proj.weight = zero.load @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> loc(#loc12)
  %linear_1 = nn.linear %view_4, %model.layers.0.self_attn.o_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc12)
  %native_dropout = nn.dropout %linear_1 p 0.1 id 1 : tensor<2x16x32xf32> loc(#loc13)
  %add_6 = arith.addf %embedding, %native_dropout : tensor<2x16x32xf32> loc(#loc14)
  %model.layers.0.post_attention_layernorm.weight = zero.load @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> loc(#loc15)
  %rms_norm_3, %rms_norm_3_1 = nn.rms_norm %add_6, %model.layers.0.post_attention_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc15)
  %model.layers.0.mlp.gate_up_proj.weight = zero.load @model.layers.0.mlp.gate_up_proj.weight : tensor<192x32xf32> loc(#loc16)
  %linear_2 = nn.linear %rms_norm_3, %model.layers.0.mlp.gate_up_proj.weight transposed : (tensor<2x16x32xf32>, tensor<192x32xf32>) -> tensor<2x16x192xf32> loc(#loc16)
  %split, %split_1 = nn.split %linear_2 dim 2 sizes [96, 96] : (tensor<2x16x192xf32>) -> (tensor<2x16x96xf32>, tensor<2x16x96xf32>) loc(#loc17)
  %silu_mul = nn.silu_mul %split, %split_1 : tensor<2x16x96xf32> loc(#loc18)
  %model.layers.0.mlp.down_proj.weight = zero.load @model.layers.0.mlp.down_proj.weight : tensor<32x96xf32> loc(#loc19)
  %linear_3 = nn.linear %silu_mul, %model.layers.0.mlp.down_proj.weight transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>) -> tensor<2x16x32xf32> loc(#loc19)
  %native_dropout_1 = nn.dropout %linear_3 p 0.1 id 2 : tensor<2x16x32xf32> loc(#loc20)
  %add_8 = arith.addf %add_6, %native_dropout_1 : tensor<2x16x32xf32> loc(#loc21)
  %model.norm.weight = zero.load @model.norm.weight : tensor<32xf32> loc(#loc22)
  %rms_norm_5, %rms_norm_5_1 = nn.rms_norm %add_8, %model.norm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc22)
  %lm_head.weight = zero.load @lm_head.weight : tensor<100x32xf32> loc(#loc23)
  %linear_4 = nn.linear %rms_norm_5, %lm_head.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc23)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc24)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc24)
  %slice_13 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc24)
  %view_5 = tensor.collapse_shape %linear_4 [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc24)
  %view_6 = tensor.collapse_shape %slice_13 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc24)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_5, %view_6 ignore_index -100 : (tensor<32x100xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc24)
  zero.yield %cross_entropy_loss, %linear_4 outputs ["logits"] : tensor<f32>, tensor<2x16x100xf32>
}

#loc0 = loc("model.embed_tokens, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":374:1)
#loc1 = loc("model.layers.0.input_layernorm, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":270:1)
#loc2 = loc("model.layers.0.self_attn.qkv_proj, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":218:1)
#loc3 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":220:1)
#loc4 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":221:1)
#loc5 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":222:1)
#loc6 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":224:1)
#loc7 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":225:1)
#loc8 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":226:1)
#loc9 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":229:1)
#loc10 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":238:1)
#loc11 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":250:1)
#loc12 = loc("model.layers.0.self_attn.o_proj, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":251:1)
#loc13 = loc("model.layers.0.resid_attn_dropout, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":310:1)
#loc14 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":310:1)
#loc15 = loc("model.layers.0.post_attention_layernorm, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":270:1)
#loc16 = loc("model.layers.0.mlp.gate_up_proj, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":58:1)
#loc17 = loc("model.layers.0.mlp, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":60:1)
#loc18 = loc("model.layers.0.mlp, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":61:1)
#loc19 = loc("model.layers.0.mlp.down_proj, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":63:1)
#loc20 = loc("model.layers.0.resid_mlp_dropout, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":315:1)
#loc21 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":315:1)
#loc22 = loc("model.norm, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":270:1)
#loc23 = loc("lm_head, build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":472:1)
#loc24 = loc("build/python/lib/python3.11/site-packages/transformers/models/phi3/modeling_phi3.py":476:1)
