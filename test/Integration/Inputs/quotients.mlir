// Quotients of integers that the data gives.
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @train(%x: tensor<4xi32> {zero.input = "x"}, %y: tensor<4xi32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<4xf32>
  %d = arith.divsi %x, %y : tensor<4xi32>
  %f = arith.sitofp %d : tensor<4xi32> to tensor<4xf32>
  %p = arith.mulf %w, %f : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
