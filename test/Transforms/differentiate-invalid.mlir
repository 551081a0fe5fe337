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

// What is started is no way for a gradient: where it is the only path, and where
// it is one of two.
zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @started(%x: tensor<8xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %s = arith.mulf %x, %a : tensor<8xf32>
  // expected-error @+1 {{'zero.all_to_all' op is started on a path from a trained value to the loss, and what is started has no gradient: compute the value in the model without it, or start it on what is not trained}}
  %p = zero.all_to_all %s over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
  %y = zero.wait %p : <tensor<8xf32>>
  %loss = nn.reduce sum %y dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @beside(%x: tensor<8xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %s = arith.mulf %x, %a : tensor<8xf32>
  // expected-error @+1 {{'zero.all_to_all' op is started on a path}}
  %p = zero.all_to_all %s over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
  %w = zero.wait %p : <tensor<8xf32>>
  %y = arith.addf %w, %s : tensor<8xf32>
  %loss = nn.reduce sum %y dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// On what is not trained, or beside the loss, it is as good as any operation.
zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @elsewhere(%x: tensor<8xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %p = zero.all_to_all %x over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
  %w = zero.wait %p : <tensor<8xf32>>
  %s = arith.mulf %w, %a : tensor<8xf32>
  %q = zero.all_to_all %s over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
  %o = zero.wait %q : <tensor<8xf32>>
  %loss = nn.reduce sum %s dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss, %o outputs ["o"] : tensor<f32>, tensor<8xf32>
}

// -----

// Handed over by name, a value comes back where nothing says whose it is.
zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @carried(%x: tensor<8xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %p = zero.all_to_all %a over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
  // expected-error @+1 {{'zero.carry' op takes a trained value and gives no result that its gradient could come back from: take it out of the model}}
  zero.carry %p as "a" : <tensor<8xf32>>
  %q = zero.carried "a" : <tensor<8xf32>>
  %y = zero.wait %q : <tensor<8xf32>>
  %s = arith.addf %y, %a : tensor<8xf32>
  %loss = nn.reduce sum %s dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// The bits of a trained value are that value.
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @bits(%x: tensor<8xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %i = arith.bitcast %a : tensor<8xf32> to tensor<8xi32>
  // expected-error @+1 {{'arith.bitcast' op is on a path from a trained value to the loss and has no gradient}}
  %f = arith.bitcast %i : tensor<8xi32> to tensor<8xf32>
  %s = arith.addf %f, %a : tensor<8xf32>
  %loss = nn.reduce sum %s dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// A block of rows is of gradients, which nothing differentiates.
zero.parameter @a : tensor<8x4xf32> = #zero.ones
zero.step @block(%x: tensor<4x6xf32>) {
  %a = zero.load @a : tensor<8x4xf32>
  // expected-error @+1 {{gives a block of rows, whose gradient is not known: compute all rows, and take a slice of them}}
  %y = nn.matmul %a, %x rows [0, 4] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %loss = nn.reduce sum %y dims [0, 1] : (tensor<4x6xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @pad(%x: tensor<10xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %one = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{has dynamic padding, and only the gradient of static padding is known: give it as attributes}}
  %y = tensor.pad %a low[%one] high[%one] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<10xf32>
  %loss = nn.reduce sum %y dims [0] : (tensor<10xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @slice(%x: tensor<4xf32>) {
  %a = zero.load @a : tensor<8xf32>
  %one = arith.constant 1 : index
  // expected-error @+1 {{has dynamic offsets, sizes or strides, and only the gradient of a static slice is known: give them as attributes}}
  %y = tensor.extract_slice %a[%one] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %loss = nn.reduce sum %y dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.step @reshape(%shape: tensor<1xi32>) {
  %a = zero.load @a : tensor<8xf32>
  // expected-error @+1 {{has a dynamic shape, and only the gradient of a static reshape is known: give both types as ranked tensors of static shape}}
  %y = tensor.reshape %a(%shape) : (tensor<8xf32>, tensor<1xi32>) -> tensor<?xf32>
  %c = tensor.cast %y : tensor<?xf32> to tensor<8xf32>
  %loss = nn.reduce sum %c dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// Positions of a maximum are compared in f32.
zero.parameter @a : tensor<16777217xf32> = #zero.ones
zero.step @maximum(%x: tensor<f32>) {
  %a = zero.load @a : tensor<16777217xf32>
  // expected-error @+1 {{the gradient of a maximum over 16777217 elements is wanted, possible are at most 16777216; reduce in two operations}}
  %loss = nn.reduce max %a dims [0] : (tensor<16777217xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @m : tensor<3x4xf32> = #zero.ones
zero.step @mask(%q: tensor<2x3x2x2xf32>, %k: tensor<2x4x2x2xf32>) {
  %m = zero.load @m : tensor<3x4xf32>
  // expected-error @+1 {{a gradient is wanted for mask, which has none; add a trained bias to the scores of nn.matmul and nn.softmax}}
  %o, %lse = nn.attention %q, %k, %k mask %m scale 0.5 : (tensor<2x3x2x2xf32>, tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32>, tensor<3x4xf32>) -> (tensor<2x3x2x2xf32>, tensor<2x2x3xf32>)
  %loss = nn.reduce sum %o dims [0, 1, 2, 3] : (tensor<2x3x2x2xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones frozen
// expected-error @+1 {{'zero.step' trains nothing: no parameter is left that is not frozen and that a gradient of the loss reaches}}
zero.step @nothing(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %p = arith.mulf %w, %x : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
