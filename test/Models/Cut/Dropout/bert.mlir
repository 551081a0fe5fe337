// Made by import.py.

zero.parameter @bert.embeddings.word_embeddings.weight : tensor<100x32xf32> = #zero.normal<std = 0.01994>
zero.parameter @bert.embeddings.position_embeddings.weight : tensor<32x32xf32> = #zero.normal<std = 0.01988>
zero.parameter @bert.embeddings.token_type_embeddings.weight : tensor<2x32xf32> = #zero.normal<std = 0.02049>
zero.parameter @bert.embeddings.LayerNorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @bert.embeddings.LayerNorm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.self.query.weight : tensor<32x32xf32> = #zero.normal<std = 0.01958>
zero.parameter @bert.encoder.layer.0.attention.self.query.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.self.key.weight : tensor<32x32xf32> = #zero.normal<std = 0.01955>
zero.parameter @bert.encoder.layer.0.attention.self.key.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.self.value.weight : tensor<32x32xf32> = #zero.normal<std = 0.02002>
zero.parameter @bert.encoder.layer.0.attention.self.value.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.output.dense.weight : tensor<32x32xf32> = #zero.normal<std = 0.02002>
zero.parameter @bert.encoder.layer.0.attention.output.dense.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.output.LayerNorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @bert.encoder.layer.0.attention.output.LayerNorm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.intermediate.dense.weight : tensor<96x32xf32> = #zero.normal<std = 0.02005>
zero.parameter @bert.encoder.layer.0.intermediate.dense.bias : tensor<96xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.output.dense.weight : tensor<32x96xf32> = #zero.normal<std = 0.01983>
zero.parameter @bert.encoder.layer.0.output.dense.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.encoder.layer.0.output.LayerNorm.weight : tensor<32xf32> = #zero.ones group "no_decay"
zero.parameter @bert.encoder.layer.0.output.LayerNorm.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @bert.pooler.dense.weight : tensor<32x32xf32> = #zero.normal<std = 0.01972>
zero.parameter @bert.pooler.dense.bias : tensor<32xf32> = #zero.zeros group "no_decay"
zero.parameter @classifier.weight : tensor<3x32xf32> = #zero.normal<std = 0.01777>
zero.parameter @classifier.bias : tensor<3xf32> = #zero.zeros group "no_decay"

