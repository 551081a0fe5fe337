// RUN: zero-opt %s --zero-widen-gradients | FileCheck %s
// RUN: zero-opt %s --zero-widen-gradients --zero-widen-gradients | FileCheck %s

// Gradients of 16 bits are extended; wider ones stay as they are.
zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.parameter @b : tensor<4xf32> = #zero.zeros
zero.step @train(%x: tensor<4xbf16>, %y: tensor<4xf32>) {
  zero.micro {
    // CHECK: %[[W:.*]] = arith.extf %arg0 : tensor<4xbf16> to tensor<4xf32>
    // CHECK-NEXT: zero.gradient @w, %[[W]] : tensor<4xf32>
    %0 = zero.gradient @w, %x : tensor<4xbf16>
    // CHECK-NEXT: zero.gradient @b, %arg1 : tensor<4xf32>
    %1 = zero.gradient @b, %y : tensor<4xf32>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
