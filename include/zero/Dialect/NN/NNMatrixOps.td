//===- NNMatrixOps.td - matrix products -----------------------------------===//
#ifndef ZERO_DIALECT_NN_NNMATRIXOPS_TD
#define ZERO_DIALECT_NN_NNMATRIXOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_LinearOp : NN_SignedOp<"linear",
    [Floats<"x", "r..,k">, Floats<"w", "k,n", "", "~transposed">,
     OptionalFloats<"bias", "n", "+">],
    [Flag<"transposed">],
    [Floats<"y", "r..,n">],
    "parallel r n, sum k, linear x w",
    [DeclareOpInterfaceMethods<AddendOpInterface, ["keepsBits"]>,
     NN_Differentiable, NN_GainsFromPadding]> {
  let summary = "Multiply the last dimension by a weight matrix, add a bias";
  let text = [{
    `y[.., n] = sum over k of x[.., k] w[k, n], plus b[n]`. With `transposed` the
    weight is stored as [N, K], PyTorch's layout.
  }];
  let details = [{
    ```mlir
    %h = nn.linear %x, %w bias %b : (tensor<32x784xf32>, tensor<784x250xf32>, tensor<250xf32>) -> tensor<32x250xf32>
    %l = nn.linear %h, %e transposed : (tensor<4x16x64xf32>, tensor<256x64xf32>) -> tensor<4x16x256xf32>
    ```
  }];
  let work = "linearFlops, nullptr, nullptr, linearProduct";
  let workspace = "product";
  let hasFolder = 1;
  let assemblyFormat = [{
    $x `,` $w (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def NN_MatmulOp : NN_SignedOp<"matmul",
    [Floats<"a", "b..,m,k", "", "~transpose_a">,
     Floats<"b", "b..,k,n", "", "~transpose_b">],
    [Flag<"transpose_a">, Flag<"transpose_b">, Range<"rows">],
    [Floats<"c", "b..,m@rows,n">],
    "parallel b m n, sum k, linear a b",
    [NN_Differentiable, NN_GainsFromPadding, RowBlockOpInterface]> {
  let summary = "Multiply matrices, one pair a batch";
  let text = [{
    `c[.., m, n] = sum over k of a[.., m, k] b[.., k, n]`. `a` is stored as [..,
    K, M] with `transpose_a`, `b` as [.., N, K] with `transpose_b`. `rows` gives
    a block [begin, end) of the rows of a matrix, which is no batch, bitwise
    equal to these rows of the whole product.
  }];
  let details = [{
    ```mlir
    %c = nn.matmul %a, %b : (tensor<8x4x16xf32>, tensor<8x16x32xf32>) -> tensor<8x4x32xf32>
    %d = nn.matmul %x, %dy transpose_a : (tensor<64x784xf32>, tensor<64x250xf32>) -> tensor<784x250xf32>
    %e = nn.matmul %x, %dy transpose_a rows [0, 256] : (tensor<64x784xf32>, tensor<64x250xf32>) -> tensor<256x250xf32>
    ```
  }];
  let work = "matmulFlops, matmulBytes, nullptr, matmulProduct";
  let workspace = "product";
  let assemblyFormat = [{
    $a `,` $b (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?
    (`rows` $rows^)? attr-dict `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNMATRIXOPS_TD
