// Made by import.py.

zero.parameter @model.embed_tokens.weight : tensor<100x32xf32> = #zero.normal<std = 0.02006>
zero.parameter @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01951>
zero.parameter @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02026>
zero.parameter @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> = #zero.normal<std = 0.02017>
zero.parameter @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.02109>
zero.parameter @model.layers.0.mlp.gate.weight : tensor<4x32xf32> = #zero.normal<std = 0.01944>
zero.parameter @model.layers.0.mlp.experts.gate_up_proj : tensor<4x96x32xf32> = #zero.normal<std = 0.01998>
zero.parameter @model.layers.0.mlp.experts.down_proj : tensor<4x32x48xf32> = #zero.normal<std = 0.01993>
zero.parameter @model.layers.0.input_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @lm_head.weight : tensor<100x32xf32> = #zero.normal<std = 0.02009>

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %model.embed_tokens.weight = zero.load @model.embed_tokens.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %model.embed_tokens.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %model.layers.0.input_layernorm.weight = zero.load @model.layers.0.input_layernorm.weight : tensor<32xf32> loc(#loc1)
  %rms_norm_1, %rms_norm_1_1 = nn.rms_norm %embedding, %model.layers.0.input_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc1)
  %model.layers.0.self_attn.q_proj.weight = zero.load @model.layers.0.self_attn.q_proj.weight : tensor<32x32xf32> loc(#loc2)
  %linear = nn.linear %rms_norm_1, %model.layers.0.self_attn.q_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc2)
  %view = tensor.expand_shape %linear [[0], [1], [2, 3]] output_shape [2, 16, 8, 4] : tensor<2x16x32xf32> into tensor<2x16x8x4xf32> loc(#loc3)
  %model.layers.0.self_attn.k_proj.weight = zero.load @model.layers.0.self_attn.k_proj.weight : tensor<16x32xf32> loc(#loc4)
  %linear_1 = nn.linear %rms_norm_1, %model.layers.0.self_attn.k_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc4)
  %view_1 = tensor.expand_shape %linear_1 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc5)
  %model.layers.0.self_attn.v_proj.weight = zero.load @model.layers.0.self_attn.v_proj.weight : tensor<16x32xf32> loc(#loc6)
  %linear_2 = nn.linear %rms_norm_1, %model.layers.0.self_attn.v_proj.weight transposed : (tensor<2x16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x16xf32> loc(#loc6)
  %view_2 = tensor.expand_shape %linear_2 [[0], [1], [2, 3]] output_shape [2, 16, 4, 4] : tensor<2x16x16xf32> into tensor<2x16x4x4xf32> loc(#loc7)
  %rotary = nn.rotary %view theta 1000000.0 : tensor<2x16x8x4xf32> loc(#loc8)
  %rotary_1 = nn.rotary %view_1 theta 1000000.0 : tensor<2x16x4x4xf32> loc(#loc8)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %rotary, %rotary_1, %view_2 causal scale 0.5 dropout 0.1 id 0 : (tensor<2x16x8x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>) -> (tensor<2x16x8x4xf32>, tensor<2x8x16xf32>) loc(#loc9)
  %view_4 = tensor.collapse_shape %scaled_dot_product_attention [[0], [1], [2, 3]] : tensor<2x16x8x4xf32> into tensor<2x16x32xf32> loc(#loc10)
  %model.layers.0.self_attn.o_proj.weight = zero.load @model.layers.0.self_attn.o_proj.weight : tensor<32x32xf32> loc(#loc11)
  %linear_3 = nn.linear %view_4, %model.layers.0.self_attn.o_proj.weight transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32> loc(#loc11)
  %add_6 = arith.addf %embedding, %linear_3 : tensor<2x16x32xf32> loc(#loc12)
  %model.layers.0.post_attention_layernorm.weight = zero.load @model.layers.0.post_attention_layernorm.weight : tensor<32xf32> loc(#loc13)
  %rms_norm_3, %rms_norm_3_1 = nn.rms_norm %add_6, %model.layers.0.post_attention_layernorm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc13)
  %view_5 = tensor.collapse_shape %rms_norm_3 [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32> loc(#loc14)
  %model.layers.0.mlp.gate.weight = zero.load @model.layers.0.mlp.gate.weight : tensor<4x32xf32> loc(#loc15)
  %linear_4 = nn.linear %view_5, %model.layers.0.mlp.gate.weight transposed : (tensor<32x32xf32>, tensor<4x32xf32>) -> tensor<32x4xf32> loc(#loc15)
  %softmax = nn.softmax %linear_4 : tensor<32x4xf32> loc(#loc16)
  %topk = nn.argsort %softmax descending first 2 : tensor<32x4xf32> -> tensor<32x2xi32> loc(#loc17)
  %topk_1 = nn.gather %softmax, %topk dim 1 : (tensor<32x4xf32>, tensor<32x2xi32>) -> tensor<32x2xf32> loc(#loc17)
  %sum_1 = nn.reduce sum %topk_1 dims [1] : (tensor<32x2xf32>) -> tensor<32xf32> loc(#loc18)
  %div = nn.broadcast %sum_1 dims [0] : (tensor<32xf32>) -> tensor<32x2xf32> loc(#loc18)
  %div_1 = arith.divf %topk_1, %div : tensor<32x2xf32> loc(#loc18)
  %dispatch, %dispatch_1, %dispatch_2 = nn.dispatch %view_5, %topk experts 4 : (tensor<32x32xf32>, tensor<32x2xi32>) -> (tensor<64x32xf32>, tensor<32x2xi32>, tensor<4xi32>) loc(#loc19)
  %model.layers.0.mlp.experts.gate_up_proj = zero.load @model.layers.0.mlp.experts.gate_up_proj : tensor<4x96x32xf32> loc(#loc19)
  %grouped_mm_fallback = nn.grouped_matmul %dispatch, %model.layers.0.mlp.experts.gate_up_proj offsets %dispatch_2 transpose_b : (tensor<64x32xf32>, tensor<4x96x32xf32>, tensor<4xi32>) -> tensor<64x96xf32> loc(#loc19)
  %split, %split_1 = nn.split %grouped_mm_fallback dim 1 sizes [48, 48] : (tensor<64x96xf32>) -> (tensor<64x48xf32>, tensor<64x48xf32>) loc(#loc19)
  %silu_mul = nn.silu_mul %split, %split_1 : tensor<64x48xf32> loc(#loc19)
  %model.layers.0.mlp.experts.down_proj = zero.load @model.layers.0.mlp.experts.down_proj : tensor<4x32x48xf32> loc(#loc19)
  %grouped_mm_fallback_1 = nn.grouped_matmul %silu_mul, %model.layers.0.mlp.experts.down_proj offsets %dispatch_2 transpose_b : (tensor<64x48xf32>, tensor<4x32x48xf32>, tensor<4xi32>) -> tensor<64x32xf32> loc(#loc19)
  %combine = nn.combine %grouped_mm_fallback_1, %dispatch_1 weights %div_1 : (tensor<64x32xf32>, tensor<32x2xi32>, tensor<32x2xf32>) -> tensor<32x32xf32> loc(#loc19)
  %view_7 = tensor.expand_shape %combine [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32> loc(#loc20)
  %add_8 = arith.addf %add_6, %view_7 : tensor<2x16x32xf32> loc(#loc21)
  %model.norm.weight = zero.load @model.norm.weight : tensor<32xf32> loc(#loc22)
  %rms_norm_5, %rms_norm_5_1 = nn.rms_norm %add_8, %model.norm.weight eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>) loc(#loc22)
  %lm_head.weight = zero.load @lm_head.weight : tensor<100x32xf32> loc(#loc23)
  %linear_5 = nn.linear %rms_norm_5, %lm_head.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc23)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc24)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc24)
  %slice_8 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc24)
  %view_8 = tensor.collapse_shape %linear_5 [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc24)
  %view_9 = tensor.collapse_shape %slice_8 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc24)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_8, %view_9 ignore_index -100 : (tensor<32x100xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc24)
  zero.yield %cross_entropy_loss, %linear_5 outputs ["logits"] : tensor<f32>, tensor<2x16x100xf32>
}

#loc0 = loc("model.embed_tokens, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":436:1)
#loc1 = loc("model.layers.0.input_layernorm, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":147:1)
#loc2 = loc("model.layers.0.self_attn.q_proj, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":299:1)
#loc3 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":299:1)
#loc4 = loc("model.layers.0.self_attn.k_proj, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":300:1)
#loc5 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":300:1)
#loc6 = loc("model.layers.0.self_attn.v_proj, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":301:1)
#loc7 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":301:1)
#loc8 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":304:1)
#loc9 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":313:1)
#loc10 = loc("model.layers.0.self_attn, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":325:1)
#loc11 = loc("model.layers.0.self_attn.o_proj, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":326:1)
#loc12 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":360:1)
#loc13 = loc("model.layers.0.post_attention_layernorm, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":147:1)
#loc14 = loc("model.layers.0.mlp, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":125:1)
#loc15 = loc("model.layers.0.mlp.gate, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":105:1)
#loc16 = loc("model.layers.0.mlp.gate, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":106:1)
#loc17 = loc("model.layers.0.mlp.gate, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":107:1)
#loc18 = loc("model.layers.0.mlp.gate, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":108:1)
#loc19 = loc("model.layers.0.mlp.experts, build/python/lib/python3.11/site-packages/transformers/integrations/moe.py":634:1)
#loc20 = loc("model.layers.0.mlp, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":128:1)
#loc21 = loc("model.layers.0, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":364:1)
#loc22 = loc("model.norm, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":147:1)
#loc23 = loc("lm_head, build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":616:1)
#loc24 = loc("build/python/lib/python3.11/site-packages/transformers/models/mixtral/modeling_mixtral.py":620:1)
