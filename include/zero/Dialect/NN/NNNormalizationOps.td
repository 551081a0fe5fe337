//===- NNNormalizationOps.td - normalisations and softmax -----------------===//
#ifndef ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD
#define ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_LayerNormOp : NN_SignedOp<"layer_norm",
    [Floats<"x", "r..,n">, Floats<"w", "n">, Floats<"b", "n">],
    [Real<"eps", ">=0">],
    [Floats<"y", "r..,n">, Statistics<"mean", "r..">, Statistics<"rstd", "r..">],
    "parallel r", [NN_Addend, NN_Differentiable]> {
  let summary = "Normalise the last dimension to mean 0 and deviation 1";
  let text = [{
    `y = (x - mean) * rstd * w + b`, with `rstd = 1 / sqrt(variance + eps)`; mean
    and (biased) variance are over the last dimension.
  }];
  let details = [{
    ```mlir
    %y, %mean, %rstd = nn.layer_norm %x, %w, %b eps 1.0e-5 : (tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>)
    ```
  }];
  let work = "each<8>";
  let assemblyFormat = [{
    $x `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_LayerNormGradOp : NN_SignedOp<"layer_norm_grad",
    [Floats<"dy", "r..,n">, Floats<"x", "r..,n">, Floats<"w", "n">,
     Statistics<"mean", "r..">, Statistics<"rstd", "r..">],
    [],
    [Floats<"dx", "r..,n">, Floats<"dw", "n">, Floats<"db", "n">],
    "sum r, linear dy", [NN_Addend]> {
  let summary = "Gradients of layer_norm for input, weight and bias";
  let details = [{
    ```mlir
    %dx, %dw, %db = nn.layer_norm_grad %dy, %x, %w, %mean, %rstd : (...) -> (...)
    ```
  }];
  let work = "each<14>";
  let workspace = "normGrad";
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $mean `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_RmsNormOp : NN_SignedOp<"rms_norm",
    [Floats<"x", "r..,n">, Floats<"w", "n">],
    [Real<"eps", ">=0">],
    [Floats<"y", "r..,n">, Statistics<"rstd", "r..">],
    "parallel r", [NN_Addend, NN_Differentiable]> {
  let summary = "Scale the last dimension to mean square 1";
  let text = [{
    `y = x * rstd * w`, with `rstd = 1 / sqrt(mean of x^2 + eps)` over the last
    dimension.
  }];
  let details = [{
    ```mlir
    %y, %rstd = nn.rms_norm %x, %w eps 1.0e-6 : (tensor<4x16x64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>)
    ```
  }];
  let work = "each<4>";
  let assemblyFormat = [{
    $x `,` $w `eps` $eps attr-dict `:` functional-type(operands, results)
  }];
}

def NN_RmsNormGradOp : NN_SignedOp<"rms_norm_grad",
    [Floats<"dy", "r..,n">, Floats<"x", "r..,n">, Floats<"w", "n">,
     Statistics<"rstd", "r..">],
    [],
    [Floats<"dx", "r..,n">, Floats<"dw", "n">],
    "sum r, linear dy", [NN_Addend]> {
  let summary = "Gradients of rms_norm for input and weight";
  let details = [{
    ```mlir
    %dx, %dw = nn.rms_norm_grad %dy, %x, %w, %rstd : (...) -> (...)
    ```
  }];
  let work = "each<10>";
  let workspace = "normGrad";
  let assemblyFormat = [{
    $dy `,` $x `,` $w `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_SoftmaxOp : NN_SignedOp<"softmax",
    [Floats<"x", "r..,n">],
    [],
    [Floats<"y", "r..,n">],
    "parallel r", [NN_Differentiable, CheapInFloat32, SameOperandsAndResultType]> {
  let summary = "Exponentials of the last dimension, divided by their sum";
  let text = [{
    The largest element is subtracted first, so that no exponential overflows.
  }];
  let details = [{
    ```mlir
    %p = nn.softmax %x : tensor<4x16x16xf32>
    ```
  }];
  let work = "each<5>";
  let assemblyFormat = [{
    $x attr-dict `:` type($x)
  }];
}

def NN_SoftmaxGradOp : NN_SignedOp<"softmax_grad",
    [Floats<"dy", "r..,n">, Floats<"y", "r..,n">],
    [],
    [Floats<"dx", "r..,n">],
    "parallel r, linear dy", [SameOperandsAndResultType]> {
  let summary = "Gradient of softmax, from its result";
  let text = [{
    `dx = y * (dy - sum over the last dimension of dy * y)`.
  }];
  let details = [{
    ```mlir
    %dx = nn.softmax_grad %dy, %p : tensor<4x16x16xf32>
    ```
  }];
  let work = "each<4, kY>";
  let assemblyFormat = [{
    $dy `,` $y attr-dict `:` type($y)
  }];
}

#endif // ZERO_DIALECT_NN_NNNORMALIZATIONOPS_TD
