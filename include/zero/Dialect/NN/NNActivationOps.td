//===- NNActivationOps.td - elementwise activations and dropout -----------===//
#ifndef ZERO_DIALECT_NN_NNACTIVATIONOPS_TD
#define ZERO_DIALECT_NN_NNACTIVATIONOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_GeluOp : NN_Op<"gelu", [
    NN_Differentiable, NN_Elementwise, NN_Epilogue, SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    `exact`: `x * (1 + erf(x / sqrt(2))) / 2`; `tanh`: the approximation
    `x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2`.

    ```mlir
    %a = nn.gelu tanh %h : tensor<32x250xf32>
    ```
  }];
  let arguments = (ins NN_GeluFormAttr:$form, NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = "`` $form $x attr-dict `:` type($x)";
}

def NN_GeluGradOp : NN_Op<"gelu_grad", [
    NN_Elementwise, NN_Epilogue, SameOperandsAndResultType]> {
  let summary = "Gradient of gelu: dy times the derivative at x";
  let description = [{
    ```mlir
    %dh = nn.gelu_grad tanh %da, %h : tensor<32x250xf32>
    ```
  }];
  let arguments = (ins NN_GeluFormAttr:$form, NN_FloatTensor:$dy,
                       NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = "`` $form $dy `,` $x attr-dict `:` type($x)";
}

def NN_SiluOp : NN_Op<"silu", [
    NN_Differentiable, NN_Elementwise, SameOperandsAndResultType]> {
  let summary = "Sigmoid linear unit: x / (1 + exp(-x))";
  let description = [{
    ```mlir
    %a = nn.silu %h : tensor<32x250xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def NN_SiluGradOp : NN_Op<"silu_grad", [
    NN_Elementwise, SameOperandsAndResultType]> {
  let summary = "Gradient of silu: dy times the derivative at x";
  let description = [{
    ```mlir
    %dh = nn.silu_grad %da, %h : tensor<32x250xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $x attr-dict `:` type($x)";
}

def NN_StopGradientOp : NN_Op<"stop_gradient", [
    NN_Differentiable, NN_Elementwise, NN_Factors, SameOperandsAndResultType]> {
  let summary = "The operand itself, through which no gradient flows";
  let description = [{
    What PyTorch's `detach` makes of a tensor, and a region without gradients of
    its results: a constant for the backward pass.

    ```mlir
    %c = nn.stop_gradient %x : tensor<32x250xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def NN_SiluMulOp : NN_SignedOp<"silu_mul",
    [Floats<"gate", "r..">, Floats<"up", "r..">],
    [],
    [Floats<"y", "r..">],
    "parallel r, linear up",
    [NN_Differentiable, OverwritesOperands, SameOperandsAndResultType]> {
  let summary = "silu(gate) * up: the activation of a gated layer (SwiGLU)";
  let text = [{
    One kernel, which rounds once: what `nn.silu` and a product round twice where
    they are not one kernel.
  }];
  let details = [{
    ```mlir
    %a = nn.silu_mul %gate, %up : tensor<32x250xbf16>
    ```
  }];
  let work = "each<5, kY>";
  let assemblyFormat = "$gate `,` $up attr-dict `:` type($gate)";
}

def NN_SiluMulGradOp : NN_SignedOp<"silu_mul_grad",
    [Floats<"dy", "r..">, Floats<"gate", "r..">, Floats<"up", "r..">],
    [],
    [Floats<"dgate", "r..">, Floats<"dup", "r..">],
    "parallel r, linear dy",
    [RowBlockOpInterface, OverwritesOperands, SameOperandsAndResultType]> {
  let summary = "Gradients of silu_mul for both of its operands";
  let text = [{
    With s = 1 / (1 + exp(-gate)): `dgate = dy * up * s * (1 + gate * (1 - s))`
    and `dup = dy * gate * s`. It has blocks of rows where there is a dimension.
  }];
  let details = [{
    ```mlir
    %dgate, %dup = nn.silu_mul_grad %dy, %gate, %up : tensor<32x250xbf16>
    ```
  }];
  let work = "each<11, kDy>";
  let assemblyFormat = "$dy `,` $gate `,` $up attr-dict `:` type($dy)";
}

// Which elements are dropped follows from their positions in the sample: of a part
// of a dimension that has to be told.
// Philox4x32-10 makes four numbers in about 60 integer operations.
def NN_DropoutOp : NN_SignedOp<"dropout",
    [Floats<"x", "samples,r..">],
    [Real<"p", ">=0<1">, DrawId<"id">],
    [Floats<"y", "samples,r..">],
    "combined r, linear x",
    [NN_Combined, NN_Differentiable, OverwritesOperands,
     SameOperandsAndResultType]> {
  let summary = "Zero elements at random, scale the others by 1 / (1 - p)";
  let text = [{
    Dimension 0 of `x` is the sample. Whether an element is kept is a function of
    the run's seed, the number of batches consumed, the sample's global index,
    `id` and the element's position within its sample, and of nothing else: ranks,
    stages and recomputation neither change nor repeat a mask. In evaluation the
    operation is the identity. The gradient is the same operation on `dy`.

    Two dropouts with one `id` have one mask: give each its own.
  }];
  let details = [{
    ```mlir
    %d = nn.dropout %x p 0.1 id 3 : tensor<4x16x64xf32>
    ```
  }];
  let work = "each<17>";
  let assemblyFormat = "$x `p` $p `id` $id attr-dict `:` type($x)";
}

def NN_PartialDropoutOp : NN_SignedOp<"partial_dropout",
    [Floats<"x", "o..dim,c,i..">, Indices<"first", "">],
    [Int<"dim", ">=1">, Int<"size", ">=1">, Real<"p", ">=0<1">,
     DrawId<"id">],
    [Floats<"y", "o..dim,c,i..">],
    "combined c, linear x",
    [NN_Differentiable, AllTypesMatch<["x", "y"]>]> {
  let summary = "nn.dropout of a part of a dimension";
  let text = [{
    `x` has the indices [first, first + C) of dimension `dim`, which has `size` of them.
    Of these the result is that of `nn.dropout` of the whole: an element's position is
    that within the whole sample.

    `zero-shard-model` makes it of `nn.dropout`.
  }];
  let details = [{
    ```mlir
    %d = nn.partial_dropout %x, %first dim 1 of 32 p 0.1 id 3 : (tensor<4x16x64xf32>, tensor<i32>) -> tensor<4x16x64xf32>
    ```
  }];
  let work = "each<17>";
  let assemblyFormat = [{
    $x `,` $first `dim` $dim `of` $size `p` $p `id` $id attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNACTIVATIONOPS_TD
