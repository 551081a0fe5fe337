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

// -----

// expected-error @below {{has a secondary partition over #zero.axes<node = 2, local = 2>, wanted some, not all, of #zero.axes<node = 2, local = 2> in their order}}
zero.mesh @mesh <node = 2, local = 2> secondary <node = 2, local = 2>

// -----

// expected-error @below {{has a secondary partition over #zero.axes<replica = 2>, wanted some, not all, of #zero.axes<shard = 2> in their order}}
zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2> secondary <replica = 2>

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
func.func @f(%s: tensor<4xf32>) {
  // expected-error @below {{runs over #zero.axes<local = 2>, and there is no 'zero.mesh' with a secondary partition}}
  %p = zero.all_gather [@w] from(%s : tensor<4xf32>) over <local = 2> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
func.func @f(%s: tensor<4xf32>) {
  // expected-error @below {{runs over #zero.axes<node = 2>, and the mesh has its secondary partition over #zero.axes<local = 2>}}
  %p = zero.all_gather [@w] from(%s : tensor<4xf32>) over <node = 2> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
func.func @f() {
  // expected-error @below {{gathers over #zero.axes<local = 2>, and is given no slices; wanted those that 'zero.secondary_slice' makes: 'from'}}
  %p = zero.all_gather [@w] over <local = 2> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-note @below {{given by this}}
func.func @f(%w: tensor<8xf32>) {
  // expected-error @below {{cuts a slice of @w from another value, wanted a 'zero.load' of @w from what a gather of it gave}}
  %s = zero.secondary_slice @w(%w : tensor<8xf32>) over <local = 2> : tensor<4xf32>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.parameter @v : tensor<8xf32> = #zero.zeros
func.func @f() {
  %p = zero.all_gather [@v] : <tensor<8xf32>>
  %g = zero.wait %p : <tensor<8xf32>>
  // expected-note @below {{given by this}}
  %v = zero.load @v from %g : tensor<8xf32>
  // expected-error @below {{cuts a slice of @w from another value}}
  %s = zero.secondary_slice @w(%v : tensor<8xf32>) over <local = 2> : tensor<4xf32>
  return
}
