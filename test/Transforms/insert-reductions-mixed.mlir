// One update has one factor for all gradients: where fp16 gradients must be
// prescaled, all are.
// RUN: zero-opt %s --zero-partition="alignment=4" --zero-insert-reductions --zero-insert-updates | FileCheck %s

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones
zero.optimizer "default" = #zero.adam<>
// CHECK: zero.reduce_scatter prescaled @p0
// CHECK: zero.reduce_scatter prescaled @p1
// CHECK: zero.judge {{.*}} divisor 1.000000e+00 skip
zero.step @train(%x: tensor<8xf16>, %y: tensor<8xf32>, %l: tensor<f32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf16>
    %b = zero.load @b : tensor<8xf32>
    zero.gradient @a, %x : tensor<8xf16>
    zero.gradient @b, %y : tensor<8xf32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
}
