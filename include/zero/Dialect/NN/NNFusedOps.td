//===- NNFusedOps.td - matrix products with what follows them -------------===//
#ifndef ZERO_DIALECT_NN_NNFUSEDOPS_TD
#define ZERO_DIALECT_NN_NNFUSEDOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_LinearAddOp : NN_KernelOp<"linear_add"> {
  let summary = "nn.linear and an addition in one kernel";
  let description = [{
    `y = h + c`, where `h` is what `nn.linear` computes of the other operands. A
    kernel may add before or after `h` is rounded.

    `zero-fuse-additions` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.linear`.
    - (C5) `y` has the leading dimensions of `x`, then N.
    - (C6) `c` has the type of `y`.

    ```mlir
    %y = nn.linear_add %x, %w, %c transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> tensor<32x256xbf16>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w, NN_FloatTensor:$c,
                       Optional<NN_FloatTensor>:$bias, UnitAttr:$transposed);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $w `,` $c (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LinearGeluOp : NN_KernelOp<"linear_gelu"> {
  let summary = "nn.linear and the tanh form of nn.gelu in one kernel";
  let description = [{
    `y = gelu(h)`, where `h` is what `nn.linear` computes of the same operands.
    `h` is a second result where something else reads it, as the gradient does.
    A kernel may take gelu of `h` before or after it is rounded.

    `zero-fuse-epilogues` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.linear`.
    - (C5) `y` has the leading dimensions of `x`, then N.
    - (C6) `h` has the type of `y`.

    ```mlir
    %y, %h = nn.linear_gelu %x, %w bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> (tensor<32x256xbf16>, tensor<32x256xbf16>)
    %z = nn.linear_gelu %x, %w bias %b : (tensor<32x784xbf16>, tensor<784x256xbf16>, tensor<256xbf16>) -> tensor<32x256xbf16>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                       Optional<NN_FloatTensor>:$bias, UnitAttr:$transposed);
  let results = (outs NN_FloatTensor:$y, Optional<NN_FloatTensor>:$h);
  let assemblyFormat = [{
    $x `,` $w (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LinearGeluGradOp : NN_KernelOp<"linear_gelu_grad"> {
  let summary = "A matrix product times the derivative of gelu, in one kernel";
  let description = [{
    `dh = g * gelu'(h)` in the tanh form, where `g` is what `nn.linear` computes
    of `dy` and `w`: the gradient of `nn.linear` after gelu, on its way through
    gelu. `db[n]`, a second result where it is wanted, is the sum of `dh[.., n]`,
    the gradient of the bias before gelu. A kernel may use `g` before or after it
    is rounded, and sum `dh` likewise.

    `zero-fuse-epilogues` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.linear`, with `dy` for `x` and no bias.
    - (C5) `dh` has the leading dimensions of `dy`, then N.
    - (C6) `h` has the type of `dh`.
    - (C7) `db` has the shape [N] and the element type of `dh`.

    ```mlir
    %dh, %db = nn.linear_gelu_grad %dy, %w, %h transposed : (tensor<32x784xbf16>, tensor<256x784xbf16>, tensor<32x256xbf16>) -> (tensor<32x256xbf16>, tensor<256xbf16>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$w,
                       NN_FloatTensor:$h, UnitAttr:$transposed);
  let results = (outs NN_FloatTensor:$dh, Optional<NN_FloatTensor>:$db);
  let assemblyFormat = [{
    $dy `,` $w `,` $h (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LinearWeightGradOp : NN_KernelOp<"linear_weight_grad", [
    DeclareOpInterfaceMethods<RowBlockOpInterface, ["dropUnusedResults"]>]> {
  let summary = "Gradients of nn.linear for its weight and its bias";
  let description = [{
    `dw[k, n] = sum over rows of x[.., k] dy[.., n]`, and stored as [N, K] with
    `transposed`; `db[n]` is the sum of `dy[.., n]`. A kernel reads `dy` once for
    both.

    `zero-fuse-epilogues` makes it, after differentiation.

    Constraints
    - (C1) `dy` and `x` have rank 1 or more.
    - (C2) their leading dimensions are equal.
    - (C3) they have one element type.
    - (C4) `dw` is [K, N], or [N, K] with `transposed`, of their element type.
    - (C5) `db` has the shape [N] and their element type.

    ```mlir
    %dw, %db = nn.linear_weight_grad %dy, %x : (tensor<32x256xbf16>, tensor<32x784xbf16>) -> (tensor<784x256xbf16>, tensor<256xbf16>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x,
                       UnitAttr:$transposed);
  let results = (outs NN_FloatTensor:$dw, NN_FloatTensor:$db);
  let assemblyFormat = [{
    $dy `,` $x (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LinearCrossEntropyOp : NN_KernelOp<"linear_cross_entropy"> {
  let summary = "nn.linear and nn.cross_entropy, some rows at a time";
  let description = [{
    The loss that `nn.cross_entropy` computes of what `nn.linear` computes. The
    logits of `chunk` rows at a time are in the kernel's workspace, with the
    element type of `x`, and nowhere else. `classes` is that of `nn.cross_entropy`.

    `zero-fuse-cross-entropy` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.linear`.
    - (C5) `targets` has the leading dimensions of `x`.
    - (C6) `loss` is a scalar of the statistic type.
    - (C7) `chunk` is 1 or more.
    - (C8) `classes` is in [1, N].

    ```mlir
    %loss = nn.linear_cross_entropy %x, %w, %y transposed chunk 32 : (tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_IndexTensor:$targets, Optional<NN_FloatTensor>:$bias,
                       UnitAttr:$transposed, I64Attr:$chunk,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_StatisticTensor:$loss);
  let assemblyFormat = [{
    $x `,` $w `,` $targets (`bias` $bias^)? (`transposed` $transposed^)?
    `chunk` $chunk (`ignore_index` $ignore_index^)? (`classes` $classes^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LinearCrossEntropyGradOp : NN_KernelOp<"linear_cross_entropy_grad"> {
  let summary = "nn.linear_cross_entropy and its gradient at once";
  let description = [{
    `loss` is that of `nn.linear_cross_entropy`; `dx`, `dw` and `db` are its
    gradients times `dloss`. The logits of a chunk become their gradient in the
    workspace, with its element type, and are multiplied from there. `dw` and
    `db` are sums over the chunks in order, in f32, rounded once.

    `db` is there where `bias` is. `zero-fuse-cross-entropy` makes the operation,
    after differentiation.

    Constraints
    - (C1) to (C8) those of `nn.linear_cross_entropy`.
    - (C9) `dloss` has the type of `loss`.
    - (C10) `dx` has the type of `x`, `dw` that of `w`, `db` that of `bias`.

    ```mlir
    %loss, %dx, %dw = nn.linear_cross_entropy_grad %dloss, %x, %w, %y transposed chunk 32 : (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>, tensor<4x16xi32>) -> (tensor<f32>, tensor<4x16x64xf32>, tensor<256x64xf32>)
    ```
  }];
  let arguments = (ins NN_StatisticTensor:$dloss, NN_FloatTensor:$x,
                       NN_FloatTensor:$w, NN_IndexTensor:$targets,
                       Optional<NN_FloatTensor>:$bias, UnitAttr:$transposed,
                       I64Attr:$chunk,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       OptionalAttr<I64Attr>:$classes);
  let results = (outs NN_StatisticTensor:$loss, NN_FloatTensor:$dx,
                      NN_FloatTensor:$dw, Optional<NN_FloatTensor>:$db);
  let assemblyFormat = [{
    $dloss `,` $x `,` $w `,` $targets (`bias` $bias^)?
    (`transposed` $transposed^)? `chunk` $chunk
    (`ignore_index` $ignore_index^)? (`classes` $classes^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNFUSEDOPS_TD
