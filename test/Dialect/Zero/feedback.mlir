// RUN: zero-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// One error for each element of this rank's gradients.
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
// CHECK: zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16] {{.*}} errors [1]
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<> errors [1]
func.func @f(%g: tensor<4x4xf32>) {
  // CHECK: zero.exchange_gradients whole @p0[0 to 16] of [@w](%{{.*}} : tensor<4x4xf32>) over <data = 4> quantized <bits = 4> feedback <beta = 0.5, reset = 7> : <tensor<4xf32>>
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <data = 4> quantized <bits = 4> feedback <beta = 0.5, reset = 7> : <tensor<4xf32>>
  return
}

// -----

// In two steps, and of the sums of the first, of which a rank has half as many elements.
zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
// CHECK: zero.partition @p0 {{.*}} errors [1, 2]
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<> errors [1, 2]
func.func @f(%g: tensor<4x4xf32>) {
  // CHECK: zero.exchange_gradients within {{.*}} feedback <> : <tensor<8xf32>>
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> feedback <> : <tensor<8xf32>>
  %h = zero.wait %p : <tensor<8xf32>>
  // CHECK: zero.exchange_gradients between prescaled {{.*}} feedback <> : <tensor<4xf32>>
  %q = zero.exchange_gradients between prescaled @p0[0 to 16] of [@w] (%h : tensor<8xf32>) over <node = 2> quantized <bits = 4> feedback <> : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<> errors [1]
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{has no 'feedback', and @p0 keeps errors}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <data = 4> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<>
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{feeds errors back in whole over #zero.axes<data = 4>, and @p0 keeps errors [], wanted [1]}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <data = 4> quantized <bits = 4> feedback <> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 4>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 4> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<> errors [1, 2]
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{feeds errors back in within over #zero.axes<local = 4>, and @p0 keeps errors [1, 2], wanted [1, 4]}}
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 4> quantized <bits = 4> feedback <> : <tensor<4xf32>>
  return
}

// -----

// expected-error @below {{keeps errors of gradients, wanted a partition that is trained and cut by parameter}}
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 errors [1]
zero.parameter @w : tensor<4x4xf32> = #zero.zeros

// -----

zero.parameter @w : tensor<4x4xf32> = #zero.zeros
// expected-error @below {{keeps errors [1, 3], wanted [1], or [1, n] where groups of n ranks divide the 4 slices}}
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32 optimizer #zero.sgd<> errors [1, 3]

// -----

// expected-error @below {{beta is 1.000000e+00, wanted a number from 0 to below 1}}
func.func private @g() attributes {a = #zero.feedback<beta = 1.0>}

// -----

// expected-error @below {{reset is 0, wanted 1 or more}}
func.func private @g() attributes {a = #zero.feedback<reset = 0>}

// -----

// expected-error @below {{error_feedback is #zero.feedback<>, and there are no quantized_gradients}}
func.func private @g() attributes {a = #zero.planning<error_feedback = <>>}
