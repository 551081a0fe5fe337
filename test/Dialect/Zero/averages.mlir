// RUN: zero-opt %s | zero-opt | FileCheck %s
// What averages follow is kept, though nothing uses a result of it.
// RUN: zero-opt %s --canonicalize --cse | FileCheck %s

// CHECK: zero.parameter @mean : tensor<4xf32> = #zero.zeros average 2.500000e-01
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.25
// CHECK: module attributes {test.update = #zero.moving_average<weight = 0.25>}
module attributes {test.update = #zero.moving_average<weight = 0.25>} {}

// CHECK-LABEL: zero.step @averages
zero.step @averages(%x: tensor<2x4xf32>) {
  %m = nn.reduce mean %x dims [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  // CHECK: zero.track @mean, %{{.*}} : tensor<4xf32>
  zero.track @mean, %m : tensor<4xf32>
  %a = zero.load @mean : tensor<4xf32>
  // CHECK: %[[C:.*]] = zero.select_mode %{{.*}}, %{{.*}} : tensor<4xf32>
  %c = zero.select_mode %m, %a : tensor<4xf32>
  // CHECK: nn.reduce mean %[[C]]
  %loss = nn.reduce mean %c dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
