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
  return
}
