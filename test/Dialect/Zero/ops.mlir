// RUN: zero-opt %s --verify-roundtrip | FileCheck %s
// RUN: zero-opt %s --mlir-print-op-generic | zero-opt | FileCheck %s

// CHECK: zero.parameter @w : tensor<2x4xf32> = #zero.normal<std = 0.02>
zero.parameter @w : tensor<2x4xf32> = #zero.normal<std = 0.02>
// CHECK: zero.parameter @b : tensor<4xf32> = #zero.zeros group "no_decay"
zero.parameter @b : tensor<4xf32> = #zero.zeros group "no_decay"
// CHECK: zero.parameter @table : tensor<3xf32> = #zero.uniform<low = -1.0, high = 1.0> frozen
zero.parameter @table : tensor<3xf32> = #zero.uniform<low = -1.0, high = 1.0> frozen
// CHECK: zero.parameter @ones : tensor<1xf32> = #zero.ones
zero.parameter @ones : tensor<1xf32> = #zero.ones
// CHECK: zero.parameter @half : tensor<f32> = #zero.constant<0.5>
zero.parameter @half : tensor<f32> = #zero.constant<0.5>

// CHECK: zero.optimizer "default" = #zero.adam<lr = 0.0003, weight_decay = 0.1>
zero.optimizer "default" = #zero.adam<lr = 3.0e-4, weight_decay = 0.1>
// CHECK: zero.optimizer "no_decay" = #zero.sgd<momentum = 0.9>
zero.optimizer "no_decay" = #zero.sgd<momentum = 0.9>

