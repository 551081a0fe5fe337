// The largest parameter is @table, the largest layer @wide: 1.5 M + 1.6 M.
zero.parameter @wide.weight : tensor<1500x1000xf32> = #zero.zeros
zero.parameter @wide.bias : tensor<1600000xf32> = #zero.zeros
zero.parameter @table : tensor<2000000xf32> = #zero.zeros
zero.step @train(%x: tensor<1x1500xf32> {zero.input = "x"}) {
  %w = zero.load @wide.weight : tensor<1500x1000xf32>
  %b = zero.load @wide.bias : tensor<1600000xf32>
  %t = zero.load @table : tensor<2000000xf32>
  %y = nn.linear %x, %w : (tensor<1x1500xf32>, tensor<1500x1000xf32>) -> tensor<1x1000xf32>
  %s = nn.reduce sum %y dims [0, 1] : (tensor<1x1000xf32>) -> tensor<f32>
  %u = nn.reduce sum %b dims [0] : (tensor<1600000xf32>) -> tensor<f32>
  %v = nn.reduce sum %t dims [0] : (tensor<2000000xf32>) -> tensor<f32>
  %p = arith.addf %s, %u : tensor<f32>
  %loss = arith.addf %p, %v : tensor<f32>
  zero.yield %loss : tensor<f32>
}
