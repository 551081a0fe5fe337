// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics

// What passes from region to region by name. A correct step first.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g0 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g0 : tensor<8xf32>) : <tensor<4xf32>>
    zero.carry %r as "gradients" : <tensor<4xf32>>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %r = zero.carried "gradients" : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.carry %f as "parameters" : <>
  }
  zero.evaluate {
    %a = zero.load @a : tensor<8xf32>
    %loss = nn.reduce sum %a dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
}

// -----

// A handle that nobody takes.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %f = zero.refresh @p0[0 to 8] : <>
    // expected-error @+1 {{carries "parameters", which no region waits for}}
    zero.carry %f as "parameters" : <>
  }
}

// -----

// A handle that nobody carries.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{takes "parameters", which no region carries}}
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// Two handles of one name.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %f = zero.refresh @p0[0 to 4] : <>
    // expected-note @+1 {{the other one}}
    zero.carry %f as "parameters" : <>
    %g = zero.refresh @p0[4 to 8] : <>
    // expected-error @+1 {{names "parameters", and so does another}}
    zero.carry %g as "parameters" : <>
  }
}

// -----

// Taken as something else.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>, %l: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %g1 = zero.gradient @a, %x : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g1 : tensor<8xf32>) : <tensor<4xf32>>
    zero.carry %r as "gradients" : <tensor<4xf32>>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{takes "gradients" as '!zero.pending<tensor<8xf32>>', and what is carried is '!zero.pending<tensor<4xf32>>'}}
    %r = zero.carried "gradients" : <tensor<8xf32>>
    %s = zero.wait %r : <tensor<8xf32>>
  }
}

// -----

// Taken where it was carried.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    %f = zero.refresh @p0[0 to 8] : <>
    zero.carry %f as "parameters" : <>
    // expected-error @+1 {{takes "parameters" in the region that carries it}}
    %g = zero.carried "parameters" : <>
    zero.wait %g : <>
  }
}

// -----

// Waited for and carried.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{is waited for 2 times, wanted once}}
    %f = zero.refresh @p0[0 to 8] : <>
    // expected-note @+1 {{carried here}}
    zero.carry %f as "parameters" : <>
    // expected-note @+1 {{waited for here}}
    zero.wait %f : <>
  }
}

// -----

// Of two micro-batches, each starts what only the update waits for.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>, %l: tensor<f32>) training #zero.training<stage = 2, ranks = 2, accumulation = 2> {
  zero.micro {
    %g2 = zero.gradient @a, %x : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g2 : tensor<8xf32>) : <tensor<4xf32>>
    // expected-error @+1 {{carries "gradients" a second time, while what it named before is still in flight}}
    zero.carry %r as "gradients" : <tensor<4xf32>>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
    %r = zero.carried "gradients" : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
  }
}

// -----

// The first micro-batch has no gradients to take.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>, %l: tensor<f32>) training #zero.training<stage = 2, ranks = 2, accumulation = 2> {
  zero.micro {
    // expected-error @+1 {{takes "gradients", which gives tensors, where it is not in flight}}
    %r = zero.carried "gradients" : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %l : tensor<f32>
  }
  zero.micro last {
    %g3 = zero.gradient @a, %x : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g3 : tensor<8xf32>) : <tensor<4xf32>>
    zero.carry %r as "gradients" : <tensor<4xf32>>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// A parameter that is read before its gather, of the update before, has ended.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    // expected-error @+1 {{reads @a while a gather writes it; wait for it first}}
    %0 = arith.addf %x, %a : tensor<8xf32>
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g4 = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g4 : tensor<8xf32>) : <tensor<4xf32>>
    zero.carry %r as "gradients" : <tensor<4xf32>>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %r = zero.carried "gradients" : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    // expected-note @+1 {{started here}}
    %f = zero.refresh @p0[0 to 8] : <>
    zero.carry %f as "parameters" : <>
  }
}

// -----

// A check that forgets what was found before.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%l: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.yield %l : tensor<f32>
  }
  zero.apply {
    // expected-note @+1 {{the first one}}
    %s = zero.grad_stats [@p0] ranges [0, 4]
    // expected-error @+1 {{runs a second time in one update}}
    %t = zero.grad_stats [@p0] ranges [4, 8]
    %u = zero.reduce_stats %t
    %v = zero.judge %u clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A range that is found and left out.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%l: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.yield %l : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0] ranges [0, 4]
    // expected-note @+1 {{found here}}
    %t = zero.grad_stats [@p0] ranges [4, 8] to %s
    // expected-error @+1 {{leaves out what was found last}}
    %u = zero.reduce_stats %s
    %v = zero.judge %u clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// A verdict on one rank's part.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%l: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.yield %l : tensor<f32>
  }
  zero.apply {
    %s = zero.grad_stats [@p0]
    %u = zero.reduce_stats %s
    // expected-error @+1 {{judges what this rank alone has found}}
    %v = zero.judge %s clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}
