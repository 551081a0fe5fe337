//===- NNAddedNormOps.td - norms with the addition beside them ------------===//
#ifndef ZERO_DIALECT_NN_NNADDEDNORMOPS_TD
#define ZERO_DIALECT_NN_NNADDEDNORMOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_AddLayerNormOp : NN_SignedOp<"add_layer_norm",
    [Floats<"x", "r..,n">, Floats<"residual", "r..,n">, Floats<"w", "n">,
     Floats<"b", "n">],
    [Real<"eps", ">=0">],
    [Floats<"y", "r..,n">, Statistics<"mean", "r..">, Statistics<"rstd", "r..">,
     Floats<"sum", "r..,n">],
    "parallel r", [OverwritesOperands]> {
  let summary = "A sum of two tensors and its nn.layer_norm in one kernel";
  let text = [{
    `sum = x + residual`, rounded to its type; the other results are those of
    `nn.layer_norm` of that.

    `zero-fuse-additions` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %y, %mean, %rstd, %sum = nn.add_layer_norm %x, %r, %w, %b eps 1.0e-5 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let work = "each<9>";
  let assemblyFormat = [{
    $x `,` $residual `,` $w `,` $b `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_AddLayerNormGradOp : NN_SignedOp<"add_layer_norm_grad",
    [Floats<"dy", "r..,n">, Floats<"dsum", "r..,n", "+">, Floats<"x", "r..,n">,
     Floats<"w", "n">, Statistics<"mean", "r..">, Statistics<"rstd", "r..">],
    [],
    [Floats<"dx", "r..,n">, Floats<"dw", "n">, Floats<"db", "n">],
    "sum r, linear dy", [OverwritesOperands]> {
  let summary = "Gradients of layer_norm, and a sum with that of its input";
  let text = [{
    The results of `nn.layer_norm_grad`, but for `dx`: that one, rounded to its
    type, and `dsum`, the gradient from what else reads the input, are added.

    `zero-fuse-additions` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %dx, %dw, %db = nn.add_layer_norm_grad %dy, %dsum, %x, %w, %mean, %rstd : (...) -> (...)
    ```
  }];
  let work = "each<15>";
  let workspace = "normGrad";
  let assemblyFormat = [{
    $dy `,` $dsum `,` $x `,` $w `,` $mean `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_AddRmsNormOp : NN_SignedOp<"add_rms_norm",
    [Floats<"x", "r..,n">, Floats<"residual", "r..,n">, Floats<"w", "n">],
    [Real<"eps", ">=0">],
    [Floats<"y", "r..,n">, Statistics<"rstd", "r..">, Floats<"sum", "r..,n">],
    "parallel r", [OverwritesOperands]> {
  let summary = "A sum of two tensors and its nn.rms_norm in one kernel";
  let text = [{
    `sum = x + residual`, rounded to its type; the other results are those of
    `nn.rms_norm` of that.

    `zero-fuse-additions` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %y, %rstd, %sum = nn.add_rms_norm %x, %r, %w eps 1.0e-6 : (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<64xf32>) -> (tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let work = "each<5>";
  let assemblyFormat = [{
    $x `,` $residual `,` $w `eps` $eps attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_AddRmsNormGradOp : NN_SignedOp<"add_rms_norm_grad",
    [Floats<"dy", "r..,n">, Floats<"dsum", "r..,n", "+">, Floats<"x", "r..,n">,
     Floats<"w", "n">, Statistics<"rstd", "r..">],
    [],
    [Floats<"dx", "r..,n">, Floats<"dw", "n">],
    "sum r, linear dy", [OverwritesOperands]> {
  let summary = "Gradients of rms_norm, and a sum with that of its input";
  let text = [{
    The results of `nn.rms_norm_grad`, but for `dx`: that one, rounded to its
    type, and `dsum`, the gradient from what else reads the input, are added.

    `zero-fuse-additions` makes it, after differentiation.
  }];
  let details = [{
    ```mlir
    %dx, %dw = nn.add_rms_norm_grad %dy, %dsum, %x, %w, %rstd : (...) -> (...)
    ```
  }];
  let work = "each<11>";
  let workspace = "normGrad";
  let assemblyFormat = [{
    $dy `,` $dsum `,` $x `,` $w `,` $rstd attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNADDEDNORMOPS_TD
