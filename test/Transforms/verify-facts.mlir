// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics

// A free while the reduction still reads.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g0 = zero.gradient @a, %0 : tensor<8xf32>
    // expected-note @+1 {{started here and not waited for}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g0 : tensor<8xf32>) : <tensor<4xf32>>
    // expected-error @+1 {{frees a value that an operation in flight still reads}}
    zero.free %0 : tensor<8xf32>
    %s = zero.wait %r : <tensor<4xf32>>
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

// A reduced gradient that is never freed.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    // expected-note @+1 {{computed here}}
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g1 = zero.gradient @a, %0 : tensor<8xf32>
    // expected-error @+1 {{takes in a gradient that is never freed}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g1 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
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

// A free of state.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g2 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g2 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    // expected-error @+1 {{frees memory that outlives the region}}
    zero.free %a : tensor<8xf32>
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

// A second use of stale elements.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @+1 {{elements [0 to 8) of @a are never gathered after the update}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
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
    // expected-note @+1 {{updated here}}
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// A gather of what has not changed.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
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
    // expected-note @+1 {{gathered here}}
    %f = zero.refresh @p0[0 to 8] : <>
    // expected-error @+1 {{gathers @p0 a second time}}
    %f2 = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
    zero.wait %f2 : <>
  }
}

// -----

// A check before the wait.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g5 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g5 into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-note @+1 {{started here}}
    %r = zero.reduce_scatter @p0[0 to 8] : <tensor<4xf32>>
    // expected-error @+1 {{checks gradients of @p0 before their reduction was waited for}}
    %st = zero.grad_stats [@p0]
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

// A store into what is being reduced.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g6 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g6 into @p0[0 to 8] : tensor<8xf32>
    // expected-error @+1 {{makes elements of @a stored as a gradient more than once}}
    zero.accumulate whole %g6 into @p0[0 to 8] : tensor<8xf32>
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

// A gradient at the place of none.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %h = tensor.extract_slice %0[0][4][1] : tensor<8xf32> to tensor<4xf32>
    // expected-error @+1 {{range [0 to 4) is no member of @p0}}
    zero.accumulate whole %h into @p0[0 to 4] : tensor<4xf32>
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

// Norms that no rank combines.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
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
    // expected-error @+1 {{is never combined over ranks}}
    %st = zero.grad_stats [@p0]
    %v = zero.judge %st clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Whole norms at a stage with slices.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g8 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g8 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    // expected-error @+1 {{leaves each rank with the norm of its own slices}}
    %t = zero.reduce_stats loss_only %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A factor that does not fit.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g9 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g9 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    // expected-error @+1 {{divides by 1.000000e+00, and the gradients of @p0 are sums over 2 ranks; wanted 2.000000e+00}}
    %v = zero.judge %t clip 0.0 divisor 1.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A sum over three ranks is a fourth of what it is without 'prescaled'.

zero.parameter @a : tensor<12xf32> = #zero.ones
zero.partition @p0 bucketed over 3 ranks stage 2 segments [0, 12]
  members [#zero.member<@a at 0 size 12>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<12xf32>) training #zero.training<stage = 2, ranks = 3> {
  zero.micro {
    %a = zero.load @a : tensor<12xf32>
    %0 = arith.addf %x, %a : tensor<12xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<12xf32>) -> tensor<f32>
    %g9 = zero.gradient @a, %0 : tensor<12xf32>
    %r = zero.reduce_scatter prescaled @p0[0 to 12] of [@a] (%g9 : tensor<12xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<12xf32>
    zero.accumulate slice %s into @p0[0 to 12] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    // expected-error @+1 {{divides by 1.000000e+00, and the gradients of @p0 are prescaled sums over 3 ranks; wanted 7.500000e-01}}
    %v = zero.judge %t clip 0.0 divisor 1.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 12] : <>
    zero.wait %f : <>
  }
}

// -----

