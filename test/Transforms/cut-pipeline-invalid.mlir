// RUN: zero-opt %s --zero-cut-pipeline --split-input-file --verify-diagnostics

zero.mesh @mesh <pipe = 3, data = 1>
zero.parameter @a : tensor<8x8xf32> = #zero.ones
zero.parameter @b : tensor<8x8xf32> = #zero.ones

// expected-error@+1 {{@train has 1 place to cut it at, and the axis 'pipe' has 3 ranks; wanted 2: name them by zero.pipeline_boundaries, or by 'zero.stage_boundary' in the model, or give fewer ranks}}
zero.step @train(%x: tensor<4x8xf32>) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce mean %g dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <pipe = 2, data = 1>
zero.parameter @a : tensor<8x8xf32> = #zero.ones
// expected-error@+1 {{parameter @m is an average that stages [0, 1] of the pipeline use, and each of them would move it; use it in one stage, or cut the model elsewhere}}
zero.parameter @m : tensor<4x8xf32> = #zero.ones average 0.1

zero.step @train(%x: tensor<4x8xf32>) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.track @m, %h : tensor<4x8xf32>
  zero.stage_boundary
  %m = zero.load @m : tensor<4x8xf32>
  %g = arith.addf %h, %m : tensor<4x8xf32>
  %loss = nn.reduce mean %g dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <pipe = 2, data = 1>
// expected-error@+1 {{found 1 steps or a schedule, wanted one model to cut into stages; run zero-cut-pipeline before zero-differentiate}}
zero.step @train(%x: tensor<4x8xf32>) {
  zero.micro {
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.mesh @mesh <pipe = 2, data = 1>
zero.parameter @a : tensor<8x8xf32> = #zero.ones frozen
zero.parameter @b : tensor<8x8xf32> = #zero.ones

// expected-error@+1 {{stage 0 of the pipeline has no parameter that is trained, and so no backward pass and no update; begin it elsewhere, train one of its parameters, or give the axis 'pipe' fewer ranks}}
zero.step @train(%x: tensor<4x8xf32>) {
  %a = zero.load @a : tensor<8x8xf32>
  %h = nn.linear %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  zero.stage_boundary
  %b = zero.load @b : tensor<8x8xf32>
  %g = nn.linear %h, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce mean %g dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
