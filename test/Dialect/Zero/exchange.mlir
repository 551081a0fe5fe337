// RUN: zero-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// On a line of ranks.
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.parameter @b : tensor<3xbf16> = #zero.zeros
zero.partition @p0 parameter over 4 ranks stage 3 segments [0, 16, 20]
  members [#zero.member<@w at 0 size 16>, #zero.member<@b at 16 size 3>] compute bf16 gradient f32
func.func @f(%w: tensor<4x4xbf16>, %b: tensor<3xbf16>) {
  // CHECK: zero.exchange_gradients whole @p0[0 to 20] of [@w, @b](%{{.*}}, %{{.*}} : tensor<4x4xbf16>, tensor<3xbf16>) over <data = 4> quantized <bits = 4> : <tensor<4xbf16>, tensor<1xbf16>>
  %p = zero.exchange_gradients whole @p0[0 to 20] of [@w, @b] (%w, %b : tensor<4x4xbf16>, tensor<3xbf16>) over <data = 4> quantized <bits = 4> : <tensor<4xbf16>, tensor<1xbf16>>
  // CHECK: zero.exchange_gradients whole prescaled @p0[16 to 20] of [@b](%{{.*}} : tensor<3xbf16>) over <data = 4> quantized <block = 2> on gather : <tensor<1xbf16>>
  %q = zero.exchange_gradients whole prescaled @p0[16 to 20] of [@b] (%b : tensor<3xbf16>) over <data = 4> quantized <block = 2> on gather : <tensor<1xbf16>>
  return
}

// -----

// In two steps: a rank of a node gets the sums of the slices of as many ranks as there are nodes.
zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // CHECK: zero.exchange_gradients within @p0[0 to 16] of [@w](%{{.*}} : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> : <tensor<8xf32>>
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> : <tensor<8xf32>>
  %h = zero.wait %p : <tensor<8xf32>>
  // CHECK: zero.exchange_gradients between prescaled @p0[0 to 16] of [@w](%{{.*}} : tensor<8xf32>) over <node = 2> quantized <bits = 4> : <tensor<4xf32>>
  %q = zero.exchange_gradients between prescaled @p0[0 to 16] of [@w] (%h : tensor<8xf32>) over <node = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{bits are 5 and block is 256, wanted 8 or 4 bits and an even block of at least 2 and at most 2^30}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 5> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{exchanges whole over #zero.axes<local = 2>, wanted the axes that the partition is cut over: #zero.axes<node = 2, local = 2>}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{exchanges within over #zero.axes<node = 2, local = 2>, wanted some, not all, of the axes that the partition is cut over}}
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{exchanges within over #zero.axes<node = 2>, wanted the last axes of #zero.axes<node = 2, local = 2>}}
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <node = 2> quantized <bits = 4> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<8xf32>) {
  // expected-error @below {{exchanges between over #zero.axes<local = 2>, wanted the first axes of #zero.axes<node = 2, local = 2>}}
  %p = zero.exchange_gradients between @p0[0 to 16] of [@w] (%g : tensor<8xf32>) over <local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{is 'prescaled', wanted at the step between groups, which gives the sums over all ranks}}
  %p = zero.exchange_gradients within prescaled @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{names 1 parameters for 2 tensors and 1 segments}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g, %g : tensor<4x4xf32>, tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.parameter @v : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16, 32]
  members [#zero.member<@w at 0 size 16>, #zero.member<@v at 16 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{names @v, of which nothing is in elements 0 to 16 of @p0}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@v] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<3x4xf32>) {
  // expected-error @below {{takes 'tensor<3x4xf32>' for @w, wanted a gradient of 16 elements}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<3x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4xf32>) {
  // expected-error @below {{takes 'tensor<4xf32>' for @w, wanted f32 sums of 8 elements}}
  %p = zero.exchange_gradients between @p0[0 to 16] of [@w] (%g : tensor<4xf32>) over <node = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<8xbf16>) {
  // expected-error @below {{takes 'tensor<8xbf16>' for @w, wanted f32 sums of 8 elements}}
  %p = zero.exchange_gradients between @p0[0 to 16] of [@w] (%g : tensor<8xbf16>) over <node = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 contiguous over <node = 2, local = 2> stage 2 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{exchanges gradients of @p0, which is cut by contiguous, wanted by parameter}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{gives '!zero.pending<tensor<8xf32>>', wanted '!zero.pending<tensor<4xf32>>'}}
  %p = zero.exchange_gradients whole @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<8xf32>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{gives '!zero.pending<tensor<8xbf16>>', wanted '!zero.pending<tensor<8xf32>>'}}
  %p = zero.exchange_gradients within @p0[0 to 16] of [@w] (%g : tensor<4x4xf32>) over <local = 2> quantized <bits = 4> : <tensor<8xbf16>>
  return
}

// -----

zero.mesh @mesh <node = 2, local = 2>
zero.parameter @w : tensor<4x4xf32> = #zero.zeros
// expected-note @below {{partition declared here}}
zero.partition @p0 parameter over <node = 2, local = 2> stage 3 segments [0, 16]
  members [#zero.member<@w at 0 size 16>] compute f32 gradient f32
func.func @f(%g: tensor<4x4xf32>) {
  // expected-error @below {{range [0 to 8] does not begin and end at segment boundaries}}
  %p = zero.exchange_gradients whole @p0[0 to 8] of [@w] (%g : tensor<4x4xf32>) over <node = 2, local = 2> quantized <bits = 4> : <tensor<4xf32>>
  return
}
