// Tokens looked up, a perceptron, and classes: of which an axis `tensor` cuts the width
// of the perceptron and the classes, and an axis `sequence` the positions.

!tokens = tensor<2x16xi32>

zero.parameter @table : tensor<32x8xf32> = #zero.zeros frozen
zero.parameter @up : tensor<8x32xf32> = #zero.zeros
zero.parameter @down : tensor<32x8xf32> = #zero.zeros
zero.parameter @head : tensor<8x32xf32> = #zero.zeros

zero.step @train(%ids: !tokens {zero.input = "input_ids"}, %labels: !tokens {zero.input = "labels"}) {
  %table = zero.load @table : tensor<32x8xf32>
  %x = nn.embedding %ids, %table : (!tokens, tensor<32x8xf32>) -> tensor<2x16x8xf32>
  %up = zero.load @up : tensor<8x32xf32>
  %wide = nn.linear %x, %up : (tensor<2x16x8xf32>, tensor<8x32xf32>) -> tensor<2x16x32xf32>
  %act = nn.gelu tanh %wide : tensor<2x16x32xf32>
  %down = zero.load @down : tensor<32x8xf32>
  %y = nn.linear %act, %down : (tensor<2x16x32xf32>, tensor<32x8xf32>) -> tensor<2x16x8xf32>
  %head = zero.load @head : tensor<8x32xf32>
  %logits = nn.linear %y, %head : (tensor<2x16x8xf32>, tensor<8x32xf32>) -> tensor<2x16x32xf32>
  %rows = tensor.collapse_shape %logits [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32>
  %targets = tensor.collapse_shape %labels [[0, 1]] : !tokens into tensor<32xi32>
  %loss, %lse = nn.cross_entropy %rows, %targets : (tensor<32x32xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>)
  zero.yield %loss : tensor<f32>
}
