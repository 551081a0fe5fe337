// RUN: zero-opt %s -split-input-file -zero-verify-schedule -verify-diagnostics

// What is written over a bucket that is still on the link.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
  at {gradients = #zero.at<gradients[0], 16 bytes>, parameters = #zero.at<parameters[0], 32 bytes>}
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2>
    attributes {zero.at = [#zero.at<inputs[0], 32 bytes>]} {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %0 = arith.addf %x, %a {zero.at = [#zero.at<communication[0], 32 bytes>]} : tensor<8xf32>
    %g0 = zero.gradient @a, %0 : tensor<8xf32>
    // expected-note @+1 {{started here}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g0 : tensor<8xf32>) {zero.at = {bucket = #zero.at<communication[0], 32 bytes>, "slice 0" = #zero.at<gradients[0], 16 bytes>}} : <tensor<4xf32>>
    // expected-error @+1 {{writes communication[16 to 20) while 'zero.reduce_scatter' on reduce writes there; its wait must come first}}
    %loss = nn.reduce sum %x dims [0] {zero.at = [#zero.at<communication[16], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    // expected-note @+1 {{waited for here, which is too late}}
    %s = zero.wait %r : <tensor<4xf32>>
    zero.accumulate slice %s into @p0[0 to 8] : tensor<4xf32>
    zero.free %0 : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.wait %f : <>
  }
  zero.evaluate {
    %e = nn.reduce sum %x dims [0] {zero.at = [#zero.at<activations[0], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    zero.yield %e : tensor<f32>
  }
}

// -----

// What is written over a stored gradient that is reduced until the update.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
  at {gradients = #zero.at<gradients[0], 32 bytes>, parameters = #zero.at<parameters[0], 32 bytes>}
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2>
    attributes {zero.at = [#zero.at<inputs[0], 32 bytes>]} {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    %0 = arith.addf %x, %a {zero.at = [#zero.at<gradients[0], 32 bytes>]} : tensor<8xf32>
    %g1 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g1 into @p0[0 to 8] : tensor<8xf32>
    // expected-note @+1 {{started here}}
    %r = zero.reduce_scatter @p0[0 to 8] {zero.at = {bucket = #zero.at<gradients[0], 32 bytes>, "slice 0" = #zero.at<gradients[0], 16 bytes stride 16>}} : <tensor<4xf32>>
    zero.carry %r as "gradients" : <tensor<4xf32>>
    // expected-error @+1 {{writes gradients[0 to 32) while 'zero.reduce_scatter' on reduce writes there; its wait must come first}}
    %1 = arith.mulf %x, %x {zero.at = [#zero.at<gradients[0], 32 bytes>]} : tensor<8xf32>
    %loss = nn.reduce sum %1 dims [0] {zero.at = [#zero.at<activations[0], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %r = zero.carried "gradients" : <tensor<4xf32>>
    // expected-note @+1 {{waited for here, which is too late}}
    %s = zero.wait %r : <tensor<4xf32>>
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.carry %f as "parameters" : <>
  }
  zero.evaluate {
    %e = nn.reduce sum %x dims [0] {zero.at = [#zero.at<activations[0], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    zero.yield %e : tensor<f32>
  }
}

// -----

// Beside a gather in flight, what lies elsewhere may be read.

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.parameter @b : tensor<8xf32> = #zero.ones unused
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.sgd<>
  at {gradients = #zero.at<gradients[0], 32 bytes>, parameters = #zero.at<parameters[0], 32 bytes>}
zero.partition @p1 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@b at 0 size 8>] compute f32 gradient f32
  at {parameters = #zero.at<parameters[64], 32 bytes>}
zero.step @train(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2>
    attributes {zero.at = [#zero.at<inputs[0], 32 bytes>]} {
  zero.micro {
    %b = zero.load @b : tensor<8xf32>
    %0 = arith.addf %x, %b {zero.at = [#zero.at<gradients[0], 32 bytes>]} : tensor<8xf32>
    %f = zero.carried "parameters" : <>
    zero.wait %f : <>
    %g2 = zero.gradient @a, %0 : tensor<8xf32>
    zero.accumulate whole %g2 into @p0[0 to 8] : tensor<8xf32>
    %r = zero.reduce_scatter @p0[0 to 8] {zero.at = {bucket = #zero.at<gradients[0], 32 bytes>, "slice 0" = #zero.at<gradients[0], 16 bytes stride 16>}} : <tensor<4xf32>>
    %s = zero.wait %r : <tensor<4xf32>>
    %loss = nn.reduce sum %x dims [0] {zero.at = [#zero.at<activations[0], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    %st = zero.grad_stats [@p0]
    %t = zero.reduce_stats %st
    %v = zero.judge %t clip 0.0 divisor 2.0 skip
    zero.update @p0 if %v
    zero.update_scale %v
    %f = zero.refresh @p0[0 to 8] : <>
    zero.carry %f as "parameters" : <>
  }
  zero.evaluate {
    %e = nn.reduce sum %x dims [0] {zero.at = [#zero.at<activations[0], 4 bytes>]} : (tensor<8xf32>) -> tensor<f32>
    zero.yield %e : tensor<f32>
  }
}
