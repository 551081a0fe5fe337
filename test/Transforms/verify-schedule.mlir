// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics
// Correct schedules pass.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g0 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g0 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// Stage 2: a whole copy, gathered after the update.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g1 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g1 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A wait that is doubled.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g2 = zero.gradient @a, %0 : tensor<8xf32>
    // expected-error @+1 {{is waited for 2 times, wanted once}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g2 : tensor<8xf32>) : <tensor<4xf32>>
    // expected-note @+1 {{waited for here}}
    %s = zero.wait %r : <tensor<4xf32>>
    // expected-note @+1 {{waited for here}}
    %s2 = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A wait that is missing.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{is waited for 0 times, wanted once}}
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g3 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g3 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A read of a parameter that is not gathered.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{reads @a before it is gathered}}
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g4 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g4 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A use after the free.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    // expected-note @+1 {{freed here}}
    zero.free %a : tensor<8xf32>
    // expected-error @+1 {{uses a value that was freed}}
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g5 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g5 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A double free.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    // expected-note @+1 {{freed here}}
    zero.free %a : tensor<8xf32>
    // expected-error @+1 {{frees a value that is freed already}}
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g6 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g6 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A free that is missing.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    // expected-error @+1 {{gathers a parameter that is never freed}}
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g7 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g7 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A gradient that is never stored.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @+1 {{elements [0 to 8) of @a are never stored as a gradient}}
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g8 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g8 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
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

// A gradient that is stored twice.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g9 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g9 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    // expected-error @+1 {{makes elements of @a stored as a gradient more than once}}
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// A gradient that is never reduced.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %part = tensor.extract_slice %0[0][4][1] : tensor<8xf32> to tensor<4xf32>
    // expected-error @+1 {{stores a part that no reduction over ranks has made}}
    zero.accumulate slice %part into @p0[0 to 8] : tensor<4xf32>
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

// A gradient that is reduced twice.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g10 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g10 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    // expected-error @+1 {{makes elements of @a reduced over ranks more than once}}
    %r2 = zero.reduce_scatter @p0[0 to 8] of [@a] (%g10 : tensor<8xf32>) : <tensor<4xf32>>
    %s2 = zero.wait %r2 : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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

// An update that is missing.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @+1 {{is never updated}}
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g11 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g11 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update_scale %v
  }
}

// -----

// An update that is doubled.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g12 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g12 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    // expected-note @+1 {{the first time}}
    zero.update @p0 if %v
    // expected-error @+1 {{updates @p0 a second time}}
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// An update before its gradients are checked.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g13 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g13 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats []
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    // expected-error @+1 {{updates @p0, whose gradients no 'zero.grad_stats' has checked}}
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// Stage 1 reduces stored gradients before they are checked.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g14 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g14 into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %r = zero.reduce_scatter @p0[0 to 8] : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A reduction after the check.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g15 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g15 into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-note @+1 {{checked here}}
    %st = zero.grad_stats [@p0]
    // expected-error @+1 {{reduces gradients of @p0 after they were checked}}
    %r = zero.reduce_scatter @p0[0 to 8] : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Updated parameters that are not gathered.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @+1 {{elements [0 to 8) of @a are never gathered after the update}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g16 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g16 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    // expected-note @+1 {{updated here}}
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// A gather before the update.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g17 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g17 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{gathers @p0 before its update}}
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}
