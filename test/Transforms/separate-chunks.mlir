// Each chunk of a stage computes for itself what follows from inputs alone, forward and
// backward.

// RUN: zero-opt %s --zero-separate-chunks | FileCheck %s

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "interleaved" chunks 2
zero.parameter @w : tensor<4x8xf32> = #zero.ones

// CHECK: zero.step @train(%[[X:.*]]: tensor<4x8xf32>)
zero.step @train(%x: tensor<4x8xf32>) {
  // CHECK:      zero.micro {
  // CHECK-NEXT:   %[[W:.*]] = zero.load @w
  // CHECK-NEXT:   %[[A:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT:   %[[B:.*]] = arith.addf %[[A]], %[[X]]
  // CHECK-NEXT:   %[[H:.*]] = arith.addf %[[W]], %[[B]]
  // CHECK-NEXT:   zero.send_value %[[H]] as "h"
  // CHECK-NEXT:   zero.stage_boundary
  // CHECK-NEXT:   %[[A1:.*]] = arith.mulf %[[X]], %[[X]]
  // CHECK-NEXT:   %[[B1:.*]] = arith.addf %[[A1]], %[[X]]
  // CHECK-NEXT:   %[[R:.*]] = zero.receive_value "k"
  // CHECK-NEXT:   %[[K:.*]] = arith.mulf %[[R]], %[[B1]]
  // What depends on a parameter stays one.
  // CHECK-NEXT:   %[[L:.*]] = arith.mulf %[[K]], %[[H]]
  // CHECK-NEXT:   zero.send_value %[[L]] as "l"
  // CHECK-NEXT:   %[[G:.*]] = zero.receive_value "l" back
  // CHECK-NEXT:   %[[DK:.*]] = arith.mulf %[[G]], %[[B1]]
  // CHECK-NEXT:   zero.send_value %[[DK]] as "k" back
  // CHECK-NEXT:   zero.stage_boundary
  // CHECK-NEXT:   %[[GH:.*]] = zero.receive_value "h" back
  // CHECK-NEXT:   arith.mulf %[[GH]], %[[B]]
  zero.micro {
    %w = zero.load @w : tensor<4x8xf32>
    %a = arith.mulf %x, %x : tensor<4x8xf32>
    %b = arith.addf %a, %x : tensor<4x8xf32>
    %h = arith.addf %w, %b : tensor<4x8xf32>
    zero.send_value %h as "h" trained : tensor<4x8xf32>
    zero.stage_boundary
    %r = zero.receive_value "k" trained : tensor<4x8xf32>
    %k = arith.mulf %r, %b : tensor<4x8xf32>
    %l = arith.mulf %k, %h : tensor<4x8xf32>
    zero.send_value %l as "l" trained : tensor<4x8xf32>
    %g = zero.receive_value "l" back : tensor<4x8xf32>
    %dk = arith.mulf %g, %b : tensor<4x8xf32>
    zero.send_value %dk as "k" back : tensor<4x8xf32>
    zero.stage_boundary
    %gh = zero.receive_value "h" back : tensor<4x8xf32>
    %dw = arith.mulf %gh, %b : tensor<4x8xf32>
    %dw2 = zero.gradient @w, %dw : tensor<4x8xf32>
    zero.yield
  }
  zero.apply {
  }
}
