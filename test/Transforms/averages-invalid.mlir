// RUN: zero-opt %s --zero-differentiate --verify-diagnostics

zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{parameter @mean is an average, and @train does not track it: add a 'zero.track', or make it frozen instead of an average}}
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.5

zero.step @train(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %h = arith.mulf %x, %w : tensor<4xf32>
  %loss = nn.reduce mean %h dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
