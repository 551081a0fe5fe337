// RUN: zero-opt %s | zero-opt | FileCheck %s

// CHECK: zero.partition @p parameter over 2 ranks {{.*}} gradient bf16 parameters on host optimizer
// CHECK: zero.partition @frozen parameter over 2 ranks {{.*}} gradient f32 parameters on host
zero.parameter @w : tensor<2x4xf32> = #zero.zeros
zero.parameter @b : tensor<4xf32> = #zero.zeros
zero.partition @p parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@w at 0 size 8>] compute bf16 gradient bf16 parameters on host optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
zero.partition @frozen parameter over 2 ranks stage 3 segments [0, 4]
  members [#zero.member<@b at 0 size 4>] compute f32 gradient f32 parameters on host

// CHECK: zero.partition @q parameter over 2 ranks {{.*}} gradient bf16 parameters on file optimizer
zero.parameter @v : tensor<2x4xf32> = #zero.zeros
zero.partition @q parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@v at 0 size 8>] compute bf16 gradient bf16 parameters on file optimizer #zero.lion<>
  states [master f32 on host, exp_avg f32 on host]
func.func @f(%g: tensor<4xbf16>) {
  // CHECK: %[[U:.*]] = zero.upload [@w] : <tensor<4xbf16>>
  // CHECK: %[[S:.*]] = zero.wait %[[U]]
  // CHECK: zero.all_gather [@w] from(%[[S]] : tensor<4xbf16>) : <tensor<2x4xbf16>>
  %u = zero.upload [@w] : <tensor<4xbf16>>
  %s = zero.wait %u : <tensor<4xbf16>>
  %p = zero.all_gather [@w] from(%s : tensor<4xbf16>) : <tensor<2x4xbf16>>
  // CHECK: %[[V:.*]] = zero.upload [@b] on copy
  // CHECK: %[[T:.*]] = zero.wait %[[V]]
  // CHECK: zero.refresh_resident [@b] from(%[[T]] : tensor<2xf32>) : <>
  %v = zero.upload [@b] on copy : <tensor<2xf32>>
  %t = zero.wait %v : <tensor<2xf32>>
  %r = zero.refresh_resident [@b] from(%t : tensor<2xf32>) : <>
  // CHECK: zero.update_on_host @p[0 to 8] of %{{.*}} if %{{.*}} : (tensor<4xbf16>) -> <>
  %stats = zero.grad_stats [@p]
  %verdict = zero.judge %stats clip 0.0 divisor 1.0
  %x = zero.update_on_host @p[0 to 8] of %g if %verdict : (tensor<4xbf16>) -> <>
  // CHECK: %[[R:.*]] = zero.read_parameters [@v] : <tensor<4xbf16>>
  // CHECK: %[[H:.*]] = zero.wait %[[R]]
  // CHECK: zero.upload [@v] from(%[[H]] : tensor<4xbf16>) : <tensor<4xbf16>>
  %read = zero.read_parameters [@v] : <tensor<4xbf16>>
  %h = zero.wait %read : <tensor<4xbf16>>
  %y = zero.upload [@v] from(%h : tensor<4xbf16>) : <tensor<4xbf16>>
  // Only parameters are in a file: states are where they are.
  // CHECK: zero.read_states @q[0 to 8] : <tensor<4xbf16>>
  // CHECK: zero.update_on_host @q[0 to 8] of %{{.*}} with(%{{.*}} : tensor<4xbf16>) if %{{.*}} : (tensor<4xbf16>) -> <tensor<4xbf16>>
  // CHECK: zero.write_states %{{.*}} to @q[0 to 8] : tensor<4xbf16> -> <>
  %old = zero.read_states @q[0 to 8] : <tensor<4xbf16>>
  %o = zero.wait %old : <tensor<4xbf16>>
  %update = zero.update_on_host @q[0 to 8] of %g with(%o : tensor<4xbf16>) if %verdict : (tensor<4xbf16>) -> <tensor<4xbf16>>
  %n = zero.wait %update : <tensor<4xbf16>>
  %new = zero.write_states %n to @q[0 to 8] : tensor<4xbf16> -> <>
  return
}