// CHECK: zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 12]
// CHECK-SAME: members [#zero.member<@b at 0 size 4>, #zero.member<@w at 4 size 8>]
// CHECK-SAME: compute f32 gradient f32 optimizer #zero.adam<>
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 12]
  members [#zero.member<@b at 0 size 4>, #zero.member<@w at 4 size 8>]
  compute f32 gradient f32 optimizer #zero.adam<>

func.func private @k(tensor<2x4xf32>) -> tensor<2x4xf32>

// CHECK-LABEL: zero.step @train(%arg0: tensor<2xf32> {zero.input = "x"})
// CHECK-SAME: training #zero.training<stage = 2, ranks = 2, accumulation = 3, clip = 1.0
zero.step @train(%x: tensor<2xf32> {zero.input = "x"})
    training #zero.training<stage = 2, ranks = 2, accumulation = 3, clip = 1.0,
              loss_scale = <initial = 65536.0, dynamic = true>,
              schedule = <type = WarmupLR, max = 0.001, warmup = 10>> {
  // CHECK: zero.initialize
  zero.initialize {
    // CHECK: %[[R:.*]] = zero.refresh_resident [@b] : <>
    %r = zero.refresh_resident [@b] on gather : <>
    // CHECK: zero.wait %[[R]] : <>
    zero.wait %r : <>
  }
  // CHECK: zero.micro
  zero.micro {
    // CHECK: zero.load @w : tensor<2x4xbf16>
    %w = zero.load @w : tensor<2x4xbf16>
    // CHECK: zero.loss_seed : tensor<f32>
    %seed = zero.loss_seed : tensor<f32>
    // CHECK: %[[G:.*]] = zero.all_gather [@w, @b] : <tensor<2x4xf32>, tensor<4xf32>>
    %g = zero.all_gather [@w, @b] : <tensor<2x4xf32>, tensor<4xf32>>
    // CHECK: %[[W:.*]]:2 = zero.wait %[[G]] : <tensor<2x4xf32>, tensor<4xf32>>
    %a, %b = zero.wait %g : <tensor<2x4xf32>, tensor<4xf32>>
    // CHECK: %w_0 = zero.load @w from %[[W]]#0 : tensor<2x4xf32>
    %v = zero.load @w from %a : tensor<2x4xf32>
    // CHECK: %[[L:.*]] = zero.launch @k(%[[W]]#0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %l = zero.launch @k(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    // CHECK: zero.recompute %[[L]] : tensor<2x4xf32>
    %again = zero.recompute %l : tensor<2x4xf32>
    // CHECK: zero.gradient @b, %[[W]]#1 : tensor<4xf32>
    zero.gradient @b, %b : tensor<4xf32>
    // CHECK: zero.gradient @w[0 to 4], %[[W]]#1 : tensor<4xf32>
    zero.gradient @w[0 to 4], %b : tensor<4xf32>
    // CHECK: zero.reduce_scatter @p0[0 to 12] of [@b, @w](%[[W]]#1, %[[L]] : tensor<4xf32>, tensor<2x4xf32>) : <tensor<6xf32>>
    %s = zero.reduce_scatter @p0[0 to 12] of [@b, @w] (%b, %l : tensor<4xf32>, tensor<2x4xf32>) : <tensor<6xf32>>
    %slice = zero.wait %s : <tensor<6xf32>>
    // CHECK: zero.accumulate slice %{{.*}} into @p0[0 to 12] : tensor<6xf32>
    zero.accumulate slice %slice into @p0[0 to 12] : tensor<6xf32>
    // CHECK: zero.bucketed_reduce @p0 of [@b](%{{.*}} : tensor<4xf32>) : <tensor<4xf32>>
    %o = zero.bucketed_reduce @p0 of [@b] (%b : tensor<4xf32>) : <tensor<4xf32>>
    %owned = zero.wait %o : <tensor<4xf32>>
    // CHECK: zero.bucketed_reduce @p0[0 to 4] of [@b](%{{.*}} : tensor<4xf32>) : <tensor<4xf32>>
    %q = zero.bucketed_reduce @p0[0 to 4] of [@b] (%b : tensor<4xf32>) : <tensor<4xf32>>
    %block = zero.wait %q : <tensor<4xf32>>
    // CHECK: zero.accumulate owned %{{.*}} into @p0[0 to 12] of [@b] : tensor<4xf32>
    zero.accumulate owned %owned into @p0[0 to 12] of [@b] : tensor<4xf32>
    // CHECK: zero.free %[[W]]#0, %[[W]]#1 : tensor<2x4xf32>, tensor<4xf32>
    zero.free %a, %b : tensor<2x4xf32>, tensor<4xf32>
    // CHECK: zero.yield %{{.*}} : tensor<f32>
    zero.yield %seed : tensor<f32>
  }
  // CHECK: zero.micro last {
  zero.micro last {
    // CHECK: %[[K:.*]] = zero.carried "parameters" : <>
    %p = zero.carried "parameters" : <>
    // CHECK: zero.wait %[[K]] : <>
    zero.wait %p : <>
    %seed = zero.loss_seed : tensor<f32>
    %r = zero.reduce_scatter @p0[0 to 12] : <tensor<6xf32>>
    // CHECK: zero.carry %{{.*}} as "gradients" : <tensor<6xf32>>
    zero.carry %r as "gradients" : <tensor<6xf32>>
    zero.yield %seed : tensor<f32>
  }
  // CHECK: zero.apply
  zero.apply {
    // CHECK: zero.all_reduce prescaled @p0[0 to 12] : <tensor<12xf16>>
    %r = zero.all_reduce prescaled @p0[0 to 12] : <tensor<12xf16>>
    %t = zero.wait %r : <tensor<12xf16>>
    // CHECK: %[[S:.*]] = zero.grad_stats [@p0]
    %s = zero.grad_stats [@p0]
    // CHECK: %[[T:.*]] = zero.grad_stats [@p0] ranges [0, 12] to %[[S]]
    %sum = zero.grad_stats [@p0] ranges [0, 12] to %s
    // CHECK: %[[A:.*]] = zero.reduce_stats loss_only %[[T]]
    %all = zero.reduce_stats loss_only %sum
    // CHECK: %[[V:.*]] = zero.judge %[[A]] clip 1.000000e+00 divisor 2.000000e+00 skip
    %v = zero.judge %all clip 1.0 divisor 2.0 skip
    // CHECK: zero.update @p0 if %[[V]]
    zero.update @p0 if %v
    // CHECK: zero.update_scale %[[V]]
    zero.update_scale %v
    // CHECK: zero.refresh @p0[0 to 12] on copy : <>
    %p = zero.refresh @p0[0 to 12] on copy : <>
    zero.wait %p : <>
  }
  // CHECK: zero.evaluate
  zero.evaluate {
    %w = zero.load @half : tensor<f32>
    // CHECK: zero.yield %{{.*}}, %arg0 outputs ["x"] : tensor<f32>, tensor<2xf32>
    zero.yield %w, %x outputs ["x"] : tensor<f32>, tensor<2xf32>
  }
}
