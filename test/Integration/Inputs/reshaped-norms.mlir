// Residual sums that norms read in other shapes: rows, and groups of channels.

zero.parameter @table : tensor<256x32xf32> = #zero.normal<std = 0.5>
zero.parameter @inner : tensor<32x32xf32> = #zero.normal<std = 0.2>
zero.parameter @outer : tensor<32x32xf32> = #zero.normal<std = 0.2>
zero.parameter @scale : tensor<32xf32> = #zero.ones
zero.parameter @shift : tensor<32xf32> = #zero.zeros
zero.parameter @groups : tensor<8xf32> = #zero.ones
zero.parameter @w : tensor<32x256xf32> = #zero.normal<std = 0.2>

zero.step @train(%tokens: tensor<2x16xi32> {zero.input = "tokens"}, %targets: tensor<2x16xi32> {zero.input = "targets"}) {
  %table = zero.load @table : tensor<256x32xf32>
  %inner = zero.load @inner : tensor<32x32xf32>
  %outer = zero.load @outer : tensor<32x32xf32>
  %scale = zero.load @scale : tensor<32xf32>
  %shift = zero.load @shift : tensor<32xf32>
  %groups = zero.load @groups : tensor<8xf32>
  %w = zero.load @w : tensor<32x256xf32>
  %x = nn.embedding %tokens, %table : (tensor<2x16xi32>, tensor<256x32xf32>) -> tensor<2x16x32xf32>
  %h = nn.linear %x, %inner : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %sum = arith.addf %x, %h : tensor<2x16x32xf32>
  %rows = tensor.collapse_shape %sum [[0, 1], [2]] : tensor<2x16x32xf32> into tensor<32x32xf32>
  %n, %mean, %rstd = nn.layer_norm %rows, %scale, %shift eps 1.0e-5 : (tensor<32x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<32x32xf32>, tensor<32xf32>, tensor<32xf32>)
  %h2 = nn.linear %n, %outer : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %back = tensor.expand_shape %h2 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32>
  %sum2 = arith.addf %sum, %back : tensor<2x16x32xf32>
  %flat = tensor.collapse_shape %sum2 [[0, 1, 2]] : tensor<2x16x32xf32> into tensor<1024xf32>
  %grouped = tensor.expand_shape %flat [[0, 1, 2, 3]] output_shape [2, 16, 4, 8] : tensor<1024xf32> into tensor<2x16x4x8xf32>
  %n2, %rstd2 = nn.rms_norm %grouped, %groups eps 1.0e-6 : (tensor<2x16x4x8xf32>, tensor<8xf32>) -> (tensor<2x16x4x8xf32>, tensor<2x16x4xf32>)
  %whole = tensor.collapse_shape %n2 [[0], [1], [2, 3]] : tensor<2x16x4x8xf32> into tensor<2x16x32xf32>
  %h3 = nn.linear %whole, %inner : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  %sum3 = arith.addf %sum2, %h3 : tensor<2x16x32xf32>
  %logits = nn.linear %sum3, %w : (tensor<2x16x32xf32>, tensor<32x256xf32>) -> tensor<2x16x256xf32>
  %loss, %lse = nn.cross_entropy %logits, %targets : (tensor<2x16x256xf32>, tensor<2x16xi32>) -> (tensor<f32>, tensor<2x16xf32>)
  zero.yield %loss : tensor<f32>
}
