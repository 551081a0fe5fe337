// Gradients of what several stages have: what is added, and of which partition.

// RUN: zero-opt %s --split-input-file --verify-diagnostics | zero-opt --split-input-file | FileCheck %s

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.parameter @a : tensor<8xf32> = #zero.ones stages [0, 1]
zero.partition @p0 bucketed over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<> stages [0, 1]
// CHECK: zero.step @ties
// CHECK: zero.tie_gradients @p0
zero.step @ties(%x: tensor<8xf32>) training #zero.training<stage = 0, ranks = 1, accumulation = 2> {
  zero.forward {
  }
  zero.micro {
    zero.yield
  }
  zero.apply {
    zero.tie_gradients @p0
  }
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
func.func @of_one_stage() {
  // expected-error@+1 {{adds up gradients of @p0, wanted a trained partition of several 'stages', with gradients of f32}}
  zero.tie_gradients @p0
  return
}

// -----

zero.mesh @mesh <pipe = 2, data = 1> stage 0 order "1f1b"
zero.parameter @a : tensor<8xf32> = #zero.ones stages [0, 1]
zero.partition @p0 bucketed over 1 ranks stage 0 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.adam<> stages [0, 1]
func.func @of_16_bits() {
  // expected-error@+1 {{adds up gradients of @p0, wanted a trained partition of several 'stages', with gradients of f32}}
  zero.tie_gradients @p0
  return
}

// -----

func.func @of_nothing() {
  // expected-error@+1 {{@p7}}
  zero.tie_gradients @p7
  return
}
