// A perceptron of sizes 3, 1, GELU between the layers, the mean squared error
// to a target; micro-batches of 2.
//
// Made by: generate.py mlp --sizes 3,1 --micro-batch 2 --no-bias --regression

!a3 = tensor<2x3xf32>
!a1 = tensor<2x1xf32>
!w3x1 = tensor<3x1xf32>

zero.parameter @fc1.w : !w3x1 = #zero.normal<std = 0.02>

zero.step @train(%x: !a3 {zero.input = "x"}, %y: !a1 {zero.input = "y"}) {
  %w1 = zero.load @fc1.w : !w3x1
  %h1 = nn.linear %x, %w1 : (!a3, !w3x1) -> !a1
  %d = arith.subf %h1, %y : !a1
  %s = arith.mulf %d, %d : !a1
  %loss = nn.reduce mean %s dims [0, 1] : (!a1) -> tensor<f32>
  zero.yield %loss, %h1 outputs ["prediction"] : tensor<f32>, !a1
}
