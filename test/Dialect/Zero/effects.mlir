// Other ranks take part in every collective and every wait: none may be merged
// or deleted, used or not.
// RUN: zero-opt %s --canonicalize --cse | FileCheck %s

zero.parameter @w : tensor<2xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 2>] compute f32 gradient f32 optimizer #zero.adam<>

// CHECK-LABEL: zero.step @train
zero.step @train(%x: tensor<f32>) {
  zero.micro {
    // CHECK: %[[A:.*]] = zero.all_gather [@w]
    // CHECK: zero.wait %[[A]]
    // CHECK: %[[B:.*]] = zero.all_gather [@w]
    // CHECK: zero.wait %[[B]]
    %a = zero.all_gather [@w] : <tensor<2xf32>>
    %wa = zero.wait %a : <tensor<2xf32>>
    %b = zero.all_gather [@w] : <tensor<2xf32>>
    %wb = zero.wait %b : <tensor<2xf32>>
    // CHECK: zero.carried "r"
    // CHECK: zero.carried "r"
    %c = zero.carried "r" : <>
    %d = zero.carried "r" : <>
    // A load only reads: an unused one goes.
    // CHECK-NOT: zero.load
    %unused = zero.load @w : tensor<2xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// What is computed a second time stays: CSE would merge it with the first, and
// a load behind zero.recompute with the one before.
// CHECK-LABEL: zero.step @again
zero.step @again(%x: tensor<2xf32>) {
  zero.micro {
    // CHECK: %[[W:.*]] = zero.load @w
    // CHECK: %[[A:.*]] = arith.addf %arg0, %[[W]]
    // CHECK: %[[R:.*]] = zero.recompute %arg0
    // CHECK: %[[V:.*]] = zero.load @w
    // CHECK: %[[B:.*]] = arith.addf %[[R]], %[[V]]
    // CHECK: arith.mulf %[[A]], %[[B]]
    %w = zero.load @w : tensor<2xf32>
    %a = arith.addf %x, %w : tensor<2xf32>
    %r = zero.recompute %x : tensor<2xf32>
    %v = zero.load @w : tensor<2xf32>
    %b = arith.addf %r, %v : tensor<2xf32>
    %p = arith.mulf %a, %b : tensor<2xf32>
    %l = nn.reduce sum %p dims [0] : (tensor<2xf32>) -> tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}
