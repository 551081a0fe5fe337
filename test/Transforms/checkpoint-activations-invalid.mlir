// RUN: zero-opt %s --split-input-file --verify-diagnostics --zero-differentiate --zero-checkpoint-activations=layers=0,7
// RUN: not zero-opt %s --split-input-file --zero-differentiate --zero-checkpoint-activations=policy=some 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not zero-opt %s --split-input-file --zero-differentiate --zero-checkpoint-activations=every=0 2>&1 | FileCheck %s --check-prefix=EVERY
// RUN: not zero-opt %s --split-input-file --zero-checkpoint-activations 2>&1 | FileCheck %s --check-prefix=MODEL

// POLICY: error: policy 'some' is none of all, cheap and full
// EVERY: error: every is 0 and number 0, wanted 1 or more and 0 or more
// MODEL: error: 'zero.step' is a model, not a schedule; run zero-differentiate first
zero.parameter @w : tensor<4x4xf32> = #zero.ones
// expected-error @+1 {{layer 7 of @train is to be recomputed, but its forward has 2 layers, from 0 on}}
zero.step @train(%x: tensor<2x4xf32>) {
  %w = zero.load @w : tensor<4x4xf32>
  %a = nn.linear %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = nn.gelu tanh %a : tensor<2x4xf32>
  %loss = nn.reduce mean %b dims [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<f32> = #zero.ones
// expected-error @+1 {{the forward of @train has no place where few activations are alive, so there is nothing to recompute from; leave activation checkpointing out}}
zero.step @train(%x: tensor<f32>) {
  %w = zero.load @w : tensor<f32>
  %loss = arith.mulf %x, %w : tensor<f32>
  zero.yield %loss : tensor<f32>
}

// -----

zero.parameter @w : tensor<4xf32> = #zero.ones
// expected-error @+1 {{'zero.micro' of @train has no 'zero.loss_seed', from which its backward begins; run zero-differentiate on the model instead}}
zero.step @train(%x: tensor<4xf32>) {
  zero.micro {
    %w = zero.load @w : tensor<4xf32>
    %p = arith.mulf %x, %w : tensor<4xf32>
    %loss = nn.reduce sum %p dims [0] : (tensor<4xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
