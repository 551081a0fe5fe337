//===- NNNormalizationOps.td - normalisations and softmax -----------------===//
#ifndef ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD
#define ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_LayerNormOp : NN_KernelOp<"layer_norm", [
    NN_Addend, NN_Differentiable, NN_Statistics]> {
  let summary = "Normalise the last dimension to mean 0 and deviation 1";
  let description = [{
    `y = (x - mean) * rstd * w + b`, with `rstd = 1 / sqrt(variance + eps)`; mean
    and (biased) variance are over the last dimension, C elements.

    Constraints
    - (C1) `x` has rank 1 or more.
    - (C2) `w` and `b` have the shape [C].
    - (C3) `w` and `b` have the element type of `x`.
    - (C4) `eps` is not negative.
    - (C5) `y` has the type of `x`; `mean` and `rstd` have its leading dimensions
      and the statistic type.

    ```mlir
    %y, %mean, %rstd = nn.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w, NN_FloatTensor:$b,
                       F64Attr:$eps);
  let results = (outs NN_FloatTensor:$y, NN_StatisticTensor:$mean,
                      NN_StatisticTensor:$rstd);
  let assemblyFormat = [{
    $x `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_LayerNormGradOp : NN_KernelOp<"layer_norm_grad", [
    NN_Addend, NN_Statistics]> {
  let summary = "Gradients of layer_norm for input, weight and bias";
  let description = [{
    Constraints
    - (C1) `x` has rank 1 or more.
    - (C2) `dy` has the type of `x`, `w` the shape [C] and the element type.
    - (C3) `mean` and `rstd` have the types of the forward.
    - (C4) `dx` has the type of `x`; `dw` and `db` have that of `w`.

    ```mlir
    %dx, %dw, %db = nn.layer_norm_grad %dy, %x, %w, %mean, %rstd : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_StatisticTensor:$mean, NN_StatisticTensor:$rstd);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dw,
                      NN_FloatTensor:$db);
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $mean `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_RmsNormOp : NN_KernelOp<"rms_norm", [
    NN_Addend, NN_Differentiable, NN_Statistics]> {
  let summary = "Scale the last dimension to mean square 1";
  let description = [{
    `y = x * rstd * w`, with `rstd = 1 / sqrt(mean of x^2 + eps)` over the last
    dimension, C elements.

    Constraints
    - (C1) `x` has rank 1 or more.
    - (C2) `w` has the shape [C].
    - (C3) `w` has the element type of `x`.
    - (C4) `eps` is not negative.
    - (C5) `y` has the type of `x`; `rstd` has its leading dimensions and the
      statistic type.

    ```mlir
    %y, %rstd = nn.rms_norm %x, %w eps 1.0e-6 : (tensor<4x16x64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w, F64Attr:$eps);
  let results = (outs NN_FloatTensor:$y, NN_StatisticTensor:$rstd);
  let assemblyFormat = [{
    $x `,` $w `eps` $eps attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_RmsNormGradOp : NN_KernelOp<"rms_norm_grad", [
    NN_Addend, NN_Statistics]> {
  let summary = "Gradients of rms_norm for input and weight";
  let description = [{
    Constraints
    - (C1) `x` has rank 1 or more.
    - (C2) `dy` has the type of `x`, `w` the shape [C] and the element type.
    - (C3) `rstd` has the type of the forward.
    - (C4) `dx` has the type of `x`, `dw` that of `w`.

    ```mlir
    %dx, %dw = nn.rms_norm_grad %dy, %x, %w, %rstd : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_StatisticTensor:$rstd);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dw);
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_KernelOp<"softmax", [
    NN_Differentiable, CheapInFloat32, SameOperandsAndResultType]> {
  let summary = "Exponentials of the last dimension, divided by their sum";
  let description = [{
    The largest element is subtracted first, so that no exponential overflows.

    Constraints
    - (C1) `x` has rank 1 or more.

    ```mlir
    %p = nn.softmax %x : tensor<4x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def NN_SoftmaxGradOp : NN_KernelOp<"softmax_grad", [SameOperandsAndResultType]> {
  let summary = "Gradient of softmax, from its result";
  let description = [{
    `dx = y * (dy - sum over the last dimension of dy * y)`.

    Constraints
    - (C1) `y` has rank 1 or more.

    ```mlir
    %dx = nn.softmax_grad %dy, %p : tensor<4x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$y);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = "$dy `,` $y attr-dict `:` type($y)";
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD
