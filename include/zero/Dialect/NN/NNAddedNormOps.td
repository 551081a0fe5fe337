//===- NNAddedNormOps.td - norms with the addition beside them ------------===//
#ifndef ZERO_DIALECT_NN_NNADDEDNORMOPS_TD
#define ZERO_DIALECT_NN_NNADDEDNORMOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_AddLayerNormOp : NN_KernelOp<"add_layer_norm", [
    NN_Statistics, OverwritesOperands]> {
  let summary = "A sum of two tensors and its nn.layer_norm in one kernel";
  let description = [{
    `sum = x + residual`, rounded to its type; the other results are those of
    `nn.layer_norm` of that.

    `zero-fuse-additions` makes it, after differentiation.

    Constraints
    - (C1) to (C5) those of `nn.layer_norm`.
    - (C6) `residual` and `sum` have the type of `x`.

    ```mlir
    %y, %mean, %rstd, %sum = nn.add_layer_norm %x, %r, %w, %b eps 1.0e-5 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$residual,
                       NN_FloatTensor:$w, NN_FloatTensor:$b, F64Attr:$eps);
  let results = (outs NN_FloatTensor:$y, NN_StatisticTensor:$mean,
                      NN_StatisticTensor:$rstd, NN_FloatTensor:$sum);
  let assemblyFormat = [{
    $x `,` $residual `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AddLayerNormGradOp : NN_KernelOp<"add_layer_norm_grad", [
    NN_Statistics, OverwritesOperands]> {
  let summary = "Gradients of layer_norm, and a sum with that of its input";
  let description = [{
    The results of `nn.layer_norm_grad`, but for `dx`: that one, rounded to its
    type, and `dsum`, the gradient from what else reads the input, are added.

    `zero-fuse-additions` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.layer_norm_grad`.
    - (C5) `dsum` has the type of `x`.

    ```mlir
    %dx, %dw, %db = nn.add_layer_norm_grad %dy, %dsum, %x, %w, %mean, %rstd : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$dsum,
                       NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_StatisticTensor:$mean, NN_StatisticTensor:$rstd);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dw,
                      NN_FloatTensor:$db);
  let assemblyFormat = [{
    $dy `,` $dsum `,` $x `,` $w `,` $mean `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AddRmsNormOp : NN_KernelOp<"add_rms_norm", [
    NN_Statistics, OverwritesOperands]> {
  let summary = "A sum of two tensors and its nn.rms_norm in one kernel";
  let description = [{
    `sum = x + residual`, rounded to its type; the other results are those of
    `nn.rms_norm` of that.

    `zero-fuse-additions` makes it, after differentiation.

    Constraints
    - (C1) to (C5) those of `nn.rms_norm`.
    - (C6) `residual` and `sum` have the type of `x`.

    ```mlir
    %y, %rstd, %sum = nn.add_rms_norm %x, %r, %w eps 1.0e-6 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$residual,
                       NN_FloatTensor:$w, F64Attr:$eps);
  let results = (outs NN_FloatTensor:$y, NN_StatisticTensor:$rstd,
                      NN_FloatTensor:$sum);
  let assemblyFormat = [{
    $x `,` $residual `,` $w `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AddRmsNormGradOp : NN_KernelOp<"add_rms_norm_grad", [
    NN_Statistics, OverwritesOperands]> {
  let summary = "Gradients of rms_norm, and a sum with that of its input";
  let description = [{
    The results of `nn.rms_norm_grad`, but for `dx`: that one, rounded to its
    type, and `dsum`, the gradient from what else reads the input, are added.

    `zero-fuse-additions` makes it, after differentiation.

    Constraints
    - (C1) to (C4) those of `nn.rms_norm_grad`.
    - (C5) `dsum` has the type of `x`.

    ```mlir
    %dx, %dw = nn.add_rms_norm_grad %dy, %dsum, %x, %w, %rstd : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$dsum,
                       NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_StatisticTensor:$rstd);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dw);
  let assemblyFormat = [{
    $dy `,` $dsum `,` $x `,` $w `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNADDEDNORMOPS_TD
