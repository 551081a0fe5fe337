// Made by import.py.

zero.parameter @model.transformer.wte.weight : tensor<100x32xf32> = #zero.normal<std = 0.02007>
zero.parameter @model.transformer.wpe.weight : tensor<32x32xf32> = #zero.normal<std = 0.02001>
zero.parameter @model.transformer.h.0.ln_1.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.transformer.h.0.ln_1.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.h.0.attn.c_attn.weight : tensor<32x96xf32> = #zero.normal<std = 0.01973>
zero.parameter @model.transformer.h.0.attn.c_attn.bias : tensor<96xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.h.0.attn.c_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01417>
zero.parameter @model.transformer.h.0.attn.c_proj.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.h.0.ln_2.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.transformer.h.0.ln_2.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.h.0.mlp.c_fc.weight : tensor<32x128xf32> = #zero.normal<std = 0.01999>
zero.parameter @model.transformer.h.0.mlp.c_fc.bias : tensor<128xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.h.0.mlp.c_proj.weight : tensor<128x32xf32> = #zero.normal<std = 0.01427>
zero.parameter @model.transformer.h.0.mlp.c_proj.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @model.transformer.ln_f.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @model.transformer.ln_f.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.stored_tensor "model.lm_head.weight" of @model.transformer.wte.weight

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16x100xf32> {zero.input = "labels"}) {
  %model.transformer.wte.weight = zero.load @model.transformer.wte.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %model.transformer.wte.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %model.transformer.wpe.weight = zero.load @model.transformer.wpe.weight : tensor<32x32xf32> loc(#loc1)
  %embedding_1 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32> loc(#loc1)
  %embedding_1_1 = nn.broadcast %embedding_1 dims [1] : (tensor<16xi32>) -> tensor<1x16xi32> loc(#loc1)
  %embedding_1_2 = nn.embedding %embedding_1_1, %model.transformer.wpe.weight : (tensor<1x16xi32>, tensor<32x32xf32>) -> tensor<1x16x32xf32> loc(#loc1)
  %add_1 = tensor.collapse_shape %embedding_1_2 [[0, 1], [2]] : tensor<1x16x32xf32> into tensor<16x32xf32> loc(#loc2)
  %add_1_1 = nn.broadcast %add_1 dims [1, 2] : (tensor<16x32xf32>) -> tensor<2x16x32xf32> loc(#loc2)
  %add_1_2 = arith.addf %embedding, %add_1_1 : tensor<2x16x32xf32> loc(#loc2)
  %model.transformer.h.0.ln_1.weight = zero.load @model.transformer.h.0.ln_1.weight : tensor<32xf32> loc(#loc3)
  %model.transformer.h.0.ln_1.bias = zero.load @model.transformer.h.0.ln_1.bias : tensor<32xf32> loc(#loc3)
  %layer_norm, %layer_norm_1, %layer_norm_2 = nn.layer_norm %add_1_2, %model.transformer.h.0.ln_1.weight, %model.transformer.h.0.ln_1.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc3)
  %view_1 = tensor.collapse_shape %layer_norm [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32> loc(#loc4)
  %model.transformer.h.0.attn.c_attn.bias = zero.load @model.transformer.h.0.attn.c_attn.bias : tensor<96xf32> loc(#loc4)
  %model.transformer.h.0.attn.c_attn.weight = zero.load @model.transformer.h.0.attn.c_attn.weight : tensor<32x96xf32> loc(#loc4)
  %addmm = nn.linear %view_1, %model.transformer.h.0.attn.c_attn.weight bias %model.transformer.h.0.attn.c_attn.bias : (tensor<32x32xf32>, tensor<32x96xf32>, tensor<96xf32>) -> tensor<32x96xf32> loc(#loc4)
  %view_2 = tensor.expand_shape %addmm [[0, 1], [2]] output_shape [2, 16, 96] : tensor<32x96xf32> into tensor<2x16x96xf32> loc(#loc5)
  %split, %split_1, %split_2 = nn.split %view_2 dim 2 sizes [32, 32, 32] : (tensor<2x16x96xf32>) -> (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>) loc(#loc6)
  %view_3 = tensor.expand_shape %split_1 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc7)
  %view_4 = tensor.expand_shape %split_2 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc8)
  %view_5 = tensor.expand_shape %split [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc9)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %view_5, %view_3, %view_4 causal scale 0.3535533905932738 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc10)
  %view_8 = tensor.collapse_shape %scaled_dot_product_attention [[0, 1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<32x32xf32> loc(#loc11)
  %model.transformer.h.0.attn.c_proj.bias = zero.load @model.transformer.h.0.attn.c_proj.bias : tensor<32xf32> loc(#loc11)
  %model.transformer.h.0.attn.c_proj.weight = zero.load @model.transformer.h.0.attn.c_proj.weight : tensor<32x32xf32> loc(#loc11)
  %addmm_1 = nn.linear %view_8, %model.transformer.h.0.attn.c_proj.weight bias %model.transformer.h.0.attn.c_proj.bias : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32> loc(#loc11)
  %view_9 = tensor.expand_shape %addmm_1 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32> loc(#loc12)
  %add_4 = arith.addf %view_9, %add_1_2 : tensor<2x16x32xf32> loc(#loc13)
  %model.transformer.h.0.ln_2.weight = zero.load @model.transformer.h.0.ln_2.weight : tensor<32xf32> loc(#loc14)
  %model.transformer.h.0.ln_2.bias = zero.load @model.transformer.h.0.ln_2.bias : tensor<32xf32> loc(#loc14)
  %layer_norm_1_1, %layer_norm_1_2, %layer_norm_1_3 = nn.layer_norm %add_4, %model.transformer.h.0.ln_2.weight, %model.transformer.h.0.ln_2.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc14)
  %view_10 = tensor.collapse_shape %layer_norm_1_1 [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32> loc(#loc15)
  %model.transformer.h.0.mlp.c_fc.bias = zero.load @model.transformer.h.0.mlp.c_fc.bias : tensor<128xf32> loc(#loc15)
  %model.transformer.h.0.mlp.c_fc.weight = zero.load @model.transformer.h.0.mlp.c_fc.weight : tensor<32x128xf32> loc(#loc15)
  %addmm_2 = nn.linear %view_10, %model.transformer.h.0.mlp.c_fc.weight bias %model.transformer.h.0.mlp.c_fc.bias : (tensor<32x32xf32>, tensor<32x128xf32>, tensor<128xf32>) -> tensor<32x128xf32> loc(#loc15)
  %view_11 = tensor.expand_shape %addmm_2 [[0, 1], [2]] output_shape [2, 16, 128] : tensor<32x128xf32> into tensor<2x16x128xf32> loc(#loc16)
  %gelu = nn.gelu tanh %view_11 : tensor<2x16x128xf32> loc(#loc17)
  %view_12 = tensor.collapse_shape %gelu [[0, 1], [2]] : tensor<2x16x128xf32> into tensor<32x128xf32> loc(#loc18)
  %model.transformer.h.0.mlp.c_proj.bias = zero.load @model.transformer.h.0.mlp.c_proj.bias : tensor<32xf32> loc(#loc18)
  %model.transformer.h.0.mlp.c_proj.weight = zero.load @model.transformer.h.0.mlp.c_proj.weight : tensor<128x32xf32> loc(#loc18)
  %addmm_3 = nn.linear %view_12, %model.transformer.h.0.mlp.c_proj.weight bias %model.transformer.h.0.mlp.c_proj.bias : (tensor<32x128xf32>, tensor<128x32xf32>, tensor<32xf32>) -> tensor<32x32xf32> loc(#loc18)
  %view_13 = tensor.expand_shape %addmm_3 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32> loc(#loc19)
  %add_7 = arith.addf %add_4, %view_13 : tensor<2x16x32xf32> loc(#loc20)
  %model.transformer.ln_f.weight = zero.load @model.transformer.ln_f.weight : tensor<32xf32> loc(#loc21)
  %model.transformer.ln_f.bias = zero.load @model.transformer.ln_f.bias : tensor<32xf32> loc(#loc21)
  %layer_norm_2_1, %layer_norm_2_2, %layer_norm_2_3 = nn.layer_norm %add_7, %model.transformer.ln_f.weight, %model.transformer.ln_f.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc21)
  %linear = nn.linear %layer_norm_2_1, %model.transformer.wte.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc22)
  %view_15 = tensor.collapse_shape %linear [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc23)
  %view_16 = tensor.collapse_shape %labels [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc24)
  %cross_entropy_loss = nn.reduce max %view_15 dims [1] : (tensor<32x100xf32>) -> tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_1 = tensor.expand_shape %cross_entropy_loss [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32> loc(#loc25)
  %cross_entropy_loss_2 = nn.stop_gradient %cross_entropy_loss_1 : tensor<32x1xf32> loc(#loc25)
  %cross_entropy_loss_3 = tensor.collapse_shape %cross_entropy_loss_2 [[0, 1]] : tensor<32x1xf32> into tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_4 = nn.broadcast %cross_entropy_loss_3 dims [0] : (tensor<32xf32>) -> tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_5 = arith.subf %view_15, %cross_entropy_loss_4 : tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_6 = math.exp %cross_entropy_loss_5 : tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_7 = nn.reduce sum %cross_entropy_loss_6 dims [1] : (tensor<32x100xf32>) -> tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_8 = tensor.expand_shape %cross_entropy_loss_7 [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32> loc(#loc25)
  %cross_entropy_loss_9 = math.log %cross_entropy_loss_8 : tensor<32x1xf32> loc(#loc25)
  %cross_entropy_loss_10 = tensor.collapse_shape %cross_entropy_loss_9 [[0, 1]] : tensor<32x1xf32> into tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_11 = nn.broadcast %cross_entropy_loss_10 dims [0] : (tensor<32xf32>) -> tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_12 = arith.subf %cross_entropy_loss_5, %cross_entropy_loss_11 : tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_13 = arith.mulf %cross_entropy_loss_12, %view_16 : tensor<32x100xf32> loc(#loc25)
  %cross_entropy_loss_14 = nn.reduce sum %cross_entropy_loss_13 dims [1] : (tensor<32x100xf32>) -> tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_15 = arith.negf %cross_entropy_loss_14 : tensor<32xf32> loc(#loc25)
  %cross_entropy_loss_16 = nn.reduce mean %cross_entropy_loss_15 dims [0] : (tensor<32xf32>) -> tensor<f32> loc(#loc25)
  zero.yield %cross_entropy_loss_16 : tensor<f32>
}

#loc0 = loc("model.transformer.wte, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":567:1)
#loc1 = loc("model.transformer.wpe, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":574:1)
#loc2 = loc("model.transformer, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":575:1)
#loc3 = loc("model.transformer.h.0.ln_1, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":273:1)
#loc4 = loc("model.transformer.h.0.attn.c_attn, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc5 = loc("model.transformer.h.0.attn.c_attn, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc6 = loc("model.transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":185:1)
#loc7 = loc("model.transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":187:1)
#loc8 = loc("model.transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":188:1)
#loc9 = loc("model.transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":191:1)
#loc10 = loc("model.transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":211:1)
#loc11 = loc("model.transformer.h.0.attn.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc12 = loc("model.transformer.h.0.attn.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc13 = loc("model.transformer.h.0, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":282:1)
#loc14 = loc("model.transformer.h.0.ln_2, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":304:1)
#loc15 = loc("model.transformer.h.0.mlp.c_fc, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc16 = loc("model.transformer.h.0.mlp.c_fc, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc17 = loc("model.transformer.h.0.mlp.act, build/python/lib/python3.11/site-packages/transformers/activations.py":66:1)
#loc18 = loc("model.transformer.h.0.mlp.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc19 = loc("model.transformer.h.0.mlp.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc20 = loc("model.transformer.h.0, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":307:1)
#loc21 = loc("model.transformer.ln_f, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":617:1)
#loc22 = loc("model.lm_head, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":695:1)
#loc23 = loc("test/Models/Cut/import.py":76:1)
#loc24 = loc("test/Models/Cut/import.py":77:1)
#loc25 = loc("test/Models/Cut/import.py":80:1)
