//===- NNFusedOps.td - matrix products with what follows them -------------===//
#ifndef ZERO_DIALECT_NN_NNFUSEDOPS_TD
#define ZERO_DIALECT_NN_NNFUSEDOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_LinearAddOp : NN_SignedOp<"linear_add",
    [Floats<"x", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     Floats<"c", "r..,n", "+">, OptionalFloats<"bias", "n", "+">],
    [Flag<"transposed">],
    [Floats<"y", "r..,n">],
    "parallel r n, sum k, linear x w"> {
  let summary = "nn.linear and an addition in one kernel";
  let text = [{
    `y = h + c`, where `h` is what `nn.linear` computes of the other operands. A
    kernel may add before or after `h` is rounded.

    `zero-fuse-additions` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %y = nn.linear_add %x, %w, %c transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
    ```
  }];
  let work = "linearAddFlops, nullptr, nullptr, linearProduct";
  let workspace = "product";
  let assemblyFormat = [{
    $x `,` $w `,` $c (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LinearGeluOp : NN_SignedOp<"linear_gelu",
    [Floats<"x", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     OptionalFloats<"bias", "n">],
    [Flag<"transposed">],
    [Floats<"y", "r..,n">, OptionalFloats<"h", "r..,n">],
    "parallel r n"> {
  let summary = "nn.linear and the tanh form of nn.gelu in one kernel";
  let text = [{
    `y = gelu(h)`, where `h` is what `nn.linear` computes of the same operands.
    `h` is a second result where something else reads it, as the gradient does.
    A kernel may take gelu of `h` before or after it is rounded.

    `zero-fuse-epilogues` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %y, %h = nn.linear_gelu %x, %w bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> (tensor<32x256xbf16>, tensor<32x256xbf16>)
    %z = nn.linear_gelu %x, %w bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> tensor<32x256xbf16>
    ```
  }];
  let work = "linearGeluFlops, nullptr, nullptr, linearProduct";
  let workspace = "product";
  let assemblyFormat = [{
    $x `,` $w (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LinearGeluGradOp : NN_SignedOp<"linear_gelu_grad",
    [Floats<"dy", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     Floats<"h", "r..,n">],
    [Flag<"transposed">],
    [Floats<"dh", "r..,n">, OptionalFloats<"db", "n">],
    "parallel n, sum r k, linear dy w"> {
  let summary = "A matrix product times the derivative of gelu, in one kernel";
  let text = [{
    `dh = g * gelu'(h)` in the tanh form, where `g` is what `nn.linear` computes
    of `dy` and `w`: the gradient of `nn.linear` after gelu, on its way through
    gelu. `db[n]`, a second result where it is wanted, is the sum of `dh[.., n]`,
    the gradient of the bias before gelu. A kernel may use `g` before or after it
    is rounded, and sum `dh` likewise.

    `zero-fuse-epilogues` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %dh, %db = nn.linear_gelu_grad %dy, %w, %h transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> (tensor<32x256xbf16>, tensor<256xbf16>)
    ```
  }];
  let work = "linearGeluGradFlops, nullptr, nullptr, linearProduct";
  let workspace = "productAndSums";
  let assemblyFormat = [{
    $dy `,` $w `,` $h (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LinearWeightGradOp : NN_SignedOp<"linear_weight_grad",
    [Floats<"dy", "r..,n">, Floats<"x", "r..,k">],
    [Flag<"transposed">],
    [Floats<"dw", "k,n", "", "~transposed">, Floats<"db", "n">],
    "parallel k n, sum r, linear dy",
    [DeclareOpInterfaceMethods<RowBlockOpInterface,
         ["hasRowBlocks", "buildRowBlock", "dropUnusedResults"]>]> {
  let summary = "Gradients of nn.linear for its weight and its bias";
  let text = [{
    `dw[k, n] = sum over rows of x[.., k] dy[.., n]`, and stored as [N, K] with
    `transposed`; `db[n]` is the sum of `dy[.., n]`. A kernel reads `dy` once for
    both.

    `zero-fuse-epilogues` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %dw, %db = nn.linear_weight_grad %dy, %x : (tensor<32x256xbf16>, tensor<32x784xbf16>) -> (tensor<784x256xbf16>, tensor<256xbf16>)
    ```
  }];
  let work = "linearWeightGradFlops, nullptr, nullptr, linearWeightProduct";
  let workspace = "productAndSums";
  let assemblyFormat = [{
    $dy `,` $x (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LinearCrossEntropyOp : NN_SignedOp<"linear_cross_entropy",
    [Floats<"x", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     Indices<"targets", "r..">, OptionalFloats<"bias", "n">],
    [Flag<"transposed">, Int<"chunk", ">=1">, Flag<"sum">,
     IgnoreIndex,
     OptionalInt<"classes">],
    [Statistics<"loss", "">],
    "combined n, sum r?sum"> {
  let summary = "nn.linear and nn.cross_entropy, some rows at a time";
  let text = [{
    The loss that `nn.cross_entropy` computes of what `nn.linear` computes. The
    logits of `chunk` rows at a time are in the kernel's workspace, with the
    element type of `x`, and nowhere else. `sum` and `classes` are those of
    `nn.cross_entropy`.

    `zero-fuse-cross-entropy` makes it, after differentiation.
  }];
  let details = [{
    Constraints
    - (C1) `classes` is in [1, N].

    ```mlir
    %loss = nn.linear_cross_entropy %x, %w, %y transposed chunk 32 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> tensor<f32>
    ```
  }];
  let work = [{linearLossFlops<1, 4>, linearLossBytes<false>, checkLinearLoss, linearLossProducts<1>}];
  let workspace = "linearLoss";
  let assemblyFormat = [{
    $x `,` $w `,` $targets (`bias` $bias^)? (`transposed` $transposed^)?
    `chunk` $chunk (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? (`classes` $classes^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def NN_LinearCrossEntropyGradOp : NN_SignedOp<"linear_cross_entropy_grad",
    [Statistics<"dloss", "">, Floats<"x", "r..,k">,
     Floats<"w", "k,n", "", "~transposed">, Indices<"targets", "r..">,
     OptionalFloats<"bias", "n">],
    [Flag<"transposed">, Int<"chunk", ">=1">, Flag<"sum">,
     IgnoreIndex,
     OptionalInt<"classes">],
    [Statistics<"loss", "">, Floats<"dx", "r..,k">,
     Floats<"dw", "k,n", "", "~transposed">, OptionalFloats<"db", "n">],
    "combined n, sum r?sum"> {
  let summary = "nn.linear_cross_entropy and its gradient at once";
  let text = [{
    `loss` is that of `nn.linear_cross_entropy`; `dx`, `dw` and `db` are its
    gradients times `dloss`. The logits of a chunk become their gradient in the
    workspace, with its element type, and are multiplied from there. `dw` and
    `db` are sums over the chunks in order, in f32, rounded once.

    `db` is there where `bias` is. `zero-fuse-cross-entropy` makes the operation,
    after differentiation.
  }];
  let details = [{
    Constraints
    - (C1) that of `nn.linear_cross_entropy`.
    - (C2) `db` is there where `bias` is.

    ```mlir
    %loss, %dx, %dw = nn.linear_cross_entropy_grad %dloss, %x, %w, %y transposed chunk 32 : (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>)
    ```
  }];
  let work = [{linearLossFlops<3, 8>, linearLossBytes<true>, checkLinearLoss, linearLossProducts<3>}];
  let workspace = "linearLoss";
  let assemblyFormat = [{
    $dloss `,` $x `,` $w `,` $targets (`bias` $bias^)?
    (`transposed` $transposed^)? `chunk` $chunk (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? (`classes` $classes^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LinearPartialCrossEntropyOp : NN_SignedOp<"linear_partial_cross_entropy",
    [Floats<"x", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     Indices<"targets", "r..">, Indices<"first", "">,
     OptionalFloats<"bias", "n">],
    [Flag<"transposed">, Int<"chunk", ">=1">, Flag<"sum">,
     IgnoreIndex,
     Int<"classes", ">=1">],
    [Statistics<"loss", "">, Statistics<"lse", "r..">],
    "combined n, sum r?sum"> {
  let summary = "nn.linear and nn.partial_cross_entropy, some rows at a time";
  let text = [{
    What `nn.partial_cross_entropy` computes of what `nn.linear` computes, with the
    logits of `chunk` rows at a time, as in `nn.linear_cross_entropy`.

    `zero-fuse-cross-entropy` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %loss, %lse = nn.linear_partial_cross_entropy %x, %w, %y, %first transposed chunk 32 classes 500 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>, tensor<i32>) -> (tensor<f32>, tensor<4x16xf32>)
    ```
  }];
  let work = [{linearLossFlops<1, 4>, linearLossBytes<false>, nullptr, linearLossProducts<1>}];
  let workspace = "linearLoss";
  let assemblyFormat = [{
    $x `,` $w `,` $targets `,` $first (`bias` $bias^)? (`transposed` $transposed^)?
    `chunk` $chunk (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? `classes` $classes
    attr-dict `:` functional-type(operands, results)
  }];
}

def NN_LinearPartialCrossEntropyGradOp
    : NN_SignedOp<"linear_partial_cross_entropy_grad",
    [Statistics<"dloss", "">, Statistics<"dlse", "r..">, Floats<"x", "r..,k">,
     Floats<"w", "k,n", "", "~transposed">, Indices<"targets", "r..">,
     Indices<"first", "">, Statistics<"lse", "r..">,
     OptionalFloats<"bias", "n">],
    [Flag<"transposed">, Int<"chunk", ">=1">, Flag<"sum">,
     IgnoreIndex,
     Int<"classes", ">=1">],
    [Floats<"dx", "r..,k">, Floats<"dw", "k,n", "", "~transposed">,
     OptionalFloats<"db", "n">],
    "combined n, sum r?sum"> {
  let summary = "The gradient of nn.linear_partial_cross_entropy";
  let text = [{
    The logits of a chunk are computed a second time, and become the gradient of
    `nn.partial_cross_entropy_grad` in the workspace, as in
    `nn.linear_cross_entropy_grad`. `dx` is what this range of classes adds to it.

    `zero-fuse-cross-entropy` makes it, after differentiation.
  }];
  let details = [{
    Constraints
    - (C1) `db` is there where `bias` is.

    ```mlir
    %dx, %dw = nn.linear_partial_cross_entropy_grad %dloss, %dlse, %x, %w, %y, %first, %lse transposed chunk 32 classes 500 : (tensor<f32>, tensor<4x16xf32>, tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>, tensor<i32>, tensor<4x16xf32>) -> (tensor<4x16x64xf32>, tensor<256x64xf32>)
    ```
  }];
  let work = [{linearLossFlops<3, 4>, linearLossBytes<true>, checkBiasGradient, linearLossProducts<3>}];
  let workspace = "linearLoss";
  let assemblyFormat = [{
    $dloss `,` $dlse `,` $x `,` $w `,` $targets `,` $first `,` $lse
    (`bias` $bias^)? (`transposed` $transposed^)? `chunk` $chunk (`sum` $sum^)?
    (`ignore_index` $ignore_index^)? `classes` $classes attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNFUSEDOPS_TD
