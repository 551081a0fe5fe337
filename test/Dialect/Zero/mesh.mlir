// RUN: zero-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK: zero.mesh @mesh <replica = 2, shard = 3> cut <shard = 3>
zero.mesh @mesh <replica = 2, shard = 3> cut <shard = 3>
zero.parameter @w : tensor<6xf32> = #zero.zeros
// CHECK: zero.partition @p0 bucketed over <replica = 2, shard = 3> cut <shard = 3> stage 2
zero.partition @p0 bucketed over <replica = 2, shard = 3> cut <shard = 3> stage 2 segments [0, 6]
  members [#zero.member<@w at 0 size 6>] compute f32 gradient f32

// -----

// All axes are cut: plain ZeRO on a mesh.
// CHECK: zero.mesh @mesh <node = 2, local = 4>{{$}}
zero.mesh @mesh <node = 2, local = 4>
zero.parameter @w : tensor<8xf32> = #zero.zeros
// CHECK: zero.partition @p0 bucketed over <node = 2, local = 4> stage 2
zero.partition @p0 bucketed over <node = 2, local = 4> cut <node = 2, local = 4> stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32

// -----

// One line of ranks prints as a count.
zero.parameter @w : tensor<8xf32> = #zero.zeros
// CHECK: zero.partition @p0 bucketed over 2 ranks stage 2
zero.partition @p0 bucketed over <data = 2> stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