// A scale that moves too early.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g10 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g10 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    // expected-error @+1 {{counts the update before it is done}}
    zero.update_scale %v
    // expected-note @+1 {{this update reads the count and the scale}}
    zero.update @p0 if %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Two checks.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g11 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g11 : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.free %0 : tensor<8xf32>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-note @+1 {{the first one}}
    %st = zero.grad_stats [@p0]
    // expected-error @+1 {{runs a second time in one update}}
    %st2 = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A collective without another rank.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 whole over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 0, ranks = 1> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g12 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g12 into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %v = zero.judge %st clip 0.0 divisor 1.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    // expected-error @+1 {{gathers @p0, which every rank has whole}}
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A parameter in no partition, which nothing would give memory.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones frozen
zero.partition @p0 whole over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 0, ranks = 1> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    // expected-error @+1 {{reads @b, which is in no 'zero.partition'; wanted one, as zero-partition makes it}}
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %a, %b : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g12 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g12 into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %v = zero.judge %st clip 0.0 divisor 1.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// Another parameter than the operation uses.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.parameter @b : tensor<8xf32> = #zero.ones frozen
zero.partition @p1 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@b at 0 size 8>] compute f32 gradient f32
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@b] : <tensor<8xf32>>
    // expected-note @+1 {{given by this}}
    %a_whole = zero.wait %p : <tensor<8xf32>>
    // expected-error @+1 {{wants @a, and is given @b}}
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
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
  }
}

// -----

// Another value than the gradient.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    // expected-note @+1 {{computed here}}
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // expected-error @+1 {{takes in as the gradient of @a what is not; no 'zero.gradient' says whose gradient it is}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%0 : tensor<8xf32>) : <tensor<4xf32>>
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

// More gathers than uses.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
// expected-error @+1 {{sends 16 elements of gathered parameters an update (times (n-1)/n), wanted 8}}
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p2 = zero.all_gather [@a] : <tensor<8xf32>>
    %a2_whole = zero.wait %p2 : <tensor<8xf32>>
    %a2 = zero.load @a from %a2_whole : tensor<8xf32>
    zero.free %a2 : tensor<8xf32>
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %a_whole = zero.wait %p : <tensor<8xf32>>
    %a = zero.load @a from %a_whole : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    zero.free %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g15 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g15 : tensor<8xf32>) : <tensor<4xf32>>
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

// A parameter of two owners.

zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-note @+1 {{held here too}}
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
// expected-error @+1 {{holds @a, which has another owner}}
zero.partition @p1 whole over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32
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
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Two ranks that do not meet.

module @rank0 {
  zero.parameter @a : tensor<8xf32> = #zero.ones
  zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
    members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> attributes {zero.rank = 0 : i64} {
    zero.micro {
      %p = zero.all_gather [@a] : <tensor<8xf32>>
      %a_whole = zero.wait %p : <tensor<8xf32>>
      %a = zero.load @a from %a_whole : tensor<8xf32>
      %0 = arith.addf %x, %a : tensor<8xf32>
      zero.free %a : tensor<8xf32>
      %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
      %g17 = zero.gradient @a, %0 : tensor<8xf32>
      // expected-note @+1 {{on rank 0}}
      %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g17 : tensor<8xf32>) : <tensor<4xf32>>
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
}
module @rank1 {
  zero.parameter @a : tensor<8xf32> = #zero.ones
  zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
    members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
  zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> attributes {zero.rank = 1 : i64} {
    zero.micro {
      %p = zero.all_gather [@a] : <tensor<8xf32>>
      %a_whole = zero.wait %p : <tensor<8xf32>>
      %a = zero.load @a from %a_whole : tensor<8xf32>
      %0 = arith.addf %x, %a : tensor<8xf32>
      zero.free %a : tensor<8xf32>
      %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
      %g18 = zero.gradient @a, %0 : tensor<8xf32>
      // expected-error @+1 {{is what rank 1 does where rank 0 does 'zero.reduce_scatter' or the same of another kind, range, count or type}}
      %r = zero.reduce_scatter prescaled @p0[0 to 8] of [@a] (%g18 : tensor<8xf32>) : <tensor<4xf32>>
      %s = zero.wait %r : <tensor<4xf32>>
      zero.free %0 : tensor<8xf32>
      zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
      zero.yield %loss : tensor<f32>
    }
    zero.apply {
      %st = zero.grad_stats [@p0]
      %t = zero.reduce_stats %st
      %v = zero.judge %t clip 0.0 divisor 1.0 skip
      zero.update @p0 if %v
      zero.update_scale %v
    }
  }
}
