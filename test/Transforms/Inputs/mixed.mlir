// Parameters of two types: one is bf16 in the model itself.
zero.parameter @w : tensor<4xbf16> = #zero.ones
zero.parameter @v : tensor<4xf32> = #zero.ones
zero.step @train(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xbf16>
  %v = zero.load @v : tensor<4xf32>
  %e = arith.extf %w : tensor<4xbf16> to tensor<4xf32>
  %p = arith.mulf %x, %e : tensor<4xf32>
  %q = arith.mulf %p, %v : tensor<4xf32>
  %loss = nn.reduce sum %q dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
