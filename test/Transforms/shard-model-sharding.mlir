// RUN: zero-opt %s -split-input-file -zero-shard-model -verify-diagnostics | FileCheck %s

// A file may say which dimension is cut, and which parameters are not.

zero.mesh @mesh <data = 1, tensor = 2>
// CHECK-LABEL: zero.mesh @mesh
// CHECK: @up : tensor<64x512xf32> {{.*}}sharding = -1
// CHECK: @down : tensor<512x64xf32> = #zero.zeros{{$}}
// CHECK: @wide : tensor<64x256xf32> {{.*}} cut <dim 1 of [512] over <tensor = 2>>
// expected-note @below {{1 left whole: the model or zero.sharding says so; the largest is @up, 32768 elements}}
zero.parameter @up : tensor<64x512xf32> = #zero.zeros {zero.sharding = -1 : i64}
// expected-note @below {{1 left whole: another dimension is cut where they are used; the largest is @down, 32768 elements}}
zero.parameter @down : tensor<512x64xf32> = #zero.zeros
zero.parameter @wide : tensor<64x512xf32> = #zero.zeros
zero.parameter @narrow : tensor<512x64xf32> = #zero.zeros
// expected-remark @below {{2 of 4 parameters are cut}}
zero.step @train(%x: tensor<512x64xf32>) {
  %u = zero.load @up : tensor<64x512xf32>
  %d = zero.load @down : tensor<512x64xf32>
  %w = zero.load @wide : tensor<64x512xf32>
  %n = zero.load @narrow : tensor<512x64xf32>
  %0 = nn.linear %x, %u : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %1 = nn.gelu tanh %0 : tensor<512x512xf32>
  %2 = nn.linear %1, %d : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %3 = nn.linear %2, %w : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %4 = nn.gelu tanh %3 : tensor<512x512xf32>
  %5 = nn.linear %4, %n : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %6 = nn.reduce mean %5 dims [0, 1] : (tensor<512x64xf32>) -> tensor<f32>
  zero.yield %6 : tensor<f32>
}

// -----

// One that is worth little by itself is cut where the file says so.
zero.mesh @mesh <data = 1, tensor = 2>
// CHECK-LABEL: zero.mesh @mesh
// CHECK: @w : tensor<32x8xf32> {{.*}} cut <dim 0 of [64] over <tensor = 2>>
zero.parameter @w : tensor<64x8xf32> = #zero.zeros {zero.sharding = 0 : i64}
// expected-remark @below {{1 of 1 parameters are cut}}
zero.step @train(%x: tensor<4x64xf32>) {
  %w = zero.load @w : tensor<64x8xf32>
  // CHECK: nn.linear {{.*}} : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  // CHECK: zero.all_reduce_value
  %0 = nn.linear %x, %w : (tensor<4x64xf32>, tensor<64x8xf32>) -> tensor<4x8xf32>
  %1 = nn.reduce mean %0 dims [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  zero.yield %1 : tensor<f32>
}

// -----

zero.mesh @mesh <data = 1, tensor = 2>
// expected-error @below {{dimension 1 of @w, of 7 indices, cannot be cut over #zero.axes<tensor = 2>: the ranks do not divide it, an operation needs all of it, or what else is cut excludes it; leave it out of zero.sharding}}
zero.parameter @w : tensor<64x7xf32> = #zero.zeros {zero.sharding = 1 : i64}
zero.step @train(%x: tensor<4x64xf32>) {
  %w = zero.load @w : tensor<64x7xf32>
  %0 = nn.linear %x, %w : (tensor<4x64xf32>, tensor<64x7xf32>) -> tensor<4x7xf32>
  %1 = nn.reduce mean %0 dims [0, 1] : (tensor<4x7xf32>) -> tensor<f32>
  zero.yield %1 : tensor<f32>
}

// -----

// expected-error @below {{attribute 'zero.sharding' must be a dimension of a parameter, or -1 for none}}
zero.parameter @w : tensor<64x7xf32> = #zero.zeros {zero.sharding = 2 : i64}
