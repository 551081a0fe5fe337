// RUN: zero-opt %s --zero-partition --split-input-file --verify-diagnostics

zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.optimizer "default" = #zero.adam<>
zero.step @order(%x: tensor<f32>, %g: tensor<4xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{begins at element 4 of @w, wanted 0: blocks come in order}}
    zero.gradient @w[4 to 8], %g : tensor<4xf32>
    zero.gradient @w[0 to 4], %g : tensor<4xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

// expected-error @+1 {{has a gradient of its first 4 elements, wanted all 8}}
zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.optimizer "default" = #zero.adam<>
zero.step @missing(%x: tensor<f32>, %g: tensor<4xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    zero.gradient @w[0 to 4], %g : tensor<4xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.optimizer "default" = #zero.adam<>
zero.step @whole(%x: tensor<f32>, %g: tensor<4xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{is a block of @w, and stage 1 on 2 ranks stores gradients whole; run zero-split-gradients with the training of this step}}
    zero.gradient @w[0 to 4], %g : tensor<4xf32>
    zero.gradient @w[4 to 8], %g : tensor<4xf32>
    zero.yield %x : tensor<f32>
  }
  zero.apply {
  }
}
