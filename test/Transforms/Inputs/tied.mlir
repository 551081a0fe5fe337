// A weight that is used twice, and a frozen one.
zero.parameter @w : tensor<8x8xf32> = #zero.normal<std = 0.2>
zero.parameter @scale : tensor<8xf32> = #zero.ones frozen
zero.step @train(%x: tensor<2x8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<8x8xf32>
  %s = zero.load @scale : tensor<8xf32>
  %h = nn.linear %x, %w bias %s : (tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %g = nn.gelu tanh %h : tensor<2x8xf32>
  %i = nn.linear %g, %w transposed : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %loss = nn.reduce mean %i dims [0, 1] : (tensor<2x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
