// RUN: zero-opt %s -split-input-file -verify-diagnostics

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-note @+1 {{partition declared here}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{range [0 to 3] does not begin and end at segment boundaries}}
  %p = zero.copy_to_host "gradients" of @p[0 to 3] : <tensor<2xbf16>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{has a result of type 'tensor<4xbf16>', wanted 'tensor<2xbf16>': what a rank owns of the range}}
  %p = zero.copy_to_host "gradients" of @p[0 to 4] : <tensor<4xbf16>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{copies 'moments', wanted 'gradients' or 'parameters'}}
  %p = zero.copy_to_host "moments" of @p[0 to 4] : <tensor<2xbf16>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 [0 to 4] on host [4 to 8]]
func.func @f() {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  %p = zero.copy_to_host "gradients" of @p[0 to 8] : <tensor<4xbf16>>
  %g = zero.wait %p : <tensor<4xbf16>>
  // expected-error @+1 {{updates [0 to 8] of @p on the host, wanted all of its states there, or all in a file}}
  %u = zero.update_on_host @p[0 to 8] of %g if %v : (tensor<4xbf16>) -> <tensor<4xbf16>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  %p = zero.copy_to_host "gradients" of @p[0 to 8] : <tensor<4xf32>>
  %g = zero.wait %p : <tensor<4xf32>>
  // expected-error @+1 {{updates parameters that it is not given, wanted a copy of them: 'in'}}
  %u = zero.update_on_host @p[0 to 8] of %g if %v : (tensor<4xf32>) -> <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
func.func @f() {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  %p = zero.copy_to_host "gradients" of @p[0 to 8] : <tensor<4xbf16>>
  %g = zero.wait %p : <tensor<4xbf16>>
  // expected-error @+1 {{has a value of type 'tensor<4xbf16>', wanted 'tensor<2xbf16>'}}
  %c = zero.copy_to_device %g to @p[0 to 4] if %v : tensor<4xbf16> -> <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on file, exp_avg f32 [0 to 4] on file [4 to 8] on host]
func.func @f() {
  // expected-error @+1 {{is about [0 to 8] of @p, wanted states or parameters of it in a file}}
  %r = zero.read_states @p[0 to 8] : <tensor<4xf32>, tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on file, exp_avg f32 on file]
func.func @f() {
  // expected-error @+1 {{gives '!zero.pending<tensor<4xf32>>', wanted '!zero.pending<tensor<4xf32>, tensor<4xf32>>': what a rank owns of the range}}
  %r = zero.read_states @p[0 to 8] : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on file, exp_avg f32 on file]
func.func @f(%m: tensor<4xf32>, %n: tensor<2xf32>) {
  // expected-error @+1 {{has the states 'tensor<4xf32>', 'tensor<2xf32>', wanted 'tensor<4xf32>', 'tensor<4xf32>': what a rank owns of each}}
  %r = zero.write_states %m, %n to @p[0 to 8] : tensor<4xf32>, tensor<2xf32> -> <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on file, exp_avg f32 on file]
func.func @f(%m: tensor<4xf32>, %n: tensor<4xf32>) {
  // expected-error @+1 {{gives '!zero.pending<tensor<4xf32>>', wanted '!zero.pending<>'}}
  %r = zero.write_states %m, %n to @p[0 to 8] : tensor<4xf32>, tensor<4xf32> -> <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 4, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 optimizer #zero.lion<>
  states [master f32 on file, exp_avg f32 on file]
func.func @f(%g: tensor<4xbf16>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{has the states , wanted 'tensor<4xf32>', 'tensor<4xf32>': copies of all that a file keeps}}
  %u = zero.update_on_host @p[0 to 8] of %g if %v : (tensor<4xbf16>) -> <tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>>
  return
}
