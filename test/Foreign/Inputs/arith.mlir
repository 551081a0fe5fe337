// The model of ../foreign.mlir, of upstream's operations alone.
zero.parameter @w : tensor<3x4xf32> = #zero.normal<std = 0.5>

zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}, %y: tensor<2x4xf32> {zero.input = "y"}) {
  %w = zero.load @w : tensor<3x4xf32>
  %h = nn.linear %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %half = arith.constant dense<0.5> : tensor<2x4xf32>
  %t = arith.addf %h, %half : tensor<2x4xf32>
  %t2 = arith.mulf %t, %t : tensor<2x4xf32>
  %c = arith.mulf %t2, %t : tensor<2x4xf32>
  %d = arith.subf %c, %y : tensor<2x4xf32>
  %s = arith.mulf %d, %d : tensor<2x4xf32>
  %loss = nn.reduce sum %s dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
