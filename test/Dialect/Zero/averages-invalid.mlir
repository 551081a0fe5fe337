// RUN: zero-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{average is 0, wanted a number above 0, at most 1}}
zero.parameter @a : tensor<4xf32> = #zero.zeros average 0.0

// -----

// expected-error @+1 {{average is 1.5, wanted a number above 0, at most 1}}
zero.parameter @a : tensor<4xf32> = #zero.zeros average 1.5

// -----

// expected-error @+1 {{is an average, which no optimizer changes: it has no group and is not frozen}}
zero.parameter @a : tensor<4xf32> = #zero.zeros group "no_decay" average 0.1

// -----

// expected-error @+1 {{is an average, which no optimizer changes: it has no group and is not frozen}}
zero.parameter @a : tensor<4xf32> = #zero.zeros frozen average 0.1

// -----

// expected-error @+1 {{is an average of type 'tensor<4xbf16>', wanted f32 elements}}
zero.parameter @a : tensor<4xbf16> = #zero.zeros average 0.1

// -----

// expected-error @+1 {{weight is 0, wanted a number above 0, at most 1}}
module attributes {test.update = #zero.moving_average<weight = 0.0>} {}

// -----

// What takes no gradients trains no weights.
// expected-error @+1 {{optimizer #zero.moving_average<weight = 0.1> is no optimizer}}
zero.optimizer "default" = #zero.moving_average<weight = 0.1>

// -----

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.step @no_average(%x: tensor<4xf32>) {
  // expected-error @+1 {{names @w, wanted a 'zero.parameter' that is an 'average'}}
  zero.track @w, %x : tensor<4xf32>
  %loss = nn.reduce mean %x dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<4xf32> = #zero.zeros average 0.1
zero.step @another_shape(%x: tensor<5xf32>) {
  // expected-error @+1 {{follows a 'tensor<5xf32>', and @a is a 'tensor<4xf32>'}}
  zero.track @a, %x : tensor<5xf32>
  %loss = nn.reduce mean %x dims [0] : (tensor<5xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<f32> = #zero.zeros average 0.1
zero.step @scheduled(%x: tensor<f32>) {
  zero.micro {
    // expected-error @+1 {{expects parent op 'zero.step'}}
    zero.track @a, %x : tensor<f32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}
