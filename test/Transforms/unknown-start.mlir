// An operation that starts something says what it touches until its wait. One
// that does not is an error in whatever reads a schedule: it would have no
// order, no traffic and no bytes in flight.
// RUN: not zero-opt -allow-unregistered-dialect --zero-split-gradients %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-partition %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-insert-reductions %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-insert-gathers %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-insert-updates %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-reduce-early %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-overlap-reductions %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-overlap-gathers %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-split-statistics %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-join-gathers %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-prefetch %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-free %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-plan-memory %s 2>&1 | FileCheck %s
// RUN: not zero-opt -allow-unregistered-dialect --zero-verify-schedule %s 2>&1 | FileCheck %s

// CHECK: unknown-start.mlir:[[@LINE+18]]:10: error: 'test.fetch' starts an operation
// CHECK-SAME: not known; wanted an operation that implements AsyncOpInterface

zero.parameter @w : tensor<2x2xf32> = #zero.ones
zero.optimizer "default" = #zero.sgd<lr = 0.1>
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 4]
  members [#zero.member<@w at 0 size 4>]
  compute f32 gradient f32 optimizer #zero.sgd<lr = 0.1>

// The parameter, the optimizer and the partition above make it a whole
// schedule; the loss does not matter here.
zero.step @train(%x: tensor<2x2xf32>)
    training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %p = "test.fetch"() : () -> !zero.pending<tensor<4xf32>>
    %q = zero.wait %p : <tensor<4xf32>>
  }
}
