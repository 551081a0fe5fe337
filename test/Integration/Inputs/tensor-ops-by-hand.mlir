zero.parameter @table : tensor<256x32xf32> = #zero.normal<std = 0.02>
zero.parameter @w : tensor<32x256xf32> = #zero.normal<std = 0.02>
zero.parameter @scale : tensor<3xf32> = #zero.uniform<low = 0.5, high = 1.0>

zero.step @train(%tokens: tensor<2x16xi32> {zero.input = "tokens"}, %targets: tensor<2x16xi32> {zero.input = "targets"}) {
  %table = zero.load @table : tensor<256x32xf32>
  %w = zero.load @w : tensor<32x256xf32>
  %scale = zero.load @scale : tensor<3xf32>
  %e = nn.embedding %tokens, %table : (tensor<2x16xi32>, tensor<256x32xf32>) -> tensor<2x16x32xf32>
  %rows = tensor.collapse_shape %e [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32>
  %s = tensor.extract_slice %scale[1] [1] [1] : tensor<3xf32> to tensor<f32>
  %t = math.tan %s : tensor<f32>
  %factor = nn.broadcast %t dims [] : (tensor<f32>) -> tensor<32x32xf32>
  %x = arith.mulf %rows, %factor : tensor<32x32xf32>
  %logits = nn.linear %x, %w : (tensor<32x32xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
  %flat = tensor.collapse_shape %targets [[0, 1]] : tensor<2x16xi32> into tensor<32xi32>
  %loss, %lse = nn.cross_entropy %logits, %flat : (tensor<32x256xf32>, tensor<32xi32>) -> (tensor<f32>, tensor<32xf32>)
  zero.yield %loss : tensor<f32>
}
