//===- NNConvolutionOps.td - convolutions and their gradients -------------===//
#ifndef ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD
#define ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_ConvOp : NN_KernelOp<"conv", [NN_Differentiable]> {
  let summary = "Convolve images with a window of weights";
  let description = [{
    `x` is [N, C, S..] with one to three spatial dimensions S, `w` is
    [F, C / groups, K..], PyTorch's layouts. Feature f of the result sees the
    channels of its group, of which each has F / groups features:
    `y[n, f, o..] = sum over c, k.. of x[n, c, o stride + k dilation - padding]
    w[f, c, k..]`; what lies outside of `x` is 0.

    Constraints
    - (C1) `x` has rank 3 to 5, and `w` the rank of `x`.
    - (C2) `strides`, `padding` and `dilations` have one entry a spatial
      dimension; strides and dilations are positive, padding is not negative.
    - (C3) `groups` is positive and divides F.
    - (C4) `w` has C / groups channels.
    - (C5) `w` has the element type of `x`.
    - (C6) `y` is [N, F, O..] with O = (S + 2 padding - dilation (K - 1) - 1) /
      stride + 1, rounded down and at least 1, and that element type.

    ```mlir
    %y = nn.conv %x, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $w `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ConvTransposeOp : NN_KernelOp<"conv_transpose", [NN_Differentiable]> {
  let summary = "Transposed convolution: the gradient of conv for its images";
  let description = [{
    The adjoint of `nn.conv` with the same weights and attributes: `x` is
    [N, F, O..], a gradient of the convolution's result, and `y` [N, C, S..] that
    of its images. The type of `y` says which of the sizes is meant that the
    convolution takes to O.

    Constraints
    - (C1) to (C3) those of `nn.conv`.
    - (C4) `x` has the F features of `w`.
    - (C5) `w` has the element type of `x`.
    - (C6) `y` is [N, C, S..] of that element type, where C is `groups` times the
      channels of `w`, and `nn.conv` of S.. gives the sizes of `x`.

    ```mlir
    %y = nn.conv_transpose %x, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $w `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ConvWeightGradOp : NN_KernelOp<"conv_weight_grad", [NN_RowBlocks]> {
  let summary = "Gradient of conv for its weights";
  let description = [{
    `dw[f, c, k..] = sum over n, o.. of dy[n, f, o..]
    x[n, c, o stride + k dilation - padding]`. `rows` gives a block [begin, end)
    of the features, with their bits in the whole gradient.

    Constraints
    - (C1) to (C3) those of `nn.conv`, with `dw` for `w`.
    - (C4) `groups` times the channels of `dw` are those of `x`.
    - (C5) `dy` is what `nn.conv` gives of `x` and weights like all of `dw`.
    - (C6) `dw` has F rows, or end - begin with `rows`, and the element type of
      `x`.
    - (C7) `rows` is a range in [0, F], of a convolution with one group.

    ```mlir
    %dw = nn.conv_weight_grad %dy, %x strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xf32>, tensor<8x3x32x32xf32>) -> tensor<16x3x3x3xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padding,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       OptionalAttr<DenseI64ArrayAttr>:$rows);
  let results = (outs NN_FloatTensor:$dw);
  let assemblyFormat = [{
    $dy `,` $x `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD
