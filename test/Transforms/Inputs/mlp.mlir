// Two layers, two optimizer groups; small enough to follow every element.
zero.parameter @fc1.w : tensor<8x6xf32> = #zero.normal<std = 0.2>
zero.parameter @fc1.b : tensor<6xf32> = #zero.zeros group "no_decay"
zero.parameter @fc2.w : tensor<6x3xf32> = #zero.normal<std = 0.2>
zero.step @train(%x: tensor<4x8xf32> {zero.input = "x"}, %y: tensor<4xi32> {zero.input = "y"}) {
  %w1 = zero.load @fc1.w : tensor<8x6xf32>
  %b1 = zero.load @fc1.b : tensor<6xf32>
  %w2 = zero.load @fc2.w : tensor<6x3xf32>
  %h = nn.linear %x, %w1 bias %b1 : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %a = nn.gelu tanh %h : tensor<4x6xf32>
  %l = nn.linear %a, %w2 : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %loss, %lse = nn.cross_entropy %l, %y : (tensor<4x3xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  zero.yield %loss, %l outputs ["logits"] : tensor<f32>, tensor<4x3xf32>
}
