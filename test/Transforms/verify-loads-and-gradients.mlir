// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics

// What loads and gradients say cannot be left out, swapped or said twice.

// Right.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// Two gradients swapped.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    // expected-note @+1 {{computed here}}
    %h = zero.gradient @b, %1 : tensor<8xf32>
    // expected-error @+1 {{takes in as the gradient of @a what is not; it is that of @b[0 to 8]}}
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%h, %g : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// What is said of two gradients swapped.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // expected-note @+1 {{computed here}}
    %g = zero.gradient @b, %0 : tensor<8xf32>
    %h = zero.gradient @a, %1 : tensor<8xf32>
    // expected-error @+1 {{takes in as the gradient of @a what is not; it is that of @b[0 to 8]}}
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// Two gradients swapped, and nothing said of them.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    // expected-note @+1 {{computed here}}
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // expected-error @+1 {{takes in as the gradient of @a what is not; no 'zero.gradient' says whose gradient it is}}
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%1, %0 : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// A gradient that goes nowhere.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    // expected-error @+1 {{of @a is neither reduced nor stored}}
    %i = zero.gradient @a, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// Two gradients of one parameter.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // expected-note @+1 {{named here}}
    %g = zero.gradient @a, %0 : tensor<8xf32>
    // expected-error @+1 {{names elements of @a that have a gradient already}}
    %h = zero.gradient @a, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 16] : <>
    zero.wait %f : <>
  }
}

// -----

// Right, at stage 3.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a, @b] : <tensor<8xf32>, tensor<8xf32>>
    %w:2 = zero.wait %p : <tensor<8xf32>, tensor<8xf32>>
    %a = zero.load @a from %w#0 : tensor<8xf32>
    %b = zero.load @b from %w#1 : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    zero.free %w#0, %w#1 : tensor<8xf32>, tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// Two gathered parameters swapped.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a, @b] : <tensor<8xf32>, tensor<8xf32>>
    // expected-note @+1 {{given by this}}
    %w:2 = zero.wait %p : <tensor<8xf32>, tensor<8xf32>>
    // expected-error @+1 {{wants @a, and is given @b}}
    %a = zero.load @a from %w#1 : tensor<8xf32>
    %b = zero.load @b from %w#0 : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    zero.free %w#0, %w#1 : tensor<8xf32>, tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// Two gathered parameters swapped, and nothing said of them.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a, @b] : <tensor<8xf32>, tensor<8xf32>>
    // expected-note @+1 {{gathered here}}
    %w:2 = zero.wait %p : <tensor<8xf32>, tensor<8xf32>>
    // expected-error @+1 {{reads what was gathered of @b; no 'zero.load' says which parameter it wants}}
    %0 = arith.addf %x, %w#1 : tensor<8xf32>
    %1 = arith.mulf %x, %w#0 : tensor<8xf32>
    zero.free %w#0, %w#1 : tensor<8xf32>, tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// A load from what no gather made.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8, 16]
  members [#zero.member<@a at 0 size 8>, #zero.member<@b at 8 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a, @b] : <tensor<8xf32>, tensor<8xf32>>
    %w:2 = zero.wait %p : <tensor<8xf32>, tensor<8xf32>>
    // expected-note @+1 {{given by this}}
    %y = arith.mulf %x, %x : tensor<8xf32>
    // expected-error @+1 {{wants @a, and is given a value that no gather of it made}}
    %a = zero.load @a from %y : tensor<8xf32>
    %b = zero.load @b from %w#1 : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %1 = arith.mulf %x, %b : tensor<8xf32>
    zero.free %w#0, %w#1 : tensor<8xf32>, tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %h = zero.gradient @b, %1 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 16] of [@a, @b] (%g, %h : tensor<8xf32>, tensor<8xf32>) : <tensor<4xf32>, tensor<4xf32>>
    %s:2 = zero.wait %r : <tensor<4xf32>, tensor<4xf32>>
    zero.free %0, %1 : tensor<8xf32>, tensor<8xf32>
    zero.accumulate slice %s#0 into @p0[0 to 8] : tensor<4xf32>
    zero.accumulate slice %s#1 into @p0[8 to 16] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// A partition that trains otherwise than its group.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-note @+1 {{said here}}
zero.optimizer "default" = #zero.adam<lr = 0.5>
// expected-error @+1 {{trains @a by #zero.adam<lr = 0.25>, and its group 'default' by #zero.adam<lr = 0.5>}}
zero.partition @p0 whole over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<lr = 0.25>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// A partition whose group nothing trains.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.optimizer "other" = #zero.adam<lr = 0.5>
// expected-error @+1 {{and its group 'default' has no 'zero.optimizer'}}
zero.partition @p0 whole over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<lr = 0.5>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 0, ranks = 1> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}
