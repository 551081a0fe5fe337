//===- NNPoolingOps.td - maxima and means of windows ----------------------===//
#ifndef ZERO_DIALECT_NN_NNPOOLINGOPS_TD
#define ZERO_DIALECT_NN_NNPOOLINGOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_MaxPoolOp : NN_KernelOp<"max_pool", [NN_Differentiable]> {
  let summary = "The maxima of windows of images";
  let description = [{
    `x` is [N, C, S..] with one to three spatial dimensions. Window o of a
    dimension has the elements o stride + k dilation - padding, for k from 0 to
    `window` - 1, that lie in `x`. A NaN is a maximum. The gradient of a window
    goes to its first maximum in row-major order.

    Constraints
    - (C1) `x` has rank 3 to 5.
    - (C2) `window`, `strides`, `padding` and `dilations` have one entry a spatial
      dimension; all but padding are positive, padding is not negative.
    - (C3) padding is at most half of `window`.
    - (C4) `y` is [N, C, O..] with O = (S + 2 padding - dilation (window - 1) - 1)
      / stride + 1, rounded down or up and at least 1, and the element type of
      `x`; rounded up, the last window begins before the padding at the end.

    ```mlir
    %y = nn.max_pool %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `window` $window `strides` $strides `padding` $padding
    `dilations` $dilations attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_MaxPoolGradOp : NN_KernelOp<"max_pool_grad"> {
  let summary = "Gradient of max_pool, from its operand";
  let description = [{
    Adds each element of `dy` to where its window has its first maximum.

    Constraints
    - (C1) to (C3) those of `nn.max_pool`.
    - (C4) `dy` has the type of a result of `nn.max_pool` of `x`.
    - (C5) `dx` has the type of `x`.

    ```mlir
    %dx = nn.max_pool_grad %dy, %x window [3, 3] strides [2, 2] padding [1, 1] dilations [1, 1] : (tensor<8x16x16x16xf32>, tensor<8x16x32x32xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x,
                       DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = [{
    $dy `,` $x `window` $window `strides` $strides `padding` $padding
    `dilations` $dilations attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AvgPoolOp : NN_KernelOp<"avg_pool", [NN_Differentiable]> {
  let summary = "The means of windows of images";
  let description = [{
    The sums of the windows of `nn.max_pool` without dilation, divided by the
    number of their elements that lie in `x`, or, with `count_padding`, in `x` or
    its padding.

    Constraints
    - (C1) `x` has rank 3 to 5.
    - (C2) `window`, `strides` and `padding` have one entry a spatial dimension;
      window and strides are positive, padding is not negative.
    - (C3) padding is at most half of `window`.
    - (C4) `y` is [N, C, O..], as for `nn.max_pool`.

    ```mlir
    %y = nn.avg_pool %x window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<8x16x32x32xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       UnitAttr:$count_padding);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `window` $window `strides` $strides `padding` $padding
    (`count_padding` $count_padding^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AvgPoolGradOp : NN_KernelOp<"avg_pool_grad", [NN_Differentiable]> {
  let summary = "Gradient of avg_pool";
  let description = [{
    Spreads each element of `dy` evenly over its window.

    Constraints
    - (C1) to (C3) those of `nn.avg_pool`, with `dx` for `x`.
    - (C4) `dy` has the type of a result of `nn.avg_pool` of what is like `dx`.

    ```mlir
    %dx = nn.avg_pool_grad %dy window [3, 3] strides [2, 2] padding [1, 1] count_padding : (tensor<8x16x16x16xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, DenseI64ArrayAttr:$window,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       UnitAttr:$count_padding);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = [{
    $dy `window` $window `strides` $strides `padding` $padding
    (`count_padding` $count_padding^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNPOOLINGOPS_TD
