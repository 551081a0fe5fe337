// RUN: zero-opt %s --split-input-file --zero-differentiate --zero-take-gradients --canonicalize --cse | FileCheck %s --check-prefix=INSTEAD
// RUN: zero-opt %s --split-input-file --zero-differentiate --zero-take-gradients=mode=add --canonicalize --cse | FileCheck %s --check-prefix=ADD

// A given gradient is multiplied by the loss's seed. Instead of the loss's, nothing of
// the passes stays: no load, and no input that a micro-batch reads. The evaluation is the
// model's. A frozen parameter has no argument.
zero.parameter @w : tensor<3x1xf32> = #zero.ones
zero.parameter @frozen : tensor<1xf32> = #zero.ones frozen

// INSTEAD-LABEL: zero.step @train(
// INSTEAD-SAME: %[[X:[a-z0-9]*]]: tensor<2x3xf32> {zero.input = "x"},
// INSTEAD-SAME: %[[G:[a-z0-9]*]]: tensor<3x1xf32> {zero.gradient_of = @w})
// INSTEAD: zero.micro {
// INSTEAD-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<f32>
// INSTEAD-NEXT: %[[SEED:.*]] = zero.loss_seed : tensor<f32>
// INSTEAD-NEXT: %[[S:.*]] = nn.broadcast %[[SEED]] dims [] : (tensor<f32>) -> tensor<3x1xf32>
// INSTEAD-NEXT: %[[D:.*]] = arith.mulf %[[G]], %[[S]] : tensor<3x1xf32>
// INSTEAD-NEXT: zero.gradient @w, %[[D]] : tensor<3x1xf32>
// INSTEAD-NEXT: zero.yield %[[ZERO]] : tensor<f32>
// INSTEAD: zero.evaluate {
// INSTEAD: nn.linear %[[X]]

// ADD-LABEL: zero.step @train(
// ADD: zero.micro {
// ADD: nn.linear
// ADD: zero.loss_seed
// ADD-NOT: zero.loss_seed
// ADD: %[[OWN:.*]] = nn.matmul %{{.*}} transpose_a
// ADD: %[[S:.*]] = nn.broadcast %{{.*}} dims [] : (tensor<f32>) -> tensor<3x1xf32>
// ADD: %[[D:.*]] = arith.mulf %arg1, %[[S]]
// ADD: %[[SUM:.*]] = arith.addf %[[OWN]], %[[D]]
// ADD: zero.gradient @w, %[[SUM]]
zero.step @train(%x: tensor<2x3xf32> {zero.input = "x"}) {
  %w = zero.load @w : tensor<3x1xf32>
  %b = zero.load @frozen : tensor<1xf32>
  %p = nn.linear %x, %w bias %b : (tensor<2x3xf32>, tensor<3x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %loss = nn.reduce mean %p dims [0, 1] : (tensor<2x1xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

// What computes in 16 bits has gradients of 16 bits: the sum is rounded once.
zero.parameter @half : tensor<4xbf16> = #zero.ones

// INSTEAD-LABEL: zero.step @half_step(
// INSTEAD-SAME: %[[G:[a-z0-9]*]]: tensor<4xf32> {zero.gradient_of = @half})
// INSTEAD: %[[D:.*]] = arith.mulf %[[G]], %{{.*}} : tensor<4xf32>
// INSTEAD-NEXT: %[[R:.*]] = arith.truncf %[[D]] : tensor<4xf32> to tensor<4xbf16>
// INSTEAD-NEXT: zero.gradient @half, %[[R]] : tensor<4xbf16>

// ADD-LABEL: zero.step @half_step(
// ADD: %[[D:.*]] = arith.mulf %arg1, %{{.*}} : tensor<4xf32>
// ADD: %[[OWN:.*]] = arith.extf %{{.*}} : tensor<4xbf16> to tensor<4xf32>
// ADD: %[[SUM:.*]] = arith.addf %[[OWN]], %[[D]]
// ADD: %[[R:.*]] = arith.truncf %[[SUM]] : tensor<4xf32> to tensor<4xbf16>
// ADD: zero.gradient @half, %[[R]]
zero.step @half_step(%x: tensor<4xbf16> {zero.input = "x"}) {
  %w = zero.load @half : tensor<4xbf16>
  %p = arith.mulf %x, %w : tensor<4xbf16>
  %wide = arith.extf %p : tensor<4xbf16> to tensor<4xf32>
  %loss = nn.reduce sum %wide dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}
