// RUN: zero-opt %s --pass-pipeline='builtin.module(zero-partition)' --split-input-file --verify-diagnostics

// A partition stores a parameter once, in one type, whether or not it is trained.
zero.parameter @w : tensor<4xf32> = #zero.ones frozen
zero.step @train(%x: tensor<4xf32>) training #zero.training<stage = 1, ranks = 2> {
  zero.micro {
    %a = zero.load @w : tensor<4xf32>
    // expected-error @+1 {{reads @w as 'bf16', and an earlier one as 'f32': load it with one type, and convert with arith.extf or arith.truncf}}
    %b = zero.load @w : tensor<4xbf16>
    %loss = nn.reduce sum %a dims [0] : (tensor<4xf32>) -> tensor<f32>
    zero.yield %loss : tensor<f32>
  }
  zero.apply {
  }
}
