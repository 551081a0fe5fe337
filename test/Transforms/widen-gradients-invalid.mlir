// RUN: zero-opt %s --zero-widen-gradients --verify-diagnostics

zero.parameter @w : tensor<4xf32> = #zero.zeros
zero.partition @p0 whole over 2 ranks stage 0 segments [0, 4] members [#zero.member<@w at 0 size 4>]
  compute bf16 gradient bf16 optimizer #zero.adam<>
zero.step @train(%x: tensor<4xbf16>) {
  zero.micro {
    // expected-error @+1 {{'zero.gradient' op is reduced, stored or a block already; run zero-widen-gradients behind zero-differentiate}}
    %0 = zero.gradient @w, %x : tensor<4xbf16>
    zero.accumulate whole %0 into @p0[0 to 4] : tensor<4xbf16>
    %loss = arith.constant dense<0.0> : tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
