//===- NNAttentionOps.td - attention and rotary positions -----------------===//
#ifndef ZERO_DIALECT_NN_NNATTENTIONOPS_TD
#define ZERO_DIALECT_NN_NNATTENTIONOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_AttentionOp : NN_KernelOp<"attention", [
    NN_Differentiable]> {
  let summary = "Scaled dot-product attention, by heads";
  let description = [{
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

    Constraints
    - (C1) `q`, `k`, `v` have rank 4: q [B, T, H, D], k and v [B, S, G, D].
    - (C2) `k` has the B and D of `q`; `v` has the shape of `k`.
    - (C3) H is a multiple of G.
    - (C4) `causal` wants S = T.
    - (C5) `mask` has one of the shapes above and the statistic type.
    - (C6) `q`, `k`, `v` have one element type.
    - (C7) `out` has the type of `q`; `lse` is [B, H, T] of the statistic type.

    ```mlir
    %o, %lse = nn.attention %q, %k, %v causal scale 0.125 : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                       Optional<NN_StatisticTensor>:$mask, UnitAttr:$causal,
                       F64Attr:$scale);
  let results = (outs NN_FloatTensor:$out, NN_StatisticTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`causal` $causal^)? `scale` $scale
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AttentionGradOp : NN_KernelOp<"attention_grad"> {
  let summary = "Gradients of attention for query, key and value";
  let description = [{
    Recomputes the probabilities from `q`, `k` and `lse`; needs no T x S buffer
    from the forward.

    Constraints
    - (C1) to (C6) those of `nn.attention`.
    - (C7) `dout` and `out` have the type of `q`, `lse` that of the forward.
    - (C8) the results have the types of `q`, `k` and `v`.

    ```mlir
    %dq, %dk, %dv = nn.attention_grad %do, %q, %k, %v, %o, %lse causal scale 0.125 : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dout, NN_FloatTensor:$q,
                       NN_FloatTensor:$k, NN_FloatTensor:$v,
                       NN_FloatTensor:$out, NN_StatisticTensor:$lse,
                       Optional<NN_StatisticTensor>:$mask, UnitAttr:$causal,
                       F64Attr:$scale);
  let results = (outs NN_FloatTensor:$dq, NN_FloatTensor:$dk,
                      NN_FloatTensor:$dv);
  let assemblyFormat = [{
    $dout `,` $q `,` $k `,` $v `,` $out `,` $lse (`mask` $mask^)?
    (`causal` $causal^)? `scale` $scale
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_RotaryOp : NN_KernelOp<"rotary", [
    NN_Differentiable, OverwritesOperands, SameOperandsAndResultType]> {
  let summary = "Rotate pairs of features by angles that grow with the position";
  let description = [{
    `x` is [B, T, H, D]. At position t, pair i of the D / 2 pairs is rotated by the
    angle `t * theta^(-2 i / D)`. Pair i is (i, i + D/2), or (2 i, 2 i + 1) with
    `interleaved`. `inverse` rotates back, which is also the gradient. With `heads`
    only heads [begin, end) are rotated, and the others stay as they are.

    Constraints
    - (C1) `x` has rank 4.
    - (C2) D is even.
    - (C3) `theta` is positive.
    - (C4) `heads` is a range in [0, H].

    ```mlir
    %r = nn.rotary %q theta 10000.0 : tensor<2x16x4x64xf32>
    %s = nn.rotary %q theta 10000.0 interleaved inverse : tensor<2x16x4x64xf32>
    %t = nn.rotary %q theta 10000.0 heads [0, 3] : tensor<2x16x4x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, F64Attr:$theta,
                       UnitAttr:$interleaved, UnitAttr:$inverse,
                       OptionalAttr<DenseI64ArrayAttr>:$heads);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `theta` $theta (`interleaved` $interleaved^)? (`inverse` $inverse^)?
    (`heads` $heads^)? attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNATTENTIONOPS_TD
