// RUN: zero-opt %s --zero-pipeline=stage=0 | FileCheck %s
// RUN: zero-opt %s --zero-pipeline='stage=0 precision=bf16' | FileCheck %s --check-prefix=NARROW

// In an f32 run a model's own 16-bit types round what they hold, and in a run
// of 16 bits nothing is rounded in between.
zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.step @rounds(%x: tensor<8xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<8xf32>
  %0 = arith.truncf %w : tensor<8xf32> to tensor<8xf16>
  %1 = arith.mulf %0, %0 : tensor<8xf16>
  %2 = arith.extf %1 : tensor<8xf16> to tensor<8xf32>
  %3 = arith.mulf %2, %x : tensor<8xf32>
  %4 = nn.reduce mean %3 dims [0] : (tensor<8xf32>) -> tensor<f32>
  zero.yield %4 : tensor<f32>
}
// CHECK-LABEL: func.func private @
// CHECK:       ^bb0(%[[W:[^:]*]]: f32,
// CHECK-NEXT:    %[[N:.*]] = arith.truncf %[[W]] : f32 to f16
// CHECK-NEXT:    %[[E:.*]] = arith.extf %[[N]] : f16 to f32
// CHECK-NEXT:    %[[P:.*]] = arith.mulf %[[E]], %[[E]] : f32
// CHECK-NEXT:    %[[R:.*]] = arith.truncf %[[P]] : f32 to f16
// CHECK-NEXT:    %[[Y:.*]] = arith.extf %[[R]] : f16 to f32
// CHECK-NEXT:    arith.mulf %[[Y]], %{{.*}} : f32

// NARROW-LABEL: func.func private @
// NARROW:         linalg.generic
// NARROW:         arith.mulf
// NARROW-NEXT:    arith.mulf
// NARROW:         linalg.yield
