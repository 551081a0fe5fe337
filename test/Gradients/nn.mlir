//===- matrix products ----------------------------------------------------===//

func.func @linear(%x: tensor<2x3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.linear %x, %w bias %b : (tensor<2x3x4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}
func.func @linear_plain(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %y = nn.linear %x, %w : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @linear_transposed(%x: tensor<2x3x4xf64>, %w: tensor<5x4xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.linear %x, %w bias %b transposed : (tensor<2x3x4xf64>, tensor<5x4xf64>, tensor<5xf64>) -> tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}
func.func @linear_transposed_plain(%x: tensor<3x4xf64>, %w: tensor<5x4xf64>) -> tensor<3x5xf64> {
  %y = nn.linear %x, %w transposed : (tensor<3x4xf64>, tensor<5x4xf64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
}
func.func @linear_vector(%x: tensor<4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>) -> tensor<5xf64> {
  %y = nn.linear %x, %w bias %b : (tensor<4xf64>, tensor<4x5xf64>, tensor<5xf64>) -> tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @linear_vector_transposed(%x: tensor<4xf64>, %w: tensor<5x4xf64>) -> tensor<5xf64> {
  %y = nn.linear %x, %w transposed : (tensor<4xf64>, tensor<5x4xf64>) -> tensor<5xf64>
  return %y : tensor<5xf64>
}
func.func @matmul(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>) -> tensor<3x5xf64> {
  %c = nn.matmul %a, %b : (tensor<3x4xf64>, tensor<4x5xf64>) -> tensor<3x5xf64>
  return %c : tensor<3x5xf64>
}
func.func @matmul_batched(%a: tensor<2x3x4xf64>, %b: tensor<2x4x5xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b : (tensor<2x3x4xf64>, tensor<2x4x5xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @matmul_transpose_a(%a: tensor<2x4x3xf64>, %b: tensor<2x4x5xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b transpose_a : (tensor<2x4x3xf64>, tensor<2x4x5xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @matmul_transpose_b(%a: tensor<2x3x4xf64>, %b: tensor<2x5x4xf64>) -> tensor<2x3x5xf64> {
  %c = nn.matmul %a, %b transpose_b : (tensor<2x3x4xf64>, tensor<2x5x4xf64>) -> tensor<2x3x5xf64>
  return %c : tensor<2x3x5xf64>
}
func.func @matmul_transpose_both(%a: tensor<2x2x4x3xf64>, %b: tensor<2x2x5x4xf64>) -> tensor<2x2x3x5xf64> {
  %c = nn.matmul %a, %b transpose_a transpose_b : (tensor<2x2x4x3xf64>, tensor<2x2x5x4xf64>) -> tensor<2x2x3x5xf64>
  return %c : tensor<2x2x3x5xf64>
}

//===- activations --------------------------------------------------------===//

func.func @gelu_tanh(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.gelu tanh %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @gelu_exact(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.gelu exact %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @silu(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.silu %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
// The slope of what is stopped is zero for differences, too.
func.func @stop_gradient(%x: tensor<3x4xf64>) -> tensor<3x4xf64> attributes {gradient.zero} {
  %steps = math.floor %x : tensor<3x4xf64>
  %y = nn.stop_gradient %steps : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @silu_mul(%gate: tensor<3x4xf64>, %up: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.silu_mul %gate, %up : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @silu_mul_of_one(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = nn.silu_mul %x, %x : tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @dropout(%x: tensor<3x4x5xf64>) -> tensor<3x4x5xf64> {
  %y = nn.dropout %x p 0.25 id 3 : tensor<3x4x5xf64>
  return %y : tensor<3x4x5xf64>
}

//===- normalisations -----------------------------------------------------===//

func.func @layer_norm(%x: tensor<2x3x5xf64>, %w: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %y, %mean, %rstd = nn.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<2x3x5xf64>, tensor<5xf64>, tensor<5xf64>) -> (tensor<2x3x5xf64>, tensor<2x3xf64>, tensor<2x3xf64>)
  return %y : tensor<2x3x5xf64>
}
func.func @layer_norm_vector(%x: tensor<5xf64>, %w: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<5xf64> {
  %y, %mean, %rstd = nn.layer_norm %x, %w, %b eps 0.125 : (tensor<5xf64>, tensor<5xf64>, tensor<5xf64>) -> (tensor<5xf64>, tensor<f64>, tensor<f64>)
  return %y : tensor<5xf64>
}
func.func @rms_norm(%x: tensor<2x3x5xf64>, %w: tensor<5xf64>) -> tensor<2x3x5xf64> {
  %y, %rstd = nn.rms_norm %x, %w eps 1.0e-6 : (tensor<2x3x5xf64>, tensor<5xf64>) -> (tensor<2x3x5xf64>, tensor<2x3xf64>)
  return %y : tensor<2x3x5xf64>
}
func.func @softmax(%x: tensor<2x3x5xf64>) -> tensor<2x3x5xf64> {
  %y = nn.softmax %x : tensor<2x3x5xf64>
  return %y : tensor<2x3x5xf64>
}

//===- tokens -------------------------------------------------------------===//

func.func @embedding(%ids: tensor<2x5xi32> {gradient.range = [0, 4]}, %table: tensor<4x3xf64>) -> tensor<2x5x3xf64> {
  %y = nn.embedding %ids, %table : (tensor<2x5xi32>, tensor<4x3xf64>) -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3xf64>
}
// The table is also the projection: embedding_grad starts from the other sum.
func.func @embedding_tied(%ids: tensor<5xi32> {gradient.range = [0, 4]}, %table: tensor<4x3xf64>) -> tensor<5x4xf64> {
  %x = nn.embedding %ids, %table : (tensor<5xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
  %y = nn.linear %x, %table transposed : (tensor<5x3xf64>, tensor<4x3xf64>) -> tensor<5x4xf64>
  return %y : tensor<5x4xf64>
}
// One gradient is that of two tables, of which one has another contribution.
func.func @embedding_of_sum(%ids: tensor<5xi32> {gradient.range = [0, 4]}, %a: tensor<4x3xf64>, %b: tensor<4x3xf64>) -> tensor<5x4xf64> {
  %table = arith.addf %a, %b : tensor<4x3xf64>
  %x = nn.embedding %ids, %table : (tensor<5xi32>, tensor<4x3xf64>) -> tensor<5x3xf64>
  %y = nn.linear %x, %b transposed : (tensor<5x3xf64>, tensor<4x3xf64>) -> tensor<5x4xf64>
  return %y : tensor<5x4xf64>
}
func.func @cross_entropy(%l: tensor<2x3x5xf64>, %t: tensor<2x3xi32> {gradient.range = [0, 5]}) -> tensor<f64> {
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<2x3x5xf64>, tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)
  return %loss : tensor<f64>
}
func.func @cross_entropy_sum(%l: tensor<8x3xf64>, %t: tensor<8xi32> {gradient.range = [0, 3]}) -> tensor<f64> {
  %loss, %lse = nn.cross_entropy %l, %t sum ignore_index 1 : (tensor<8x3xf64>, tensor<8xi32>) -> (tensor<f64>, tensor<8xf64>)
  return %loss : tensor<f64>
}
func.func @cross_entropy_ignoring(%l: tensor<8x3xf64>, %t: tensor<8xi32> {gradient.range = [0, 3]}) -> tensor<f64> {
  %loss, %lse = nn.cross_entropy %l, %t ignore_index 1 : (tensor<8x3xf64>, tensor<8xi32>) -> (tensor<f64>, tensor<8xf64>)
  return %loss : tensor<f64>
}
func.func @cross_entropy_padded(%l: tensor<8x6xf64>, %t: tensor<8xi32> {gradient.range = [0, 4]}) -> tensor<f64> {
  %loss, %lse = nn.cross_entropy %l, %t classes 4 : (tensor<8x6xf64>, tensor<8xi32>) -> (tensor<f64>, tensor<8xf64>)
  return %loss : tensor<f64>
}
func.func @embedding_padded(%ids: tensor<5xi32> {gradient.range = [0, 4]}, %table: tensor<6x3xf64>) -> tensor<5x3xf64> {
  %x = nn.embedding %ids, %table num_embeddings 4 : (tensor<5xi32>, tensor<6x3xf64>) -> tensor<5x3xf64>
  return %x : tensor<5x3xf64>
}
// Ids of the range [2, 5) of 6 rows, which has one row of padding.
func.func @partial_dropout(%x: tensor<3x4x5xf64>, %first: tensor<i32> {gradient.range = [4, 5]}) -> tensor<3x4x5xf64> {
  %y = nn.partial_dropout %x, %first dim 1 of 8 p 0.25 id 3 : (tensor<3x4x5xf64>, tensor<i32>) -> tensor<3x4x5xf64>
  return %y : tensor<3x4x5xf64>
}
func.func @partial_embedding(%ids: tensor<2x5xi32> {gradient.range = [0, 6]}, %table: tensor<3x3xf64>, %first: tensor<i32> {gradient.range = [2, 3]}) -> tensor<2x5x3xf64> {
  %y = nn.partial_embedding %ids, %table, %first num_embeddings 6 : (tensor<2x5xi32>, tensor<3x3xf64>, tensor<i32>) -> tensor<2x5x3xf64>
  return %y : tensor<2x5x3xf64>
}
func.func @partial_embedding_tied(%ids: tensor<5xi32> {gradient.range = [0, 6]}, %table: tensor<4x3xf64>, %first: tensor<i32> {gradient.range = [1, 2]}) -> tensor<5x4xf64> {
  %x = nn.partial_embedding %ids, %table, %first num_embeddings 6 : (tensor<5xi32>, tensor<4x3xf64>, tensor<i32>) -> tensor<5x3xf64>
  %y = nn.linear %x, %table transposed : (tensor<5x3xf64>, tensor<4x3xf64>) -> tensor<5x4xf64>
  return %y : tensor<5x4xf64>
}
// Both results, of which each row has its own.
func.func @partial_cross_entropy(%l: tensor<2x4x3xf64>, %t: tensor<2x4xi32> {gradient.range = [0, 7]}, %first: tensor<i32> {gradient.range = [2, 3]}) -> (tensor<f64>, tensor<2x4xf64>) {
  %loss, %lse = nn.partial_cross_entropy %l, %t, %first ignore_index 6 classes 6 : (tensor<2x4x3xf64>, tensor<2x4xi32>, tensor<i32>) -> (tensor<f64>, tensor<2x4xf64>)
  return %loss, %lse : tensor<f64>, tensor<2x4xf64>
}
func.func @partial_cross_entropy_padded(%l: tensor<8x4xf64>, %t: tensor<8xi32> {gradient.range = [0, 6]}, %first: tensor<i32> {gradient.range = [4, 5]}) -> (tensor<f64>, tensor<8xf64>) {
  %loss, %lse = nn.partial_cross_entropy %l, %t, %first classes 6 : (tensor<8x4xf64>, tensor<8xi32>, tensor<i32>) -> (tensor<f64>, tensor<8xf64>)
  return %loss, %lse : tensor<f64>, tensor<8xf64>
}
func.func @partial_cross_entropy_loss(%l: tensor<8x4xf64>, %t: tensor<8xi32> {gradient.range = [0, 6]}, %first: tensor<i32> {gradient.range = [1, 2]}) -> tensor<f64> {
  %loss, %lse = nn.partial_cross_entropy %l, %t, %first classes 6 : (tensor<8x4xf64>, tensor<8xi32>, tensor<i32>) -> (tensor<f64>, tensor<8xf64>)
  return %loss : tensor<f64>
}
func.func @partial_cross_entropy_lse(%l: tensor<8x4xf64>, %t: tensor<8xi32> {gradient.range = [0, 6]}, %first: tensor<i32> {gradient.range = [1, 2]}) -> tensor<8xf64> {
  %loss, %lse = nn.partial_cross_entropy %l, %t, %first classes 6 : (tensor<8x4xf64>, tensor<8xi32>, tensor<i32>) -> (tensor<f64>, tensor<8xf64>)
  return %lse : tensor<8xf64>
}
func.func @cross_entropy_all_ignored(%l: tensor<4x3xf64>, %t: tensor<4xi32> {gradient.range = [-100, -99]}) -> tensor<f64> attributes {gradient.zero} {
  %loss, %lse = nn.cross_entropy %l, %t : (tensor<4x3xf64>, tensor<4xi32>) -> (tensor<f64>, tensor<4xf64>)
  return %loss : tensor<f64>
}

//===- shapes -------------------------------------------------------------===//

func.func @broadcast(%x: tensor<3x2xf64>) -> tensor<4x3x5x2xf64> {
  %y = nn.broadcast %x dims [1, 3] : (tensor<3x2xf64>) -> tensor<4x3x5x2xf64>
  return %y : tensor<4x3x5x2xf64>
}
func.func @broadcast_scalar(%x: tensor<f64>) -> tensor<3x4xf64> {
  %y = nn.broadcast %x dims [] : (tensor<f64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
func.func @reduce_sum(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = nn.reduce sum %x dims [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}
func.func @reduce_sum_all(%x: tensor<2x3x4xf64>) -> tensor<f64> {
  %y = nn.reduce sum %x dims [0, 1, 2] : (tensor<2x3x4xf64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @reduce_mean(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %y = nn.reduce mean %x dims [1] : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}
func.func @reduce_max(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = nn.reduce max %x dims [0, 2] : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}
func.func @reduce_max_all(%x: tensor<7xf64>) -> tensor<f64> {
  %y = nn.reduce max %x dims [0] : (tensor<7xf64>) -> tensor<f64>
  return %y : tensor<f64>
}
func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %y = nn.transpose %x permutation [2, 0, 1] : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}
func.func @split(%x: tensor<2x6x2xf64>) -> (tensor<2x1x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>) {
  %a, %b, %c = nn.split %x dim 1 sizes [1, 3, 2] : (tensor<2x6x2xf64>) -> (tensor<2x1x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>)
  return %a, %b, %c : tensor<2x1x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>
}
// One piece is not used: its gradient is zero.
func.func @split_partly(%x: tensor<2x6xf64>) -> tensor<2x2xf64> {
  %a, %b, %c = nn.split %x dim 1 sizes [2, 2, 2] : (tensor<2x6xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>)
  %y = arith.mulf %a, %c : tensor<2x2xf64>
  return %y : tensor<2x2xf64>
}
