// RUN: zero-opt %s --zero-free | FileCheck %s

zero.parameter @a : tensor<2x4xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    %p = zero.all_gather [@a] : <tensor<2x4xf32>>
    // CHECK: %[[A:.*]] = zero.wait
    %a = zero.wait %p : <tensor<2x4xf32>>
    %v = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
    %0 = arith.addf %x, %v : tensor<8xf32>
    // The last use is that of a view.
    // CHECK: %[[B:.*]] = arith.mulf
    // CHECK-NEXT: zero.free %[[A]] : tensor<2x4xf32>
    %1 = arith.mulf %0, %v : tensor<8xf32>
    %loss = nn.reduce sum %1 dims [0] : (tensor<8xf32>) -> tensor<f32>
    // A reduction borrows its gradients until its wait.
    // CHECK: %[[R:.*]] = zero.reduce_scatter
    // CHECK-NEXT: zero.wait %[[R]]
    // CHECK-NEXT: zero.free %[[B]] : tensor<8xf32>
    // CHECK-NOT: zero.free
    %g = tensor.expand_shape %1 [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<2x4xf32>) : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
