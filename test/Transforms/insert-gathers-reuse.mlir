// A parameter is gathered again where others are used in between, unless the
// distance says that it is worth keeping; a view of it goes to its user.
// DEFINE: %{gather} =
// DEFINE: %{run} = zero-opt %s --zero-partition="alignment=4" --zero-insert-gathers="%{gather}"
// RUN: %{run} | FileCheck %s
// REDEFINE: %{gather} = max-reuse-distance=9
// RUN: %{run} | FileCheck %s --check-prefix=NEAR

zero.parameter @a : tensor<2x4xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    // CHECK: %[[P:.*]] = zero.all_gather [@a]
    // CHECK: %[[G:.*]] = zero.wait %[[P]]
    // CHECK: %[[A:.*]] = zero.load @a from %[[G]]
    // CHECK: %[[V:.*]] = tensor.collapse_shape %[[A]]
    // CHECK: arith.addf %{{.*}}, %[[V]]
    // CHECK: zero.all_gather [@b]
    // CHECK: %[[Q:.*]] = zero.all_gather [@a]
    // CHECK: %[[H:.*]] = zero.wait %[[Q]]
    // CHECK: %[[A2:.*]] = zero.load @a from %[[H]]
    // CHECK: %[[V2:.*]] = tensor.collapse_shape %[[A2]]
    // CHECK: arith.addf %{{.*}}, %[[V2]]
    // NEAR-COUNT-2: zero.all_gather
    // NEAR-NOT: zero.all_gather
    // NEAR: zero.apply
    %a = zero.load @a : tensor<2x4xf32>
    %b = zero.load @b : tensor<8xf32>
    %v = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
    %0 = arith.addf %x, %v : tensor<8xf32>
    %1 = arith.addf %0, %b : tensor<8xf32>
    %2 = arith.addf %1, %v : tensor<8xf32>
    %loss = nn.reduce sum %2 dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
