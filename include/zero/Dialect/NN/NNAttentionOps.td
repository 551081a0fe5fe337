//===- NNAttentionOps.td - attention and rotary positions -----------------===//
#ifndef ZERO_DIALECT_NN_NNATTENTIONOPS_TD
#define ZERO_DIALECT_NN_NNATTENTIONOPS_TD

include "zero/Dialect/NN/NNSignature.td"

// Query heads are r for each of g key heads. Which weights are dropped follows from
// where they are in the sample: a part of the heads has to be told which ones it is.
def NN_AttentionOp : NN_SignedOp<"attention",
    [Floats<"q", "b,t,g.r,d", "", "&">, Floats<"k", "b,s,g,d", "", "&">,
     Floats<"v", "b,s,g,d", "", "&">,
     OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, OptionalReal<"dropout", ">=0<1">,
     OptionalDrawId<"id">],
    [Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">],
    "parallel b!dropout g!dropout r!dropout t!causal!dropout, "
    "combined g?dropout",
    [NN_Combined, NN_Differentiable, NN_Shared]> {
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

    With `dropout`, the weights exp(score[s] - lse) are dropped and scaled as
    `nn.dropout` of that probability and that `id` does with a tensor [B, H, T, S] of
    them, whose dimension 0 is the sample. `lse` is as without it.
  }];
  let details = [{
    Constraints
    - (C1) `causal` wants S = T.
    - (C2) `mask` is [T, S], or has four dimensions.
    - (C3) `dropout` and `id` are both there, or neither is.

    ```mlir
    %p, %lsf = nn.attention %q, %k, %v causal scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    %o, %lse = nn.attention %q, %k, %v causal scale 0.125 : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let work = [{attentionFlops<2>, nullptr, checkAttention, attentionArithmetic}];
  let workspace = "attention";
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`causal` $causal^)? `scale` $scale
    (`dropout` $dropout^)? (`id` $id^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_AttentionGradOp : NN_SignedOp<"attention_grad",
    [Floats<"dout", "b,t,g.r,d", "", "&">, Floats<"q", "b,t,g.r,d", "", "&">,
     Floats<"k", "b,s,g,d", "", "&">, Floats<"v", "b,s,g,d", "", "&">,
     Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">,
     OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, OptionalReal<"dropout", ">=0<1">,
     OptionalDrawId<"id">],
    [Floats<"dq", "b,t,g.r,d", "", "&">, Floats<"dk", "b,s,g,d", "", "&">,
     Floats<"dv", "b,s,g,d", "", "&">],
    "parallel b!dropout g!dropout, sum r!dropout t!causal!dropout, "
    "combined g?dropout, linear dout"> {
  let summary = "Gradients of attention for query, key and value";
  let text = [{
    Recomputes the probabilities from `q`, `k` and `lse`, and draws again what was
    dropped; needs no T x S buffer from the forward.
  }];
  let details = [{
    Constraints
    - (C1) to (C3) those of `nn.attention`.

    ```mlir
    %dq, %dk, %dv = nn.attention_grad %do, %q, %k, %v, %o, %lse causal scale 0.125 : (...) -> (...)
    ```
  }];
  let work = [{attentionFlops<5>, nullptr, checkAttention, attentionArithmetic}];
  let workspace = "attentionGrad";
  let assemblyFormat = [{
    $dout `,` $q `,` $k `,` $v `,` $out `,` $lse (`mask` $mask^)?
    (`causal` $causal^)? `scale` $scale (`dropout` $dropout^)? (`id` $id^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

// An axis may cut what another one has left of the heads.
def NN_PartialAttentionOp : NN_SignedOp<"partial_attention",
    [Floats<"q", "b,t,g.r,d", "", "&">, Floats<"k", "b,s,g,d", "", "&">,
     Floats<"v", "b,s,g,d", "", "&">, Indices<"first", "">,
     OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, Real<"dropout", ">=0<1">,
     DrawId<"id">],
    [Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">],
    "combined g", [NN_Combined, NN_Differentiable]> {
  let summary = "nn.attention with dropout, of a part of the heads";
  let text = [{
    `k` and `v` have the key heads from `first` on, and `q` the query heads that use
    them. Of these the results are those of `nn.attention` of all heads: a weight's
    position is that within the whole sample.

    `zero-shard-model` makes it of `nn.attention` with `dropout`.
  }];
  let details = [{
    Constraints
    - (C1), (C2) those of `nn.attention`.

    ```mlir
    %o, %lse = nn.partial_attention %q, %k, %v, %first causal scale 0.125 dropout 0.1 id 3 : (tensor<2x16x4x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>, tensor<i32>) -> (tensor<2x16x4x64xf32>, tensor<2x4x16xf32>)
    ```
  }];
  let work = [{attentionFlops<2>, nullptr, checkAttention, attentionArithmetic}];
  let workspace = "attention";
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $first (`mask` $mask^)? (`causal` $causal^)?
    `scale` $scale `dropout` $dropout `id` $id attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_PartialAttentionGradOp : NN_SignedOp<"partial_attention_grad",
    [Floats<"dout", "b,t,g.r,d", "", "&">, Floats<"q", "b,t,g.r,d", "", "&">,
     Floats<"k", "b,s,g,d", "", "&">, Floats<"v", "b,s,g,d", "", "&">,
     Floats<"out", "b,t,g.r,d", "", "&">, Statistics<"lse", "b,g.r,t">,
     Indices<"first", "">, OptionalStatistics<"mask", "b,g.r,t,s", "", "^">],
    [Flag<"causal">, Real<"scale", "?">, Real<"dropout", ">=0<1">,
     DrawId<"id">],
    [Floats<"dq", "b,t,g.r,d", "", "&">, Floats<"dk", "b,s,g,d", "", "&">,
     Floats<"dv", "b,s,g,d", "", "&">],
    "combined g, linear dout"> {
  let summary = "Gradients of partial_attention for query, key and value";
  let text = [{
    As `nn.attention_grad`, of a part of the heads.
  }];
  let details = [{
    Constraints
    - (C1), (C2) those of `nn.attention`.

    ```mlir
    %dq, %dk, %dv = nn.partial_attention_grad %do, %q, %k, %v, %o, %lse, %first causal scale 0.125 dropout 0.1 id 3 : (...) -> (...)
    ```
  }];
  let work = [{attentionFlops<5>, nullptr, checkAttention, attentionArithmetic}];
  let workspace = "attentionGrad";
  let assemblyFormat = [{
    $dout `,` $q `,` $k `,` $v `,` $out `,` $lse `,` $first (`mask` $mask^)?
    (`causal` $causal^)? `scale` $scale `dropout` $dropout `id` $id
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
