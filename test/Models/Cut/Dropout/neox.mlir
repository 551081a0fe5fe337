// Made by import.py.

zero.parameter @gpt_neox.embed_in.weight : tensor<100x32xf32> = #zero.normal<std = 0.02>
zero.parameter @gpt_neox.layers.0.input_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @gpt_neox.layers.0.input_layernorm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.layers.0.post_attention_layernorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @gpt_neox.layers.0.post_attention_layernorm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.layers.0.attention.query_key_value.weight : tensor<96x32xf32> = #zero.normal<std = 0.02005>
zero.parameter @gpt_neox.layers.0.attention.query_key_value.bias : tensor<96xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.layers.0.attention.dense.weight : tensor<32x32xf32> = #zero.normal<std = 0.01969>
zero.parameter @gpt_neox.layers.0.attention.dense.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.layers.0.mlp.dense_h_to_4h.weight : tensor<96x32xf32> = #zero.normal<std = 0.0198>
zero.parameter @gpt_neox.layers.0.mlp.dense_h_to_4h.bias : tensor<96xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.layers.0.mlp.dense_4h_to_h.weight : tensor<32x96xf32> = #zero.normal<std = 0.02>
zero.parameter @gpt_neox.layers.0.mlp.dense_4h_to_h.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @gpt_neox.final_layer_norm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @gpt_neox.final_layer_norm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @lm_head.weight : tensor<100x32xf32> = #zero.normal<std = 0.02006>

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %gpt_neox.embed_in.weight = zero.load @gpt_neox.embed_in.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %gpt_neox.embed_in.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %native_dropout = nn.dropout %embedding p 0.1 id 0 : tensor<2x16x32xf32> loc(#loc1)
  %gpt_neox.layers.0.input_layernorm.weight = zero.load @gpt_neox.layers.0.input_layernorm.weight : tensor<32xf32> loc(#loc2)
  %gpt_neox.layers.0.input_layernorm.bias = zero.load @gpt_neox.layers.0.input_layernorm.bias : tensor<32xf32> loc(#loc2)
  %layer_norm, %layer_norm_1, %layer_norm_2 = nn.layer_norm %native_dropout, %gpt_neox.layers.0.input_layernorm.weight, %gpt_neox.layers.0.input_layernorm.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc2)
  %gpt_neox.layers.0.attention.query_key_value.weight = zero.load @gpt_neox.layers.0.attention.query_key_value.weight : tensor<96x32xf32> loc(#loc3)
  %gpt_neox.layers.0.attention.query_key_value.bias = zero.load @gpt_neox.layers.0.attention.query_key_value.bias : tensor<96xf32> loc(#loc3)
  %linear = nn.linear %layer_norm, %gpt_neox.layers.0.attention.query_key_value.weight bias %gpt_neox.layers.0.attention.query_key_value.bias transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x16x96xf32> loc(#loc3)
  %view = tensor.expand_shape %linear [[0], [1], [2, 3]] output_shape [2, 16, 4, 24] : tensor<2x16x96xf32> into tensor<2x16x4x24xf32> loc(#loc4)
  %transpose = nn.transpose %view permutation [0, 2, 1, 3] : (tensor<2x16x4x24xf32>) -> tensor<2x4x16x24xf32> loc(#loc4)
  %split, %split_1, %split_2 = nn.split %transpose dim 3 sizes [8, 8, 8] : (tensor<2x4x16x24xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) loc(#loc5)
  %slice_4 = tensor.extract_slice %split[0, 0, 0, 0] [2, 4, 16, 2] [1, 1, 1, 1] : tensor<2x4x16x8xf32> to tensor<2x4x16x2xf32> loc(#loc6)
  %slice_5 = tensor.extract_slice %split[0, 0, 0, 2] [2, 4, 16, 6] [1, 1, 1, 1] : tensor<2x4x16x8xf32> to tensor<2x4x16x6xf32> loc(#loc6)
  %slice_6 = tensor.extract_slice %split_1[0, 0, 0, 0] [2, 4, 16, 2] [1, 1, 1, 1] : tensor<2x4x16x8xf32> to tensor<2x4x16x2xf32> loc(#loc6)
  %slice_7 = tensor.extract_slice %split_1[0, 0, 0, 2] [2, 4, 16, 6] [1, 1, 1, 1] : tensor<2x4x16x8xf32> to tensor<2x4x16x6xf32> loc(#loc6)
  %mul_3 = arith.constant dense<[1.0, 0.5403023362159729, -0.416146844625473, -0.9899924993515015, -0.6536436080932617, 0.28366219997406006, 0.9601702690124512, 0.7539022564888, -0.1455000340938568, -0.9111302495002747, -0.83907151222229, 0.004425697959959507, 0.8438539505004883, 0.9074468016624451, 0.13673721253871918, -0.7596879005432129]> : tensor<16xf32> loc(#loc6)
  %mul_3_1 = nn.broadcast %mul_3 dims [2] : (tensor<16xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_3_2 = arith.mulf %slice_4, %mul_3_1 : tensor<2x4x16x2xf32> loc(#loc6)
  %slice_8 = tensor.extract_slice %slice_4[0, 0, 0, 0] [2, 4, 16, 1] [1, 1, 1, 1] : tensor<2x4x16x2xf32> to tensor<2x4x16x1xf32> loc(#loc6)
  %slice_9 = tensor.extract_slice %slice_4[0, 0, 0, 1] [2, 4, 16, 1] [1, 1, 1, 1] : tensor<2x4x16x2xf32> to tensor<2x4x16x1xf32> loc(#loc6)
  %neg = arith.negf %slice_9 : tensor<2x4x16x1xf32> loc(#loc6)
  %cat_2 = tensor.concat dim(3) %neg, %slice_8 : (tensor<2x4x16x1xf32>, tensor<2x4x16x1xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_4 = arith.constant dense<[0.0, 0.8414709568023682, 0.9092974066734314, 0.14112000167369843, -0.756802499294281, -0.9589242935180664, -0.279415488243103, 0.6569865942001343, 0.9893582463264465, 0.41211849451065063, -0.5440211296081543, -0.9999902248382568, -0.5365729331970215, 0.4201670289039612, 0.9906073808670044, 0.6502878665924072]> : tensor<16xf32> loc(#loc6)
  %mul_4_1 = nn.broadcast %mul_4 dims [2] : (tensor<16xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_4_2 = arith.mulf %cat_2, %mul_4_1 : tensor<2x4x16x2xf32> loc(#loc6)
  %add_3 = arith.addf %mul_3_2, %mul_4_2 : tensor<2x4x16x2xf32> loc(#loc6)
  %mul_5 = arith.constant dense<[1.0, 0.5403023362159729, -0.416146844625473, -0.9899924993515015, -0.6536436080932617, 0.28366219997406006, 0.9601702690124512, 0.7539022564888, -0.1455000340938568, -0.9111302495002747, -0.83907151222229, 0.004425697959959507, 0.8438539505004883, 0.9074468016624451, 0.13673721253871918, -0.7596879005432129]> : tensor<16xf32> loc(#loc6)
  %mul_5_1 = nn.broadcast %mul_5 dims [2] : (tensor<16xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_5_2 = arith.mulf %slice_6, %mul_5_1 : tensor<2x4x16x2xf32> loc(#loc6)
  %slice_10 = tensor.extract_slice %slice_6[0, 0, 0, 0] [2, 4, 16, 1] [1, 1, 1, 1] : tensor<2x4x16x2xf32> to tensor<2x4x16x1xf32> loc(#loc6)
  %slice_11 = tensor.extract_slice %slice_6[0, 0, 0, 1] [2, 4, 16, 1] [1, 1, 1, 1] : tensor<2x4x16x2xf32> to tensor<2x4x16x1xf32> loc(#loc6)
  %neg_1 = arith.negf %slice_11 : tensor<2x4x16x1xf32> loc(#loc6)
  %cat_3 = tensor.concat dim(3) %neg_1, %slice_10 : (tensor<2x4x16x1xf32>, tensor<2x4x16x1xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_6 = arith.constant dense<[0.0, 0.8414709568023682, 0.9092974066734314, 0.14112000167369843, -0.756802499294281, -0.9589242935180664, -0.279415488243103, 0.6569865942001343, 0.9893582463264465, 0.41211849451065063, -0.5440211296081543, -0.9999902248382568, -0.5365729331970215, 0.4201670289039612, 0.9906073808670044, 0.6502878665924072]> : tensor<16xf32> loc(#loc6)
  %mul_6_1 = nn.broadcast %mul_6 dims [2] : (tensor<16xf32>) -> tensor<2x4x16x2xf32> loc(#loc6)
  %mul_6_2 = arith.mulf %cat_3, %mul_6_1 : tensor<2x4x16x2xf32> loc(#loc6)
  %add_4 = arith.addf %mul_5_2, %mul_6_2 : tensor<2x4x16x2xf32> loc(#loc6)
  %cat_4 = tensor.concat dim(3) %add_3, %slice_5 : (tensor<2x4x16x2xf32>, tensor<2x4x16x6xf32>) -> tensor<2x4x16x8xf32> loc(#loc6)
  %cat_5 = tensor.concat dim(3) %add_4, %slice_7 : (tensor<2x4x16x2xf32>, tensor<2x4x16x6xf32>) -> tensor<2x4x16x8xf32> loc(#loc6)
  %scaled_dot_product_attention = nn.transpose %cat_4 permutation [0, 2, 1, 3] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32> loc(#loc7)
  %scaled_dot_product_attention_1 = nn.transpose %cat_5 permutation [0, 2, 1, 3] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32> loc(#loc7)
  %scaled_dot_product_attention_2 = nn.transpose %split_2 permutation [0, 2, 1, 3] : (tensor<2x4x16x8xf32>) -> tensor<2x16x4x8xf32> loc(#loc7)
  %scaled_dot_product_attention_3, %scaled_dot_product_attention_4 = nn.attention %scaled_dot_product_attention, %scaled_dot_product_attention_1, %scaled_dot_product_attention_2 causal scale 0.3535533905932738 dropout 0.1 id 1 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc7)
  %view_2 = tensor.collapse_shape %scaled_dot_product_attention_3 [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32> loc(#loc8)
  %gpt_neox.layers.0.attention.dense.weight = zero.load @gpt_neox.layers.0.attention.dense.weight : tensor<32x32xf32> loc(#loc9)
  %gpt_neox.layers.0.attention.dense.bias = zero.load @gpt_neox.layers.0.attention.dense.bias : tensor<32xf32> loc(#loc9)
  %linear_1 = nn.linear %view_2, %gpt_neox.layers.0.attention.dense.weight bias %gpt_neox.layers.0.attention.dense.bias transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc9)
  %native_dropout_1 = nn.dropout %linear_1 p 0.1 id 2 : tensor<2x16x32xf32> loc(#loc10)
  %gpt_neox.layers.0.post_attention_layernorm.weight = zero.load @gpt_neox.layers.0.post_attention_layernorm.weight : tensor<32xf32> loc(#loc11)
  %gpt_neox.layers.0.post_attention_layernorm.bias = zero.load @gpt_neox.layers.0.post_attention_layernorm.bias : tensor<32xf32> loc(#loc11)
  %layer_norm_1_1, %layer_norm_1_2, %layer_norm_1_3 = nn.layer_norm %native_dropout, %gpt_neox.layers.0.post_attention_layernorm.weight, %gpt_neox.layers.0.post_attention_layernorm.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc11)
  %gpt_neox.layers.0.mlp.dense_h_to_4h.weight = zero.load @gpt_neox.layers.0.mlp.dense_h_to_4h.weight : tensor<96x32xf32> loc(#loc12)
  %gpt_neox.layers.0.mlp.dense_h_to_4h.bias = zero.load @gpt_neox.layers.0.mlp.dense_h_to_4h.bias : tensor<96xf32> loc(#loc12)
  %linear_2 = nn.linear %layer_norm_1_1, %gpt_neox.layers.0.mlp.dense_h_to_4h.weight bias %gpt_neox.layers.0.mlp.dense_h_to_4h.bias transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x16x96xf32> loc(#loc12)
  %gelu = nn.gelu exact %linear_2 : tensor<2x16x96xf32> loc(#loc13)
  %gpt_neox.layers.0.mlp.dense_4h_to_h.weight = zero.load @gpt_neox.layers.0.mlp.dense_4h_to_h.weight : tensor<32x96xf32> loc(#loc14)
  %gpt_neox.layers.0.mlp.dense_4h_to_h.bias = zero.load @gpt_neox.layers.0.mlp.dense_4h_to_h.bias : tensor<32xf32> loc(#loc14)
  %linear_3 = nn.linear %gelu, %gpt_neox.layers.0.mlp.dense_4h_to_h.weight bias %gpt_neox.layers.0.mlp.dense_4h_to_h.bias transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc14)
  %native_dropout_2 = nn.dropout %linear_3 p 0.1 id 3 : tensor<2x16x32xf32> loc(#loc15)
  %add_5 = arith.addf %native_dropout_2, %native_dropout_1 : tensor<2x16x32xf32> loc(#loc16)
  %add_6 = arith.addf %add_5, %native_dropout : tensor<2x16x32xf32> loc(#loc16)
  %gpt_neox.final_layer_norm.weight = zero.load @gpt_neox.final_layer_norm.weight : tensor<32xf32> loc(#loc17)
  %gpt_neox.final_layer_norm.bias = zero.load @gpt_neox.final_layer_norm.bias : tensor<32xf32> loc(#loc17)
  %layer_norm_2_1, %layer_norm_2_2, %layer_norm_2_3 = nn.layer_norm %add_6, %gpt_neox.final_layer_norm.weight, %gpt_neox.final_layer_norm.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc17)
  %lm_head.weight = zero.load @lm_head.weight : tensor<100x32xf32> loc(#loc18)
  %linear_4 = nn.linear %layer_norm_2_1, %lm_head.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc18)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc19)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc19)
  %slice_12 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc19)
  %view_3 = tensor.collapse_shape %linear_4 [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc19)
  %view_4 = tensor.collapse_shape %slice_12 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc19)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_3, %view_4 ignore_index -100 : (tensor<32x100xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc19)
  zero.yield %cross_entropy_loss, %linear_4 outputs ["logits"] : tensor<f32>, tensor<2x16x100xf32>
}

#loc0 = loc("gpt_neox.embed_in, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":326:1)
#loc1 = loc("gpt_neox.emb_dropout, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":344:1)
#loc2 = loc("gpt_neox.layers.0.input_layernorm, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":250:1)
#loc3 = loc("gpt_neox.layers.0.attention.query_key_value, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":195:1)
#loc4 = loc("gpt_neox.layers.0.attention, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":195:1)
#loc5 = loc("gpt_neox.layers.0.attention, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":196:1)
#loc6 = loc("gpt_neox.layers.0.attention, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":199:1)
#loc7 = loc("gpt_neox.layers.0.attention, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":210:1)
#loc8 = loc("gpt_neox.layers.0.attention, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":222:1)
#loc9 = loc("gpt_neox.layers.0.attention.dense, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":223:1)
#loc10 = loc("gpt_neox.layers.0.post_attention_dropout, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":258:1)
#loc11 = loc("gpt_neox.layers.0.post_attention_layernorm, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":261:1)
#loc12 = loc("gpt_neox.layers.0.mlp.dense_h_to_4h, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":45:1)
#loc13 = loc("gpt_neox.layers.0.mlp.act, build/python/lib/python3.11/site-packages/transformers/activations.py":89:1)
#loc14 = loc("gpt_neox.layers.0.mlp.dense_4h_to_h, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":47:1)
#loc15 = loc("gpt_neox.layers.0.post_mlp_dropout, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":262:1)
#loc16 = loc("gpt_neox.layers.0, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":263:1)
#loc17 = loc("gpt_neox.final_layer_norm, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":357:1)
#loc18 = loc("lm_head, build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":445:1)
#loc19 = loc("build/python/lib/python3.11/site-packages/transformers/models/gpt_neox/modeling_gpt_neox.py":449:1)
