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
