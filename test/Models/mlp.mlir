// A perceptron of sizes 784, 250, 10, GELU between the layers, a softmax over
// the last layer; micro-batches of 32.
//
// Made by: generate.py mlp

!a784 = tensor<32x784xf32>
!a250 = tensor<32x250xf32>
!w784x250 = tensor<784x250xf32>
!w250 = tensor<250xf32>
!a10 = tensor<32x10xf32>
!w250x10 = tensor<250x10xf32>
!w10 = tensor<10xf32>
!labels = tensor<32xi32>
!rows = tensor<32xf32>

zero.parameter @fc1.w : !w784x250 = #zero.normal<std = 0.02>
zero.parameter @fc1.b : !w250 = #zero.zeros group "no_decay"
zero.parameter @fc2.w : !w250x10 = #zero.normal<std = 0.02>
zero.parameter @fc2.b : !w10 = #zero.zeros group "no_decay"

zero.step @train(%x: !a784 {zero.input = "x"}, %y: !labels {zero.input = "y"}) {
  %w1 = zero.load @fc1.w : !w784x250
  %b1 = zero.load @fc1.b : !w250
  %h1 = nn.linear %x, %w1 bias %b1 : (!a784, !w784x250, !w250) -> !a250
  %g1 = nn.gelu tanh %h1 : !a250
  %w2 = zero.load @fc2.w : !w250x10
  %b2 = zero.load @fc2.b : !w10
  %h2 = nn.linear %g1, %w2 bias %b2 : (!a250, !w250x10, !w10) -> !a10
  %loss, %lse = nn.cross_entropy %h2, %y : (!a10, !labels) -> (tensor<f32>, !rows)
  zero.yield %loss, %h2 outputs ["logits"] : tensor<f32>, !a10
}
