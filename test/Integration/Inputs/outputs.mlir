// A linear regression that names what it predicts, its squared errors, and the
// largest error of a micro-batch, which is no mean of samples.
zero.parameter @w : tensor<3x2xf32> = #zero.normal<std = 0.5>

zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x2xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<3x2xf32>
  %h = nn.linear %x, %w : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %d = arith.subf %h, %y : tensor<2x2xf32>
  %s = arith.mulf %d, %d : tensor<2x2xf32>
  %loss = nn.reduce mean %s dims [0, 1] : (tensor<2x2xf32>) -> tensor<f32>
  %a = math.absf %d : tensor<2x2xf32>
  %most = nn.reduce max %a dims [0, 1] : (tensor<2x2xf32>) -> tensor<f32>
  zero.yield %loss, %h, %s, %most outputs ["prediction", "squares", "worst"] : tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>
}
