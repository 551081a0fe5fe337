// RUN: zero-opt %s --split-input-file --zero-differentiate=ignore-unused-parameters=false --verify-diagnostics

// An operation without a gradient is an error where it is on a path, and only
// there: the one on the input is none.
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @missing(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %c = arith.bitcast %x : tensor<4xf32> to tensor<4xf32>
  %p = arith.mulf %w, %c : tensor<4xf32>
  // expected-error @+1 {{'arith.bitcast' op is on a path from a trained value to the loss and has no gradient: implement DifferentiableOpInterface for it}}
  %r = arith.bitcast %p : tensor<4xf32> to tensor<4xf32>
  %loss = nn.reduce sum %r dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// expected-error @+1 {{parameter @w is trainable, and the loss of @unused does not depend on it: use it, mark it frozen, or set ignore-unused-parameters}}
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @unused(%x: tensor<4xf32>) {
  %loss = nn.reduce sum %x dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @types(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  // expected-error @+1 {{reads @w as 'tensor<4xbf16>', and an earlier one as 'tensor<4xf32>'}}
  %n = zero.load @w : tensor<4xbf16>
  %e = arith.extf %n : tensor<4xbf16> to tensor<4xf32>
  %p = arith.mulf %w, %e : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<f32> = #zero.ones
zero.step @captured(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<f32>
  %s = tensor.extract %w[] : tensor<f32>
  // expected-error @+1 {{captures a trained value in its region, where no gradient reaches it: pass the value as an operand}}
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %s : f32
  } : tensor<4xf32> to tensor<6xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<6xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// A statistic has no gradient: the error is the operation's own.
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @statistic(%x: tensor<2x4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %b = nn.broadcast %w dims [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{is a statistic, which has no gradient}}
  %y, %rstd = nn.rms_norm %b, %w eps 1.0e-6 : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  %loss = nn.reduce sum %rstd dims [0] : (tensor<2xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// No gradient is lost where something is started: not beside another path, nor on
// the only one.
zero.mesh @mesh <data = 2>
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @started_beside(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %p = arith.mulf %w, %x : tensor<4xf32>
  %q = zero.all_to_all %p over <data = 2> : tensor<4xf32> -> <tensor<4xf32>>
  // expected-error @+1 {{'zero.wait' op is on a path from a trained value to the loss, and no gradient goes through what was started: a model says what one rank computes, and passes add what travels}}
  %r = zero.wait %q : <tensor<4xf32>>
  %sum = arith.addf %r, %p : tensor<4xf32>
  %loss = nn.reduce sum %sum dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <data = 2>
zero.parameter @w : tensor<4xf32> = #zero.ones
zero.step @started_alone(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %q = zero.all_to_all %w over <data = 2> : tensor<4xf32> -> <tensor<4xf32>>
  // expected-error @+1 {{no gradient goes through what was started}}
  %r = zero.wait %q : <tensor<4xf32>>
  %loss = nn.reduce sum %r dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
