// The forward pass of a stage and its backward pass, apart: what crosses is stashed, what
// costs nothing is repeated, and what is sent is waited for by the pass that follows.

// RUN: zero-opt %s --zero-split-forward | FileCheck %s

zero.mesh @mesh <pipe = 3, data = 1> stage 1 order "1f1b"
zero.parameter @w : tensor<8x8xf32> = #zero.ones

// CHECK-LABEL: zero.step @train
zero.step @train(%x: tensor<4x8xf32>) {
  // CHECK:      zero.forward {
  // CHECK-NEXT:   %[[TAKEN:.*]] = zero.carried "send gradient of in" : <>
  // CHECK-NEXT:   zero.wait %[[TAKEN]]
  // CHECK-NEXT:   %[[P:.*]] = zero.start_receive "in" : <tensor<4x8xf32>>
  // CHECK-NEXT:   %[[H:.*]] = zero.wait %[[P]]
  // CHECK-NEXT:   %[[W:.*]] = zero.load @w
  // CHECK-NEXT:   %[[Y:.*]] = nn.linear %[[H]], %[[W]]
  // CHECK-NEXT:   zero.stash %[[H]] as "stashed 0" : tensor<4x8xf32>
  // CHECK-NEXT:   %[[S:.*]] = zero.stash %[[Y]] as "send out" : tensor<4x8xf32>
  // CHECK-NEXT:   %[[SENT:.*]] = zero.start_send %[[S]] as "out" : tensor<4x8xf32> -> <>
  // CHECK-NEXT:   zero.carry %[[SENT]] as "send out" : <>
  // CHECK-NEXT: }
  // CHECK-NEXT: zero.micro {
  // CHECK-NEXT:   %[[C:.*]] = zero.carried "send out" : <>
  // CHECK-NEXT:   zero.wait %[[C]]
  // CHECK-DAG:    %[[W2:.*]] = zero.load @w
  // CHECK-DAG:    %[[U:.*]] = zero.unstash "stashed 0" : tensor<4x8xf32>
  // CHECK:        %[[GP:.*]] = zero.start_receive "out" back
  // CHECK-NEXT:   %[[G:.*]] = zero.wait %[[GP]]
  // CHECK-NEXT:   %[[DW:.*]] = nn.matmul %[[U]], %[[G]]
  // CHECK-NEXT:   zero.gradient @w, %[[DW]]
  // CHECK-NEXT:   %[[DX:.*]] = nn.matmul %[[G]], %[[W2]]
  // CHECK-NEXT:   %[[DS:.*]] = zero.stash %[[DX]] as "send gradient of in"
  // CHECK-NEXT:   %[[B:.*]] = zero.start_send %[[DS]] as "in" back
  // CHECK-NEXT:   zero.carry %[[B]] as "send gradient of in"
  // CHECK-NEXT:   zero.yield
  zero.micro {
    %p = zero.start_receive "in" : <tensor<4x8xf32>>
    %h = zero.wait %p : <tensor<4x8xf32>>
    %w = zero.load @w : tensor<8x8xf32>
    %y = nn.linear %h, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = zero.start_send %y as "out" : tensor<4x8xf32> -> <>
    zero.wait %s : <>
    %gp = zero.start_receive "out" back : <tensor<4x8xf32>>
    %g = zero.wait %gp : <tensor<4x8xf32>>
    %dw = nn.matmul %h, %g {transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %dw2 = zero.gradient @w, %dw : tensor<8x8xf32>
    %dx = nn.matmul %g, %w {transpose_b} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %b = zero.start_send %dx as "in" back : tensor<4x8xf32> -> <>
    zero.wait %b : <>
    zero.yield
  }
  zero.apply {
  }
  // What is only evaluated has no backward pass to wait in.
  // CHECK: zero.evaluate {
  // CHECK: zero.start_send
  // CHECK-NEXT: zero.wait
  zero.evaluate {
    %p = zero.start_receive "in" : <tensor<4x8xf32>>
    %h = zero.wait %p : <tensor<4x8xf32>>
    %s = zero.start_send %h as "out" : tensor<4x8xf32> -> <>
    zero.wait %s : <>
    zero.yield
  }
}
