zero.parameter @table : tensor<300x8xf32> = #zero.normal<std = 1.0>
zero.parameter @head : tensor<8x300xf32> = #zero.normal<std = 0.2>

// The model itself takes the next tokens from the same input.
zero.step @train(%tokens: tensor<2x9xi32> {zero.input = "tokens"}) {
  %from = tensor.extract_slice %tokens[0, 0] [2, 8] [1, 1] : tensor<2x9xi32> to tensor<2x8xi32>
  %to = tensor.extract_slice %tokens[0, 1] [2, 8] [1, 1] : tensor<2x9xi32> to tensor<2x8xi32>
  %table = zero.load @table : tensor<300x8xf32>
  %x = nn.embedding %from, %table : (tensor<2x8xi32>, tensor<300x8xf32>) -> tensor<2x8x8xf32>
  %head = zero.load @head : tensor<8x300xf32>
  %logits = nn.linear %x, %head : (tensor<2x8x8xf32>, tensor<8x300xf32>) -> tensor<2x8x300xf32>
  %loss, %lse = nn.cross_entropy %logits, %to : (tensor<2x8x300xf32>, tensor<2x8xi32>) -> (tensor<f32>, tensor<2x8xf32>)
  zero.yield %loss : tensor<f32>
}
