// What is started and never waited for is an error where it starts.
// RUN: zero-opt %s -split-input-file -zero-reduce-early -zero-overlap-reductions -zero-overlap-gathers -zero-prefetch -verify-diagnostics
// RUN: zero-opt %s -split-input-file -zero-reduce-early -zero-overlap-reductions -zero-overlap-gathers -zero-join-gathers -verify-diagnostics

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @refresh(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %loss = nn.reduce sum %a dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{is never waited for; wanted a 'zero.wait' or a 'zero.carry' of what it starts}}
    %f = zero.refresh @p0[0 to 8] : <>
  }
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 bucketed over 2 ranks stage 2 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @reduction(%x: tensor<8xf32>) training #zero.training<stage = 2, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %loss = nn.reduce sum %a dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %x : tensor<8xf32>
    // expected-error @+1 {{is never waited for}}
    %r = zero.reduce_scatter @p0[0 to 8] of [@a] (%g : tensor<8xf32>) : <tensor<4xf32>>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 interval over 2 ranks stage 1 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @stored(%x: tensor<8xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @a : tensor<8xf32>
    %loss = nn.reduce sum %a dims [0] : (tensor<8xf32>) -> tensor<f32>
    %g = zero.gradient @a, %x : tensor<8xf32>
    zero.accumulate whole %g into @p0[0 to 8] : tensor<8xf32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
    // expected-error @+1 {{is never waited for}}
    %r = zero.reduce_scatter @p0[0 to 8] : <tensor<4xf32>>
  }
}

// -----

zero.parameter @a : tensor<8xf32> = #zero.ones
zero.partition @p0 parameter over 2 ranks stage 3 segments [0, 8]
  members [#zero.member<@a at 0 size 8>] compute f32 gradient f32 optimizer #zero.adam<>
zero.step @gather(%x: tensor<8xf32>) training #zero.training<stage = 3, ranks = 2> {
  zero.micro {
    // expected-error @+1 {{is never waited for}}
    %p = zero.all_gather [@a] : <tensor<8xf32>>
    %loss = nn.reduce sum %x dims [0] : (tensor<8xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
