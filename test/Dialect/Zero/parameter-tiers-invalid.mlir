// RUN: zero-opt %s -split-input-file -verify-diagnostics

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{keeps parameters in a file that no gather brings to the device, wanted sharded ones: stage 3}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{keeps parameters in a file and states on the device, wanted no state there: only the host updates such parameters}}
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{keeps parameters in host memory that no gather brings to the device, wanted sharded ones: stage 3}}
zero.partition @p bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
// expected-error @+1 {{keeps parameters in host memory and states on the device, wanted no state there: only the host updates such parameters}}
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{copies slices of 1 parameters into '!zero.pending<>'}}
  %u = zero.upload [@w] : <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{names @w twice}}
  %u = zero.upload [@w, @w] : <tensor<4xf32>, tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{names @v, which is no 'zero.parameter'}}
  %u = zero.upload [@v] : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f(%s: tensor<4xf32>) {
  // expected-error @+1 {{is given copies of 2 slices for 1 parameters, wanted one each, or none}}
  %p = zero.all_gather [@w] from(%s, %s : tensor<4xf32>, tensor<4xf32>) : <tensor<8xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f(%s: tensor<4xf32>) {
  // expected-error @+1 {{is given copies of 2 slices for 1 parameters, wanted one each, or none}}
  %p = zero.refresh_resident [@w] from(%s, %s : tensor<4xf32>, tensor<4xf32>) : <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f(%g: tensor<4xf32>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{is given parameters, which its rule does not read or has on the host; wanted no 'in'}}
  %u = zero.update_on_host @p[0 to 8] of %g in %g : tensor<4xf32> if %v : (tensor<4xf32>) -> <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f(%g: tensor<4xf32>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{gives '!zero.pending<tensor<4xf32>>', wanted '!zero.pending<>': it updates parameters where they are}}
  %u = zero.update_on_host @p[0 to 8] of %g if %v : (tensor<4xf32>) -> <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{updates @p on the device, and its parameters are in host memory; wanted 'zero.update_on_host'}}
  zero.update @p if %v
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{copies parameters to the host, where @p keeps them}}
  %p = zero.copy_to_host "parameters" of @p[0 to 8] : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f(%g: tensor<4xf32>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{copies parameters to the device, and @p keeps them in host memory}}
  %c = zero.copy_to_device %g to @p[0 to 8] if %v : tensor<4xf32> -> <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f() {
  // expected-error @+1 {{reads slices of 1 parameters into '!zero.pending<>'}}
  %u = zero.read_parameters [@w] : <>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f() {
  // expected-error @+1 {{names @w twice}}
  %u = zero.read_parameters [@w, @w] : <tensor<4xf32>, tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f(%s: tensor<4xf32>) {
  // expected-error @+1 {{is given 2 slices that were read for 1 parameters, wanted one each, or none}}
  %u = zero.upload [@w] from(%s, %s : tensor<4xf32>, tensor<4xf32>) : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on host optimizer #zero.lion<>
  states [exp_avg f32 on host]
func.func @f() {
  // expected-error @+1 {{is about [0 to 8] of @p, wanted states or parameters of it in a file}}
  %u = zero.read_states @p[0 to 8] : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f(%g: tensor<4xf32>) {
  // expected-error @+1 {{gives '!zero.pending<tensor<4xf32>>', wanted '!zero.pending<tensor<4xf32>, tensor<4xf32>>': what a rank owns of the range}}
  %u = zero.read_states @p[0 to 8] : <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f(%g: tensor<4xf32>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{has the states 'tensor<4xf32>', wanted 'tensor<4xf32>', 'tensor<4xf32>': copies of all that a file keeps}}
  %u = zero.update_on_host @p[0 to 8] of %g with(%g : tensor<4xf32>) if %v : (tensor<4xf32>) -> <tensor<4xf32>>
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f() {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{updates @p on the device, and its parameters are in a file; wanted 'zero.update_on_host'}}
  zero.update @p if %v
  return
}

// -----

zero.parameter @w : tensor<8xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute f32 gradient f32 parameters on file optimizer #zero.lion<>
  states [exp_avg f32 on file]
func.func @f(%g: tensor<4xf32>) {
  %s = zero.grad_stats [@p]
  %v = zero.judge %s clip 0.0 divisor 1.0
  // expected-error @+1 {{copies parameters to the device, and @p keeps them in a file}}
  %c = zero.copy_to_device %g to @p[0 to 8] if %v : tensor<4xf32> -> <>
  return
}
