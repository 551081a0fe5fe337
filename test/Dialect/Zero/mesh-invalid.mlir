// RUN: zero-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{axis 'shard' has 0 ranks, wanted at least 1}}
zero.mesh @mesh <replica = 2, shard = 0>

// -----

// expected-error @below {{found two axes 'a', wanted a name for each}}
zero.mesh @mesh <a = 2, a = 3>

// -----

// expected-error @below {{the axes have more than 2147483647 ranks}}
zero.mesh @mesh <a = 65536, b = 65536>

// -----

// expected-error @below {{cuts states over #zero.axes<expert = 3>, wanted axes of #zero.axes<replica = 2, shard = 3> in their order}}
zero.mesh @mesh <replica = 2, shard = 3> cut <expert = 3>

// -----

// expected-error @below {{cuts states over #zero.axes<b = 3, a = 2>}}
zero.mesh @mesh <a = 2, b = 3> cut <b = 3, a = 2>

// -----

zero.parameter @w : tensor<6xf32> = #zero.zeros
// expected-error @below {{is cut over #zero.axes<shard = 2>, wanted axes of #zero.axes<replica = 2, shard = 3> in their order}}
zero.partition @p0 bucketed over <replica = 2, shard = 3> cut <shard = 2> stage 2 segments [0, 6]
  members [#zero.member<@w at 0 size 6>] compute f32 gradient f32

// -----

zero.mesh @mesh <replica = 2, shard = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <replica = 2, shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @below {{combines the replicas of @p0, which has none}}
    %p = zero.all_reduce_owned @p0[0 to 8] : <>
    zero.wait %p : <>
  }
}

// -----

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-note @below {{partition declared here}}
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @below {{range [0 to 6] does not begin and end at segment boundaries}}
    %p = zero.all_reduce_owned @p0[0 to 6] : <>
    zero.wait %p : <>
  }
}

// -----

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @below {{gives '!zero.pending<tensor<4xf32>>', wanted no tensors: what arrives is in what ranks keep}}
    %p = zero.all_reduce_owned @p0[0 to 8] : <tensor<4xf32>>
    %s = zero.wait %p : <tensor<4xf32>>
  }
}

// -----

zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.step @train(%x: tensor<f32>) training #zero.training<stage = 2, ranks = 4> {
  zero.micro {
    zero.yield %x : tensor<f32>
  }
  zero.apply {
    // expected-error @below {{names @p1, which is no 'zero.partition'}}
    %p = zero.all_reduce_owned @p1[0 to 8] : <>
    zero.wait %p : <>
  }
}
