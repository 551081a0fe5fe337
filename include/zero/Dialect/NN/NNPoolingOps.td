//===- NNPoolingOps.td - maxima and means of windows ----------------------===//
#ifndef ZERO_DIALECT_NN_NNPOOLINGOPS_TD
#define ZERO_DIALECT_NN_NNPOOLINGOPS_TD

include "zero/Dialect/NN/NNSignature.td"

// How windows slide over images with the dimensions s.
defvar NN_PoolWindows = [Ints<"window", "[s]>=1">, Ints<"strides", "[s]>=1">,
                         Ints<"padding", "[s]>=0">];

def NN_MaxPoolOp : NN_SignedOp<"max_pool",
    [Floats<"x", "n,c,s..1-3">],
    !listconcat(NN_PoolWindows, [Ints<"dilations", "[s]>=1">]),
    [Floats<"y", "n,c,o..s">],
    "parallel n c", [NN_Differentiable, CheapInFloat32]> {
  let summary = "The maxima of windows of images";
  let text = [{
    `x` is [N, C, S..] with one to three spatial dimensions. Window o of a
    dimension has the elements o stride + k dilation - padding, for k from 0 to
    `window` - 1, that lie in `x`. A NaN is a maximum. The gradient of a window
    goes to its first maximum in row-major order.
  }];
  let details = [{
    Constraints
    - (C1) padding is at most half of `window`.
    - (C2) O = (S + 2 padding - dilation (window - 1) - 1) / stride + 1, rounded
      down or up and at least 1; rounded up, the last window begins before the
      padding at the end.

    ```mlir
    %y = nn.max_pool %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let work = "poolFlops<kY>, nullptr, checkPool<kX, kY>";
  let assemblyFormat = [{
    $x `window` $window `strides` $strides `padding` $padding
    `dilations` $dilations attr-dict `:` functional-type(operands, results)
  }];
}

def NN_MaxPoolGradOp : NN_SignedOp<"max_pool_grad",
    [Floats<"dy", "n,c,o..1-3">, Floats<"x", "n,c,s..o">],
    !listconcat(NN_PoolWindows, [Ints<"dilations", "[s]>=1">]),
    [Floats<"dx", "n,c,s..">],
    "parallel n c, linear dy"> {
  let summary = "Gradient of max_pool, from its operand";
  let text = [{
    Adds each element of `dy` to where its window has its first maximum.
  }];
  let details = [{
    Constraints
    - (C1) and (C2) those of `nn.max_pool`.

    ```mlir
    %dx = nn.max_pool_grad %dy, %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<8x16x16x16xf32>, tensor<8x16x32x32xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let work = "poolFlops<kDy>, nullptr, checkPool<kX, kDy>";
  let assemblyFormat = [{
    $dy `,` $x `window` $window `strides` $strides `padding` $padding
    `dilations` $dilations attr-dict `:` functional-type(operands, results)
  }];
}

def NN_AvgPoolOp : NN_SignedOp<"avg_pool",
    [Floats<"x", "n,c,s..1-3">],
    !listconcat(NN_PoolWindows, [Flag<"count_padding">]),
    [Floats<"y", "n,c,o..s">],
    "parallel n c, linear x", [NN_Differentiable, CheapInFloat32]> {
  let summary = "The means of windows of images";
  let text = [{
    The sums of the windows of `nn.max_pool` without dilation, divided by the
    number of their elements that lie in `x`, or, with `count_padding`, in `x` or
    its padding.
  }];
  let details = [{
    Constraints
    - (C1) and (C2) those of `nn.max_pool`.

    ```mlir
    %y = nn.avg_pool %x window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let work = "poolFlops<kY>, nullptr, checkPool<kX, kY>";
  let assemblyFormat = [{
    $x `window` $window `strides` $strides `padding` $padding
    (`count_padding` $count_padding^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_AvgPoolGradOp : NN_SignedOp<"avg_pool_grad",
    [Floats<"dy", "n,c,o..1-3">],
    !listconcat(NN_PoolWindows, [Flag<"count_padding">]),
    [Floats<"dx", "n,c,s..o">],
    "parallel n c, linear dy", [NN_Differentiable]> {
  let summary = "Gradient of avg_pool";
  let text = [{
    Spreads each element of `dy` evenly over its window.
  }];
  let details = [{
    Constraints
    - (C1) and (C2) those of `nn.max_pool`.

    ```mlir
    %dx = nn.avg_pool_grad %dy window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<8x16x16x16xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let work = "poolFlops<kDy>, nullptr, checkPool<kDx, kDy>";
  let assemblyFormat = [{
    $dy `window` $window `strides` $strides `padding` $padding
    (`count_padding` $count_padding^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNPOOLINGOPS_TD
