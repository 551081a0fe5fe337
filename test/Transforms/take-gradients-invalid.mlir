// RUN: zero-opt %s --split-input-file --zero-differentiate --zero-take-gradients --verify-diagnostics
// RUN: not zero-opt %s --split-input-file --zero-differentiate --zero-take-gradients=mode=both 2>&1 | FileCheck %s
// RUN: not zero-opt %S/Inputs/mlp.mlir --zero-take-gradients 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: error: {{.*}}is a model and has no gradients yet; run zero-differentiate
// CHECK: error: the option mode is 'both', wanted 'instead' or 'add'

zero.mesh @mesh <data = 2, tensor = 2>
zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{gradients from outside are of whole models, and the ranks of the axis 'tensor' have a part each; leave out the axis or zero.given_gradients}}
zero.step @cut(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %p = arith.mulf %x, %w : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{weighs micro-batches by what their losses count, and gradients instead of those of the loss have no such weight; set zero.loss_mean to micro_batches, or zero.given_gradients to add}}
zero.step @weighted(%x: tensor<4xf32>, %share: tensor<f32>) {
  %w = zero.load @w : tensor<4xf32>
  %p = arith.mulf %x, %w : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss weight %share : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{parameter @mean is an average over forward passes of training, of which there is none where gradients come from outside; set zero.given_gradients to add, or make it frozen}}
zero.parameter @mean : tensor<4xf32> = #zero.zeros average 0.1
zero.step @tracks(%x: tensor<4xf32>) {
  %w = zero.load @w : tensor<4xf32>
  %p = arith.mulf %x, %w : tensor<4xf32>
  zero.track @mean, %p : tensor<4xf32>
  %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{takes the gradient of @w from outside already}}
zero.step @again(%x: tensor<4xf32>, %g: tensor<4xf32> {zero.gradient_of = @w}) {
  zero.micro {
    %g1 = zero.gradient @w, %g : tensor<4xf32>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
