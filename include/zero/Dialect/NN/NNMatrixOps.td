//===- NNMatrixOps.td - matrix products -----------------------------------===//
#ifndef ZERO_DIALECT_NN_NNMATRIXOPS_TD
#define ZERO_DIALECT_NN_NNMATRIXOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_LinearOp : NN_KernelOp<"linear", [
    DeclareOpInterfaceMethods<AddendOpInterface, ["keepsBits"]>,
    NN_Differentiable, NN_Paddable]> {
  let summary = "Multiply the last dimension by a weight matrix, add a bias";
  let description = [{
    `y[.., n] = sum over k of x[.., k] w[k, n], plus b[n]`. With `transposed` the
    weight is stored as [N, K], PyTorch's layout.

    Constraints
    - (C1) `x` has rank 1 or more, `w` rank 2.
    - (C2) the last dimension of `x` is the weight's K.
    - (C3) `b` has the shape [N].
    - (C4) `w` and `b` have the element type of `x`.
    - (C5) the result has the leading dimensions of `x`, then N.

    ```mlir
    %h = nn.linear %x, %w bias %b : (tensor<32x784xf32>, tensor<784x250xf32>, tensor<250xf32>) -> tensor<32x250xf32>
    %l = nn.linear %h, %e transposed : (tensor<4x16x64xf32>, tensor<256x64xf32>) -> tensor<4x16x256xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                       Optional<NN_FloatTensor>:$bias, UnitAttr:$transposed);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    $x `,` $w (`bias` $bias^)? (`transposed` $transposed^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_MatmulOp : NN_KernelOp<"matmul", [
    NN_Differentiable, NN_Paddable, NN_RowBlocks]> {
  let summary = "Multiply matrices, one pair a batch";
  let description = [{
    `c[.., m, n] = sum over k of a[.., m, k] b[.., k, n]`. `a` is stored as
    [.., K, M] with `transpose_a`, `b` as [.., N, K] with `transpose_b`. `rows`
    gives a block [begin, end) of the rows of a matrix, with their bits in the
    whole product.

    Constraints
    - (C1) `a` and `b` have one rank, 2 or more.
    - (C2) their leading (batch) dimensions are equal.
    - (C3) their K are equal.
    - (C4) they have one element type.
    - (C5) the result is [batch.., M, N], or [end - begin, N] with `rows`.
    - (C6) `rows` is a range in [0, M] of matrices without a batch.

    ```mlir
    %c = nn.matmul %a, %b : (tensor<8x4x16xf32>, tensor<8x16x32xf32>) -> tensor<8x4x32xf32>
    %d = nn.matmul %x, %dy transpose_a : (tensor<64x784xf32>, tensor<64x250xf32>) -> tensor<784x250xf32>
    %e = nn.matmul %x, %dy transpose_a rows [0, 256] : (tensor<64x784xf32>, tensor<64x250xf32>) -> tensor<256x250xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$a, NN_FloatTensor:$b,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       OptionalAttr<DenseI64ArrayAttr>:$rows);
  let results = (outs NN_FloatTensor:$c);
  let assemblyFormat = [{
    $a `,` $b (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?
    (`rows` $rows^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNMATRIXOPS_TD
