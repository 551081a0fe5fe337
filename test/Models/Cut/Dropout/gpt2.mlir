// Made by import.py.

zero.parameter @transformer.wte.weight : tensor<100x32xf32> = #zero.normal<std = 0.02007>
zero.parameter @transformer.wpe.weight : tensor<32x32xf32> = #zero.normal<std = 0.02001>
zero.parameter @transformer.h.0.ln_1.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @transformer.h.0.ln_1.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.h.0.attn.c_attn.weight : tensor<32x96xf32> = #zero.normal<std = 0.01973>
zero.parameter @transformer.h.0.attn.c_attn.bias : tensor<96xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.h.0.attn.c_proj.weight : tensor<32x32xf32> = #zero.normal<std = 0.01417>
zero.parameter @transformer.h.0.attn.c_proj.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.h.0.ln_2.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @transformer.h.0.ln_2.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.h.0.mlp.c_fc.weight : tensor<32x128xf32> = #zero.normal<std = 0.01999>
zero.parameter @transformer.h.0.mlp.c_fc.bias : tensor<128xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.h.0.mlp.c_proj.weight : tensor<128x32xf32> = #zero.normal<std = 0.01427>
zero.parameter @transformer.h.0.mlp.c_proj.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @transformer.ln_f.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @transformer.ln_f.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.stored_tensor "lm_head.weight" of @transformer.wte.weight

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2x16xi32> {zero.input = "labels"}) {
  %transformer.wte.weight = zero.load @transformer.wte.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %transformer.wte.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %transformer.wpe.weight = zero.load @transformer.wpe.weight : tensor<32x32xf32> loc(#loc1)
  %embedding_1 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32> loc(#loc1)
  %embedding_1_1 = nn.broadcast %embedding_1 dims [1] : (tensor<16xi32>) -> tensor<1x16xi32> loc(#loc1)
  %embedding_1_2 = nn.embedding %embedding_1_1, %transformer.wpe.weight : (tensor<1x16xi32>, tensor<32x32xf32>) -> tensor<1x16x32xf32> loc(#loc1)
  %add_1 = tensor.collapse_shape %embedding_1_2 [[0, 1], [2]] : tensor<1x16x32xf32> into tensor<16x32xf32> loc(#loc2)
  %add_1_1 = nn.broadcast %add_1 dims [1, 2] : (tensor<16x32xf32>) -> tensor<2x16x32xf32> loc(#loc2)
  %add_1_2 = arith.addf %embedding, %add_1_1 : tensor<2x16x32xf32> loc(#loc2)
  %native_dropout = nn.dropout %add_1_2 p 0.1 id 0 : tensor<2x16x32xf32> loc(#loc3)
  %transformer.h.0.ln_1.weight = zero.load @transformer.h.0.ln_1.weight : tensor<32xf32> loc(#loc4)
  %transformer.h.0.ln_1.bias = zero.load @transformer.h.0.ln_1.bias : tensor<32xf32> loc(#loc4)
  %layer_norm, %layer_norm_1, %layer_norm_2 = nn.layer_norm %native_dropout, %transformer.h.0.ln_1.weight, %transformer.h.0.ln_1.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc4)
  %view_1 = tensor.collapse_shape %layer_norm [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32> loc(#loc5)
  %transformer.h.0.attn.c_attn.bias = zero.load @transformer.h.0.attn.c_attn.bias : tensor<96xf32> loc(#loc5)
  %transformer.h.0.attn.c_attn.weight = zero.load @transformer.h.0.attn.c_attn.weight : tensor<32x96xf32> loc(#loc5)
  %addmm = nn.linear %view_1, %transformer.h.0.attn.c_attn.weight bias %transformer.h.0.attn.c_attn.bias : (tensor<32x32xf32>, tensor<32x96xf32>, tensor<96xf32>) -> tensor<32x96xf32> loc(#loc5)
  %view_2 = tensor.expand_shape %addmm [[0, 1], [2]] output_shape [2, 16, 96] : tensor<32x96xf32> into tensor<2x16x96xf32> loc(#loc6)
  %split, %split_1, %split_2 = nn.split %view_2 dim 2 sizes [32, 32, 32] : (tensor<2x16x96xf32>) -> (tensor<2x16x32xf32>, tensor<2x16x32xf32>, tensor<2x16x32xf32>) loc(#loc7)
  %view_3 = tensor.expand_shape %split_1 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc8)
  %view_4 = tensor.expand_shape %split_2 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc9)
  %view_5 = tensor.expand_shape %split [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc10)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %view_5, %view_3, %view_4 causal scale 0.3535533905932738 dropout 0.1 id 1 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc11)
  %view_8 = tensor.collapse_shape %scaled_dot_product_attention [[0, 1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<32x32xf32> loc(#loc12)
  %transformer.h.0.attn.c_proj.bias = zero.load @transformer.h.0.attn.c_proj.bias : tensor<32xf32> loc(#loc12)
  %transformer.h.0.attn.c_proj.weight = zero.load @transformer.h.0.attn.c_proj.weight : tensor<32x32xf32> loc(#loc12)
  %addmm_1 = nn.linear %view_8, %transformer.h.0.attn.c_proj.weight bias %transformer.h.0.attn.c_proj.bias : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<32x32xf32> loc(#loc12)
  %view_9 = tensor.expand_shape %addmm_1 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32> loc(#loc13)
  %native_dropout_1 = nn.dropout %view_9 p 0.1 id 2 : tensor<2x16x32xf32> loc(#loc14)
  %add_4 = arith.addf %native_dropout_1, %native_dropout : tensor<2x16x32xf32> loc(#loc15)
  %transformer.h.0.ln_2.weight = zero.load @transformer.h.0.ln_2.weight : tensor<32xf32> loc(#loc16)
  %transformer.h.0.ln_2.bias = zero.load @transformer.h.0.ln_2.bias : tensor<32xf32> loc(#loc16)
  %layer_norm_1_1, %layer_norm_1_2, %layer_norm_1_3 = nn.layer_norm %add_4, %transformer.h.0.ln_2.weight, %transformer.h.0.ln_2.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc16)
  %view_10 = tensor.collapse_shape %layer_norm_1_1 [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32> loc(#loc17)
  %transformer.h.0.mlp.c_fc.bias = zero.load @transformer.h.0.mlp.c_fc.bias : tensor<128xf32> loc(#loc17)
  %transformer.h.0.mlp.c_fc.weight = zero.load @transformer.h.0.mlp.c_fc.weight : tensor<32x128xf32> loc(#loc17)
  %addmm_2 = nn.linear %view_10, %transformer.h.0.mlp.c_fc.weight bias %transformer.h.0.mlp.c_fc.bias : (tensor<32x32xf32>, tensor<32x128xf32>, tensor<128xf32>) -> tensor<32x128xf32> loc(#loc17)
  %view_11 = tensor.expand_shape %addmm_2 [[0, 1], [2]] output_shape [2, 16, 128] : tensor<32x128xf32> into tensor<2x16x128xf32> loc(#loc18)
  %gelu = nn.gelu tanh %view_11 : tensor<2x16x128xf32> loc(#loc19)
  %view_12 = tensor.collapse_shape %gelu [[0, 1], [2]] : tensor<2x16x128xf32> into tensor<32x128xf32> loc(#loc20)
  %transformer.h.0.mlp.c_proj.bias = zero.load @transformer.h.0.mlp.c_proj.bias : tensor<32xf32> loc(#loc20)
  %transformer.h.0.mlp.c_proj.weight = zero.load @transformer.h.0.mlp.c_proj.weight : tensor<128x32xf32> loc(#loc20)
  %addmm_3 = nn.linear %view_12, %transformer.h.0.mlp.c_proj.weight bias %transformer.h.0.mlp.c_proj.bias : (tensor<32x128xf32>, tensor<128x32xf32>, tensor<32xf32>) -> tensor<32x32xf32> loc(#loc20)
  %view_13 = tensor.expand_shape %addmm_3 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32> loc(#loc21)
  %native_dropout_2 = nn.dropout %view_13 p 0.1 id 3 : tensor<2x16x32xf32> loc(#loc22)
  %add_7 = arith.addf %add_4, %native_dropout_2 : tensor<2x16x32xf32> loc(#loc23)
  %transformer.ln_f.weight = zero.load @transformer.ln_f.weight : tensor<32xf32> loc(#loc24)
  %transformer.ln_f.bias = zero.load @transformer.ln_f.bias : tensor<32xf32> loc(#loc24)
  %layer_norm_2_1, %layer_norm_2_2, %layer_norm_2_3 = nn.layer_norm %add_7, %transformer.ln_f.weight, %transformer.ln_f.bias eps 1.0e-5 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc24)
  %linear = nn.linear %layer_norm_2_1, %transformer.wte.weight transposed : (tensor<2x16x32xf32>, tensor<100x32xf32>) -> tensor<2x16x100xf32> loc(#loc25)
  %pad = arith.constant dense<-100> : tensor<2x1xi32> loc(#loc26)
  %pad_1 = tensor.concat dim(1) %labels, %pad : (tensor<2x16xi32>, tensor<2x1xi32>) -> tensor<2x17xi32> loc(#loc26)
  %slice_4 = tensor.extract_slice %pad_1[0, 1] [2, 16] [1, 1] : tensor<2x17xi32> to tensor<2x16xi32> loc(#loc26)
  %view_15 = tensor.collapse_shape %linear [[0, 1], [2]] : tensor<2x16x100xf32> into tensor<32x100xf32> loc(#loc26)
  %view_16 = tensor.collapse_shape %slice_4 [[0, 1]] : tensor<2x16xi32> into tensor<32xi32> loc(#loc26)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %view_15, %view_16 ignore_index -100 : (tensor<32x100xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>) loc(#loc26)
  zero.yield %cross_entropy_loss, %linear outputs ["logits"] : tensor<f32>, tensor<2x16x100xf32>
}

#loc0 = loc("transformer.wte, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":567:1)
#loc1 = loc("transformer.wpe, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":574:1)
#loc2 = loc("transformer, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":575:1)
#loc3 = loc("transformer.drop, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":601:1)
#loc4 = loc("transformer.h.0.ln_1, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":273:1)
#loc5 = loc("transformer.h.0.attn.c_attn, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc6 = loc("transformer.h.0.attn.c_attn, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc7 = loc("transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":185:1)
#loc8 = loc("transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":187:1)
#loc9 = loc("transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":188:1)
#loc10 = loc("transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":191:1)
#loc11 = loc("transformer.h.0.attn, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":211:1)
#loc12 = loc("transformer.h.0.attn.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc13 = loc("transformer.h.0.attn.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc14 = loc("transformer.h.0.attn.resid_dropout, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":224:1)
#loc15 = loc("transformer.h.0, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":282:1)
#loc16 = loc("transformer.h.0.ln_2, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":304:1)
#loc17 = loc("transformer.h.0.mlp.c_fc, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc18 = loc("transformer.h.0.mlp.c_fc, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc19 = loc("transformer.h.0.mlp.act, build/python/lib/python3.11/site-packages/transformers/activations.py":66:1)
#loc20 = loc("transformer.h.0.mlp.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":119:1)
#loc21 = loc("transformer.h.0.mlp.c_proj, build/python/lib/python3.11/site-packages/transformers/pytorch_utils.py":120:1)
#loc22 = loc("transformer.h.0.mlp.dropout, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":242:1)
#loc23 = loc("transformer.h.0, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":307:1)
#loc24 = loc("transformer.ln_f, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":617:1)
#loc25 = loc("lm_head, build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":695:1)
#loc26 = loc("build/python/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py":700:1)
