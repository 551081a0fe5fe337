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

// -----

// What nodes gather again among themselves.
// CHECK: zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.mesh @mesh <node = 2, local = 2> secondary <local = 2>
zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32
func.func @f() {
  %p = zero.all_gather [@w] : <tensor<8xf32>>
  %g = zero.wait %p : <tensor<8xf32>>
  %w = zero.load @w from %g : tensor<8xf32>
  // CHECK: %[[S:.*]] = zero.secondary_slice @w(%{{.*}} : tensor<8xf32>) over <local = 2> : tensor<4xf32>
  %s = zero.secondary_slice @w(%w : tensor<8xf32>) over <local = 2> : tensor<4xf32>
  // CHECK: zero.all_gather [@w] from(%[[S]] : tensor<4xf32>) over <local = 2> : <tensor<8xf32>>
  %q = zero.all_gather [@w] from(%s : tensor<4xf32>) over <local = 2> : <tensor<8xf32>>
  %h = zero.wait %q : <tensor<8xf32>>
  return
}
