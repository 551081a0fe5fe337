//===- NNAttentionOps.td - attention and rotary positions -----------------===//
#ifndef ZERO_DIALECT_NN_NNATTENTIONOPS_TD
#define ZERO_DIALECT_NN_NNATTENTIONOPS_TD

include "zero/Dialect/NN/NNSignature.td"

// Query heads are r for each of g key heads.
def NN_AttentionOp : NN_SignedOp<"attention",
    [Floats<"q", "b,t,g.r,d", "", "&">, Floats<"k", "b,s,g,d", "", "&">,
     Floats<"v", "b,s,g,d", "", "&">,
     OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, Present<"mask">],
    [Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">],
    "parallel b g r t!causal", [NN_Differentiable]> {
  let summary = "Scaled dot-product attention, by heads";
  let text = [{
    For each batch b, head h and query t, with g = h / (H / G) (integer division):

        score[s]      = scale * sum over d of q[b,t,h,d] k[b,s,g,d], plus mask[..]
        lse[b,h,t]    = log of the sum over s of exp(score[s])
        out[b,t,h,d]  = sum over s of exp(score[s] - lse[b,h,t]) v[b,s,g,d]

    G < H shares each key and value head among H / G query heads. With `causal`,
    query t sees the keys 0 to t only. `mask` is added to the scores: [T, S], or
    four dimensions of which each is that of [B, H, T, S] or 1. A mask is data:
    it gets no gradient.

    A query that sees no key, all of whose scores are -infinity, has 0 for `out` and
    for `lse`, and nothing gets a gradient through it.
  }];
  let details = [{
    Constraints
    - (C1) `causal` wants S = T.
    - (C2) `mask` is [T, S], or has four dimensions.

    ```mlir
    %o, %lse = nn.attention %q, %k, %v causal scale 0.125 : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let work = [{attentionFlops<2>, nullptr, checkAttention, attentionArithmetic}];
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`causal` $causal^)? `scale` $scale
    attr-dict `:` functional-type(operands, results)
  }];
}

def NN_AttentionGradOp : NN_SignedOp<"attention_grad",
    [Floats<"dout", "b,t,g.r,d", "", "&">, Floats<"q", "b,t,g.r,d", "", "&">,
     Floats<"k", "b,s,g,d", "", "&">, Floats<"v", "b,s,g,d", "", "&">,
     Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">,
     OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, Present<"mask">],
    [Floats<"dq", "b,t,g.r,d", "", "&">, Floats<"dk", "b,s,g,d", "", "&">,
     Floats<"dv", "b,s,g,d", "", "&">],
    "parallel b g, sum r t!causal, linear dout"> {
  let summary = "Gradients of attention for query, key and value";
  let text = [{
    Recomputes the probabilities from `q`, `k` and `lse`; needs no T x S buffer
    from the forward.
  }];
  let details = [{
    Constraints
    - (C1), (C2) those of `nn.attention`.

    ```mlir
    %dq, %dk, %dv = nn.attention_grad %do, %q, %k, %v, %o, %lse causal scale 0.125 : (...) -> (...)
    ```
  }];
  let work = [{attentionFlops<5>, nullptr, checkAttention, attentionArithmetic}];
  let assemblyFormat = [{
    $dout `,` $q `,` $k `,` $v `,` $out `,` $lse (`mask` $mask^)?
    (`causal` $causal^)? `scale` $scale
    attr-dict `:` functional-type(operands, results)
  }];
}

def NN_RotaryOp : NN_SignedOp<"rotary",
    [Floats<"x", "b,t,h,d", "", "&">],
    [Real<"theta", ">0">, Flag<"interleaved">, Flag<"inverse">,
     NN_Attribute<"heads", "range[h]?", OptionalAttr<DenseI64ArrayAttr>>],
    [Floats<"y", "b,t,h,d", "", "&">],
    "parallel b h, linear x",
    [NN_Differentiable, OverwritesOperands, SameOperandsAndResultType]> {
  let summary = "Rotate pairs of features by angles that grow with the position";
  let text = [{
    `x` is [B, T, H, D]. At position t, pair i of the D / 2 pairs is rotated by the
    angle `t * theta^(-2 i / D)`. Pair i is (i, i + D/2), or (2 i, 2 i + 1) with
    `interleaved`. `inverse` rotates back, which is also the gradient. With `heads`
    only heads [begin, end) are rotated, and the others stay as they are.
  }];
  let details = [{
    Constraints
    - (C1) D is even.

    ```mlir
    %r = nn.rotary %q theta 10000.0 : tensor<2x16x4x64xf32>
    %s = nn.rotary %q theta 10000.0 interleaved inverse : tensor<2x16x4x64xf32>
    %t = nn.rotary %q theta 10000.0 heads [0, 3] : tensor<2x16x4x64xf32>
    ```
  }];
  let work = "rotaryFlops, rotaryBytes, checkRotary";
  let assemblyFormat = [{
    $x `theta` $theta (`interleaved` $interleaved^)? (`inverse` $inverse^)?
    (`heads` $heads^)? attr-dict `:` type($x)
  }];
}

#endif // ZERO_DIALECT_NN_NNATTENTIONOPS_TD
