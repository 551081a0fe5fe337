// A network of one parameter, S = 1024 x 512 elements: the case in which a
// gradient that is reduced whole needs as much as no sharding at all.
zero.parameter @w : tensor<1024x512xf32> = #zero.normal<std = 0.02>
zero.step @train(%x: tensor<4x1024xf32> {zero.input = "x"}, %y: tensor<4xi32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<1024x512xf32>
  %l = nn.linear %x, %w : (tensor<4x1024xf32>, tensor<1024x512xf32>) -> tensor<4x512xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x512xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss : tensor<f32>
}