zero.step @train(%input_ids: tensor<2x16xi32> {zero.input = "input_ids"}, %labels: tensor<2xi32> {zero.input = "labels"}) {
  %bert.embeddings.word_embeddings.weight = zero.load @bert.embeddings.word_embeddings.weight : tensor<100x32xf32> loc(#loc0)
  %embedding = nn.embedding %input_ids, %bert.embeddings.word_embeddings.weight : (tensor<2x16xi32>, tensor<100x32xf32>) -> tensor<2x16x32xf32> loc(#loc0)
  %embedding_1 = arith.constant dense<0> : tensor<2x16xi32> loc(#loc0)
  %embedding_2 = arith.cmpi eq, %input_ids, %embedding_1 : tensor<2x16xi32> loc(#loc0)
  %embedding_3 = nn.stop_gradient %embedding : tensor<2x16x32xf32> loc(#loc0)
  %embedding_4 = nn.broadcast %embedding_2 dims [0, 1] : (tensor<2x16xi1>) -> tensor<2x16x32xi1> loc(#loc0)
  %embedding_5 = arith.select %embedding_4, %embedding_3, %embedding : tensor<2x16x32xi1>, tensor<2x16x32xf32> loc(#loc0)
  %bert.embeddings.token_type_embeddings.weight = zero.load @bert.embeddings.token_type_embeddings.weight : tensor<2x32xf32> loc(#loc1)
  %embedding_1_1 = arith.constant dense<0> : tensor<2x16xi32> loc(#loc1)
  %embedding_1_2 = nn.embedding %embedding_1_1, %bert.embeddings.token_type_embeddings.weight : (tensor<2x16xi32>, tensor<2x32xf32>) -> tensor<2x16x32xf32> loc(#loc1)
  %add = arith.addf %embedding_5, %embedding_1_2 : tensor<2x16x32xf32> loc(#loc2)
  %bert.embeddings.position_embeddings.weight = zero.load @bert.embeddings.position_embeddings.weight : tensor<32x32xf32> loc(#loc3)
  %embedding_2_1 = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]> : tensor<16xi32> loc(#loc3)
  %embedding_2_2 = nn.broadcast %embedding_2_1 dims [1] : (tensor<16xi32>) -> tensor<1x16xi32> loc(#loc3)
  %embedding_2_3 = nn.embedding %embedding_2_2, %bert.embeddings.position_embeddings.weight : (tensor<1x16xi32>, tensor<32x32xf32>) -> tensor<1x16x32xf32> loc(#loc3)
  %add_1 = tensor.collapse_shape %embedding_2_3 [[0, 1], [2]] : tensor<1x16x32xf32> into tensor<16x32xf32> loc(#loc4)
  %add_1_1 = nn.broadcast %add_1 dims [1, 2] : (tensor<16x32xf32>) -> tensor<2x16x32xf32> loc(#loc4)
  %add_1_2 = arith.addf %add, %add_1_1 : tensor<2x16x32xf32> loc(#loc4)
  %bert.embeddings.LayerNorm.weight = zero.load @bert.embeddings.LayerNorm.weight : tensor<32xf32> loc(#loc5)
  %bert.embeddings.LayerNorm.bias = zero.load @bert.embeddings.LayerNorm.bias : tensor<32xf32> loc(#loc5)
  %layer_norm, %layer_norm_1, %layer_norm_2 = nn.layer_norm %add_1_2, %bert.embeddings.LayerNorm.weight, %bert.embeddings.LayerNorm.bias eps 1.0e-12 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc5)
  %native_dropout = nn.dropout %layer_norm p 0.1 id 0 : tensor<2x16x32xf32> loc(#loc6)
  %bert.encoder.layer.0.attention.self.query.weight = zero.load @bert.encoder.layer.0.attention.self.query.weight : tensor<32x32xf32> loc(#loc7)
  %bert.encoder.layer.0.attention.self.query.bias = zero.load @bert.encoder.layer.0.attention.self.query.bias : tensor<32xf32> loc(#loc7)
  %linear = nn.linear %native_dropout, %bert.encoder.layer.0.attention.self.query.weight bias %bert.encoder.layer.0.attention.self.query.bias transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc7)
  %view = tensor.expand_shape %linear [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc8)
  %bert.encoder.layer.0.attention.self.key.weight = zero.load @bert.encoder.layer.0.attention.self.key.weight : tensor<32x32xf32> loc(#loc9)
  %bert.encoder.layer.0.attention.self.key.bias = zero.load @bert.encoder.layer.0.attention.self.key.bias : tensor<32xf32> loc(#loc9)
  %linear_1 = nn.linear %native_dropout, %bert.encoder.layer.0.attention.self.key.weight bias %bert.encoder.layer.0.attention.self.key.bias transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc9)
  %view_1 = tensor.expand_shape %linear_1 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc10)
  %bert.encoder.layer.0.attention.self.value.weight = zero.load @bert.encoder.layer.0.attention.self.value.weight : tensor<32x32xf32> loc(#loc11)
  %bert.encoder.layer.0.attention.self.value.bias = zero.load @bert.encoder.layer.0.attention.self.value.bias : tensor<32xf32> loc(#loc11)
  %linear_2 = nn.linear %native_dropout, %bert.encoder.layer.0.attention.self.value.weight bias %bert.encoder.layer.0.attention.self.value.bias transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc11)
  %view_2 = tensor.expand_shape %linear_2 [[0], [1], [2, 3]] output_shape [2, 16, 4, 8] : tensor<2x16x32xf32> into tensor<2x16x4x8xf32> loc(#loc12)
  %scaled_dot_product_attention, %scaled_dot_product_attention_1 = nn.attention %view, %view_1, %view_2 scale 0.3535533905932738 dropout 0.1 id 1 : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x4x16xf32>) loc(#loc13)
  %view_4 = tensor.collapse_shape %scaled_dot_product_attention [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32> loc(#loc14)
  %bert.encoder.layer.0.attention.output.dense.weight = zero.load @bert.encoder.layer.0.attention.output.dense.weight : tensor<32x32xf32> loc(#loc15)
  %bert.encoder.layer.0.attention.output.dense.bias = zero.load @bert.encoder.layer.0.attention.output.dense.bias : tensor<32xf32> loc(#loc15)
  %linear_3 = nn.linear %view_4, %bert.encoder.layer.0.attention.output.dense.weight bias %bert.encoder.layer.0.attention.output.dense.bias transposed : (tensor<2x16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc15)
  %native_dropout_1 = nn.dropout %linear_3 p 0.1 id 2 : tensor<2x16x32xf32> loc(#loc16)
  %add_4 = arith.addf %native_dropout_1, %native_dropout : tensor<2x16x32xf32> loc(#loc17)
  %bert.encoder.layer.0.attention.output.LayerNorm.weight = zero.load @bert.encoder.layer.0.attention.output.LayerNorm.weight : tensor<32xf32> loc(#loc18)
  %bert.encoder.layer.0.attention.output.LayerNorm.bias = zero.load @bert.encoder.layer.0.attention.output.LayerNorm.bias : tensor<32xf32> loc(#loc18)
  %layer_norm_1_1, %layer_norm_1_2, %layer_norm_1_3 = nn.layer_norm %add_4, %bert.encoder.layer.0.attention.output.LayerNorm.weight, %bert.encoder.layer.0.attention.output.LayerNorm.bias eps 1.0e-12 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc18)
  %bert.encoder.layer.0.intermediate.dense.weight = zero.load @bert.encoder.layer.0.intermediate.dense.weight : tensor<96x32xf32> loc(#loc19)
  %bert.encoder.layer.0.intermediate.dense.bias = zero.load @bert.encoder.layer.0.intermediate.dense.bias : tensor<96xf32> loc(#loc19)
  %linear_4 = nn.linear %layer_norm_1_1, %bert.encoder.layer.0.intermediate.dense.weight bias %bert.encoder.layer.0.intermediate.dense.bias transposed : (tensor<2x16x32xf32>, tensor<96x32xf32>, tensor<96xf32>) -> tensor<2x16x96xf32> loc(#loc19)
  %gelu = nn.gelu exact %linear_4 : tensor<2x16x96xf32> loc(#loc20)
  %bert.encoder.layer.0.output.dense.weight = zero.load @bert.encoder.layer.0.output.dense.weight : tensor<32x96xf32> loc(#loc21)
  %bert.encoder.layer.0.output.dense.bias = zero.load @bert.encoder.layer.0.output.dense.bias : tensor<32xf32> loc(#loc21)
  %linear_5 = nn.linear %gelu, %bert.encoder.layer.0.output.dense.weight bias %bert.encoder.layer.0.output.dense.bias transposed : (tensor<2x16x96xf32>, tensor<32x96xf32>, tensor<32xf32>) -> tensor<2x16x32xf32> loc(#loc21)
  %native_dropout_2 = nn.dropout %linear_5 p 0.1 id 3 : tensor<2x16x32xf32> loc(#loc22)
  %add_5 = arith.addf %native_dropout_2, %layer_norm_1_1 : tensor<2x16x32xf32> loc(#loc23)
  %bert.encoder.layer.0.output.LayerNorm.weight = zero.load @bert.encoder.layer.0.output.LayerNorm.weight : tensor<32xf32> loc(#loc24)
  %bert.encoder.layer.0.output.LayerNorm.bias = zero.load @bert.encoder.layer.0.output.LayerNorm.bias : tensor<32xf32> loc(#loc24)
  %layer_norm_2_1, %layer_norm_2_2, %layer_norm_2_3 = nn.layer_norm %add_5, %bert.encoder.layer.0.output.LayerNorm.weight, %bert.encoder.layer.0.output.LayerNorm.bias eps 1.0e-12 : (tensor<2x16x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<2x16x32xf32>, tensor<2x16xf32>, tensor<2x16xf32>) loc(#loc24)
  %select = tensor.extract_slice %layer_norm_2_1[0, 0, 0] [2, 1, 32] [1, 1, 1] : tensor<2x16x32xf32> to tensor<2x1x32xf32> loc(#loc25)
  %select_1 = tensor.collapse_shape %select [[0], [1, 2]] : tensor<2x1x32xf32> into tensor<2x32xf32> loc(#loc25)
  %bert.pooler.dense.weight = zero.load @bert.pooler.dense.weight : tensor<32x32xf32> loc(#loc26)
  %bert.pooler.dense.bias = zero.load @bert.pooler.dense.bias : tensor<32xf32> loc(#loc26)
  %linear_6 = nn.linear %select_1, %bert.pooler.dense.weight bias %bert.pooler.dense.bias transposed : (tensor<2x32xf32>, tensor<32x32xf32>, tensor<32xf32>) -> tensor<2x32xf32> loc(#loc26)
  %tanh = math.tanh %linear_6 : tensor<2x32xf32> loc(#loc27)
  %native_dropout_3 = nn.dropout %tanh p 0.1 id 4 : tensor<2x32xf32> loc(#loc28)
  %classifier.weight = zero.load @classifier.weight : tensor<3x32xf32> loc(#loc29)
  %classifier.bias = zero.load @classifier.bias : tensor<3xf32> loc(#loc29)
  %linear_7 = nn.linear %native_dropout_3, %classifier.weight bias %classifier.bias transposed : (tensor<2x32xf32>, tensor<3x32xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc(#loc29)
  %cross_entropy_loss, %cross_entropy_loss_1 = nn.cross_entropy %linear_7, %labels ignore_index -100 : (tensor<2x3xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>) loc(#loc30)
  zero.yield %cross_entropy_loss, %linear_7 outputs ["logits"] : tensor<f32>, tensor<2x3xf32>
}

#loc0 = loc("bert.embeddings.word_embeddings, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":99:1)
#loc1 = loc("bert.embeddings.token_type_embeddings, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":100:1)
#loc2 = loc("bert.embeddings, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":101:1)
#loc3 = loc("bert.embeddings.position_embeddings, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":103:1)
#loc4 = loc("bert.embeddings, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":104:1)
#loc5 = loc("bert.embeddings.LayerNorm, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":106:1)
#loc6 = loc("bert.embeddings.dropout, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":107:1)
#loc7 = loc("bert.encoder.layer.0.attention.self.query, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":175:1)
#loc8 = loc("bert.encoder.layer.0.attention.self, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":175:1)
#loc9 = loc("bert.encoder.layer.0.attention.self.key, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":176:1)
#loc10 = loc("bert.encoder.layer.0.attention.self, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":176:1)
#loc11 = loc("bert.encoder.layer.0.attention.self.value, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":177:1)
#loc12 = loc("bert.encoder.layer.0.attention.self, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":177:1)
#loc13 = loc("bert.encoder.layer.0.attention.self, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":192:1)
#loc14 = loc("bert.encoder.layer.0.attention.self, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":202:1)
#loc15 = loc("bert.encoder.layer.0.attention.output.dense, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":290:1)
#loc16 = loc("bert.encoder.layer.0.attention.output.dropout, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":291:1)
#loc17 = loc("bert.encoder.layer.0.attention.output, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":292:1)
#loc18 = loc("bert.encoder.layer.0.attention.output.LayerNorm, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":292:1)
#loc19 = loc("bert.encoder.layer.0.intermediate.dense, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":335:1)
#loc20 = loc("bert.encoder.layer.0.intermediate.intermediate_act_fn, build/python/lib/python3.11/site-packages/transformers/activations.py":89:1)
#loc21 = loc("bert.encoder.layer.0.output.dense, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":348:1)
#loc22 = loc("bert.encoder.layer.0.output.dropout, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":349:1)
#loc23 = loc("bert.encoder.layer.0.output, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":350:1)
#loc24 = loc("bert.encoder.layer.0.output.LayerNorm, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":350:1)
#loc25 = loc("bert.pooler, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":460:1)
#loc26 = loc("bert.pooler.dense, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":461:1)
#loc27 = loc("bert.pooler.activation, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":462:1)
#loc28 = loc("dropout, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":1105:1)
#loc29 = loc("classifier, build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":1106:1)
#loc30 = loc("build/python/lib/python3.11/site-packages/transformers/models/bert/modeling_bert.py":1126:1)
