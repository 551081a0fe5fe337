// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics

// Replicas combine what they own, once an update, before it is checked.

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %o = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %o : <>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 4.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Never.

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @below {{elements [0 to 8) of @a are never reduced over replicas}}
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 4.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// Twice.

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %o = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %o : <>
    // expected-error @below {{combines replicas of @p0 more than once}}
    %o2 = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %o2 : <>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 4.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// After it was checked.

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-note @below {{checked here}}
    %st = zero.grad_stats [@p0]
    // expected-error @below {{reduces gradients of @p0 after they were checked}}
    %o = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %o : <>
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 4.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}

// -----

// With a partition that is cut over other axes than the mesh.

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
// expected-error @below {{is reduced over #zero.axes<replica = 2, shard = 2> and cut over #zero.axes<replica = 2>, wanted #zero.axes<replica = 2, shard = 2> and #zero.axes<shard = 2>, the mesh's}}
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <replica = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a : tensor<8xf32>
    %loss = nn.reduce sum %0 dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %0 : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %o = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %o : <>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 4.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
}
