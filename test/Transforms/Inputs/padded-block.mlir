// A frozen parameter of 30 elements: on 3 ranks 10 each, padded to 12 in f32.
zero.parameter @a : tensor<2x15xf32> = #zero.ones frozen
zero.parameter @b : tensor<15xf32> = #zero.zeros
zero.step @s(%x: tensor<4x2xf32> {zero.input = "x"}) {
  %a = zero.load @a : tensor<2x15xf32>
  %b = zero.load @b : tensor<15xf32>
  %y = nn.linear %x, %a bias %b : (tensor<4x2xf32>, tensor<2x15xf32>, tensor<15xf32>) -> tensor<4x15xf32>
  %l = nn.reduce mean %y dims [0, 1] : (tensor<4x15xf32>) -> tensor<f32>
  zero.yield %l : tensor<f32>
}
