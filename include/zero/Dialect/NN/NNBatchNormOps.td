//===- NNBatchNormOps.td - normalisation over a micro-batch ---------------===//
#ifndef ZERO_DIALECT_NN_NNBATCHNORMOPS_TD
#define ZERO_DIALECT_NN_NNBATCHNORMOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_BatchNormOp : NN_SignedOp<"batch_norm",
    [Floats<"x", "n,c,s..">, Floats<"w", "c">, Floats<"b", "c">],
    [Real<"eps", ">=0">],
    [Floats<"y", "n,c,s..">, Statistics<"mean", "c">,
     Statistics<"variance", "c">],
    "parallel c", [NN_Differentiable]> {
  let summary = "Normalise each channel over the micro-batch of a rank";
  let text = [{
    `y = (x - mean) / sqrt(variance + eps) * w + b`; mean and (biased) variance
    of a channel are over dimension 0 and all dimensions after 1, as PyTorch's in
    training.
  }];
  let details = [{
    ```mlir
    %y, %mean, %variance = nn.batch_norm %x, %w, %b eps 1.0e-5 : (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let work = "each<8>";
  let assemblyFormat = [{
    $x `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_BatchNormGradOp : NN_SignedOp<"batch_norm_grad",
    [Floats<"dy", "n,c,s..">, Floats<"x", "n,c,s..">, Floats<"w", "c">,
     Statistics<"mean", "c">, Statistics<"variance", "c">],
    [Real<"eps", ">=0">],
    [Floats<"dx", "n,c,s..">, Floats<"dw", "c">, Floats<"db", "c">],
    "parallel c, linear dy"> {
  let summary = "Gradients of batch_norm for input, weight and bias";
  let details = [{
    ```mlir
    %dx, %dw, %db = nn.batch_norm_grad %dy, %x, %w, %mean, %variance eps 1.0e-5 : (...) -> (...)
    ```
  }];
  let work = "each<12>";
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $mean `,` $variance `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNBATCHNORMOPS_TD
