//===- NNConvolutionOps.td - convolutions and their gradients -------------===//
#ifndef ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD
#define ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD

include "zero/Dialect/NN/NNSignature.td"

// How windows with the dimensions k slide, in u groups.
defvar NN_Sliding = [Ints<"strides", "[k]>=1">, Ints<"padding", "[k]>=0">,
                     Ints<"dilations", "[k]>=1">, Int<"groups", "[u]">];

def NN_ConvOp : NN_SignedOp<"conv",
    [Floats<"x", "n,u.i,s..1-3">, Floats<"w", "u.m,i,k..s">],
    NN_Sliding,
    [Floats<"y", "n,u.m,o..s">],
    "parallel n u m, sum i, linear x w", [NN_Differentiable]> {
  let summary = "Convolve images with a window of weights";
  let text = [{
    `x` is [N, C, S..] with one to three spatial dimensions S, `w` is
    [F, C / groups, K..], PyTorch's layouts. Feature f of the result sees the
    channels of its group, of which each has F / groups features:
    `y[n, f, o..] = sum over c, k.. of x[n, c, o stride + k dilation - padding]
    w[f, c, k..]`; what lies outside of `x` is 0.
  }];
  let details = [{
    Constraints
    - (C1) O = (S + 2 padding - dilation (K - 1) - 1) / stride + 1, rounded down
      and at least 1.

    ```mlir
    %y = nn.conv %x, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x16x16xf32>
    ```
  }];
  let work = "convFlops, nullptr, checkConv<kX, kY>";
  let workspace = "convolution";
  let assemblyFormat = [{
    $x `,` $w `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups attr-dict `:` functional-type(operands, results)
  }];
}

def NN_ConvTransposeOp : NN_SignedOp<"conv_transpose",
    [Floats<"x", "n,u.m,o..1-3">, Floats<"w", "u.m,i,k..o">],
    NN_Sliding,
    [Floats<"y", "n,u.i,s..o">],
    "parallel n u i, sum m, linear x w", [NN_Differentiable]> {
  let summary = "Transposed convolution: the gradient of conv for its images";
  let text = [{
    The adjoint of `nn.conv` with the same weights and attributes: `x` is
    [N, F, O..], a gradient of the convolution's result, and `y` [N, C, S..] that
    of its images. The type of `y` says which of the sizes is meant that the
    convolution takes to O.
  }];
  let details = [{
    Constraints
    - (C1) `nn.conv` of S.. gives the sizes O.. of `x`.

    ```mlir
    %y = nn.conv_transpose %x, %w strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
    ```
  }];
  let work = "convFlops, nullptr, checkConv<kY, kX>";
  let workspace = "convolution";
  let assemblyFormat = [{
    $x `,` $w `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups attr-dict `:` functional-type(operands, results)
  }];
}

def NN_ConvWeightGradOp : NN_SignedOp<"conv_weight_grad",
    [Floats<"dy", "n,u.m,o..1-3">, Floats<"x", "n,u.i,s..o">],
    !listconcat(NN_Sliding, [Range<"rows">]),
    [Floats<"dw", "u.m@rows,i,k..o">],
    "parallel u m i, sum n, linear dy x", [RowBlockOpInterface]> {
  let summary = "Gradient of conv for its weights";
  let text = [{
    `dw[f, c, k..] = sum over n, o.. of dy[n, f, o..] x[n, c, o stride + k
    dilation - padding]`. `rows` gives a block [begin, end) of the features,
    bitwise equal to these features of the whole gradient.
  }];
  let details = [{
    Constraints
    - (C1) `nn.conv` of S.. gives the sizes O.. of `dy`.
    - (C2) `rows` are of a convolution with one group.

    ```mlir
    %dw = nn.conv_weight_grad %dy, %x strides [2, 2] padding [1, 1] dilations [1, 1] groups 1 : (tensor<8x16x16x16xf32>, tensor<8x3x32x32xf32>) -> tensor<16x3x3x3xf32>
    ```
  }];
  let work = "convFlops, nullptr, checkConv<kX, kDy>";
  let workspace = "convolution";
  let assemblyFormat = [{
    $dy `,` $x `strides` $strides `padding` $padding `dilations` $dilations
    `groups` $groups (`rows` $rows^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNCONVOLUTIONOPS_TD
