// RUN: zero-opt %s --pass-pipeline='builtin.module(zero-free,zero-plan-memory,zero-verify-schedule)' | FileCheck %s
// RUN: zero-opt %s --pass-pipeline='builtin.module(zero-free,zero-plan-memory,zero-verify-schedule{report=true})' 2>&1 >/dev/null | FileCheck %s --check-prefix=REPORT --allow-empty

// Passes and verifiers know an exchange by its interface alone. What it sends is
// read until its wait, and no kernel in between takes that memory; what it
// receives is memory of its own. Both lie in the arena of communication.

// REPORT-NOT: error
zero.mesh @mesh <replica = 2, shard = 2> cut <shard = 2>
zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over <replica = 2, shard = 2> cut <shard = 2> stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
zero.step @train(%x: tensor<8xf32> {zero.input = "x"}) training #zero.training<stage = 2, ranks = 4> {
  // CHECK: zero.micro
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    // CHECK: %[[SENT:.+]] = arith.addf {{.*}}#zero.at<communication[0], 32 bytes>
    %sent = arith.addf %x, %a : tensor<8xf32>
    // CHECK: %[[P:.+]] = zero.all_to_all %[[SENT]] over <replica = 2> {zero.at = {received = #zero.at<communication[64], 32 bytes>}}
    %p = zero.all_to_all %sent over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
    // CHECK: arith.mulf {{.*}}#zero.at<activations[0], 32 bytes>
    %beside = arith.mulf %x, %x : tensor<8xf32>
    // CHECK: %[[GOT:.+]] = zero.wait %[[P]]
    %got = zero.wait %p : <tensor<8xf32>>
    // CHECK-DAG: zero.free %[[SENT]]
    // CHECK: %[[SUM:.+]] = arith.addf %[[GOT]]
    %sum = arith.addf %got, %beside : tensor<8xf32>
    // A constant that is sent outlives the region, and nothing frees it.
    // CHECK-NOT: zero.free %cst
    %ones = arith.constant dense<1.0> : tensor<8xf32>
    %q = zero.all_to_all %ones over <replica = 2> : tensor<8xf32> -> <tensor<8xf32>>
    %unused = zero.wait %q : <tensor<8xf32>>
    // CHECK: zero.free %[[GOT]]
    %g = zero.gradient @a, %sum : tensor<8xf32>
    %loss = nn.reduce sum %sum dims [0] : (tensor<8xf32>) -> tensor<f32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
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
  zero.evaluate {
    %e = nn.reduce sum %x dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %e : tensor<f32>
  }
}
