// What angles are of any size: sine and cosine.
zero.parameter @w : tensor<1xf32> = #zero.ones
zero.step @train(%x: tensor<16xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<1xf32>
  %s = math.sin %x : tensor<16xf32>
  %c = math.cos %x : tensor<16xf32>
  %loss = nn.reduce sum %w dims [0] : (tensor<1xf32>) -> tensor<f32>
  zero.yield %loss, %s, %c outputs ["sin", "cos"] : tensor<f32>, tensor<16xf32>, tensor<16xf32>
}
