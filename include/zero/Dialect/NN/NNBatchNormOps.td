//===- NNBatchNormOps.td - normalisation over a micro-batch ---------------===//
#ifndef ZERO_DIALECT_NN_NNBATCHNORMOPS_TD
#define ZERO_DIALECT_NN_NNBATCHNORMOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_BatchNormOp : NN_KernelOp<"batch_norm", [
    NN_Differentiable, NN_Statistics]> {
  let summary = "Normalise each channel over the micro-batch of a rank";
  let description = [{
    `y = (x - mean) / sqrt(variance + eps) * w + b`; mean and (biased) variance
    of a channel are over dimension 0 and all dimensions after 1, as PyTorch's in
    training.

    Constraints
    - (C1) `x` has rank 2 or more.
    - (C2) `w` and `b` have the shape [C], C the size of dimension 1.
    - (C3) `w` and `b` have the element type of `x`.
    - (C4) `eps` is not negative.
    - (C5) `y` has the type of `x`; `mean` and `variance` have the shape [C] and
      the statistic type.

    ```mlir
    %y, %mean, %variance = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w, NN_FloatTensor:$b,
                       F64Attr:$eps);
  let results = (outs NN_FloatTensor:$y, NN_StatisticTensor:$mean,
                      NN_StatisticTensor:$variance);
  let assemblyFormat = [{
    $x `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_BatchNormGradOp : NN_KernelOp<"batch_norm_grad", [NN_Statistics]> {
  let summary = "Gradients of batch_norm for input, weight and bias";
  let description = [{
    Constraints
    - (C1) `x` has rank 2 or more.
    - (C2) `dy` has the type of `x`, `w` the shape [C] and the element type.
    - (C3) `mean` and `variance` have the types of the forward.
    - (C4) `eps` is not negative.
    - (C5) `dx` has the type of `x`; `dw` and `db` have that of `w`.

    ```mlir
    %dx, %dw, %db = nn.batch_norm_grad %dy, %x, %w, %mean, %variance eps 1.0e-5 : (...) -> (...)
    ```
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$x, NN_FloatTensor:$w,
                       NN_StatisticTensor:$mean, NN_StatisticTensor:$variance,
                       F64Attr:$eps);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dw,
                      NN_FloatTensor:$db);
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $mean `,` $variance `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNBATCHNORMOPS_TD
