//===- NNShapeOps.td - reduce, broadcast, transpose, split ----------------===//
#ifndef ZERO_DIALECT_NN_NNSHAPEOPS_TD
#define ZERO_DIALECT_NN_NNSHAPEOPS_TD

include "zero/Dialect/NN/NNSignature.td"

def NN_BroadcastOp : NN_SignedOp<"broadcast",
    [Elements<"x", "r..">], [Ints<"dims", "[r]">], [Elements<"y", "..">], "",
    [NN_Differentiable, NN_Factors, BroadcastingOpInterface, CheapInFloat32]> {
  let summary = "Repeat a tensor along new dimensions";
  let text = [{
    Dimension i of `x` becomes dimension `dims[i]` of the result; the result's
    other dimensions are new, and the elements repeat along them.
  }];
  let details = [{
    Constraints
    - (C1) `dims` increases strictly and stays below the result's rank.
    - (C2) the result's size at `dims[i]` is that of `x` at i.

    ```mlir
    %y = nn.broadcast %x dims [2] : (tensor<64xf32>) -> tensor<4x16x64xf32>
    ```
  }];
  let work = "nullptr, nullptr, checkBroadcast";
  let assemblyFormat = [{
    $x `dims` $dims attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The dimensions of the result that are not in `dims`, increasing.
    ::llvm::SmallVector<int64_t> getNewDims();
  }];
}

def NN_ReduceOp : NN_SignedOp<"reduce",
    [Floats<"x", "..">],
    [Kind<"kind", NN_ReductionAttr, NN_Reduction>, Ints<"dims">],
    [Floats<"y", "..">], "",
    [NN_CombinedBySum, NN_Differentiable, NN_Epilogue, NN_Factors,
     CheapInFloat32],
    NN_DescribesKernel> {
  let summary = "Sum, maximum or mean over dimensions, which it removes";
  let text = [{
    The gradient of `max` goes to the first maximum in row-major order.
  }];
  let details = [{
    Constraints
    - (C1) `dims` increases strictly and stays within the rank of `x`.
    - (C2) `max` and `mean` are over at least one element.
    - (C3) the result has the remaining dimensions.

    ```mlir
    %s = nn.reduce sum %x dims [0, 1] : (tensor<4x16x64xf32>) -> tensor<64xf32>
    ```
  }];
  let work = [{[](Shapes s) -> uint64_t { return s.elements("x"); }, nullptr, checkReduce}];
  let workspace = "reduction";
  let assemblyFormat = [{
    `` $kind $x `dims` $dims attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The dimensions of `x` that are not in `dims`, increasing.
    ::llvm::SmallVector<int64_t> getKeptDims();
  }];
}

def NN_TransposeOp : NN_SignedOp<"transpose",
    [Elements<"x", "r..">], [Ints<"permutation", "[r]">],
    [Elements<"y", "..">], "", [NN_Differentiable, NN_Factors, NN_Move]> {
  let summary = "Permute dimensions";
  let text = [{
    Dimension i of the result is dimension `permutation[i]` of `x`.
  }];
  let details = [{
    Constraints
    - (C1) `permutation` is a permutation of the dimensions of `x`.
    - (C2) the result has the permuted shape.

    ```mlir
    %y = nn.transpose %x permutation [0, 2, 1] : (tensor<4x16x64xf32>) -> tensor<4x64x16xf32>
    ```
  }];
  let work = "nullptr, nullptr, checkTranspose";
  let assemblyFormat = [{
    $x `permutation` $permutation attr-dict
    `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
}

def NN_SplitOp : NN_SignedOp<"split",
    [Elements<"x", "o..dim,p,i..">],
    [Int<"dim">, Ints<"sizes">],
    [NN_Tensor<"pieces", "E", "..", "*", "", Variadic<NN_AnyTensor>>], "",
    [NN_Differentiable, NN_Factors, NN_Move]> {
  let summary = "Cut a tensor along a dimension into contiguous copies";
  let text = [{
    Result i has `sizes[i]` elements along `dim`, and follows result i - 1.
    Concatenating the results along `dim` gives `x` again.
  }];
  let details = [{
    Constraints
    - (C1) `sizes` are positive, at least one, and add up to the size of `dim`.
    - (C2) result i has the shape of `x` with `sizes[i]` at `dim`.

    ```mlir
    %q, %k, %v = nn.split %x dim 2 sizes [64, 64, 64] : (tensor<4x16x192xf32>) -> (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let work = "nullptr, nullptr, checkSplit";
  let assemblyFormat = [{
    $x `dim` $dim `sizes` $sizes attr-dict
    `:` functional-type(operands, results)
  }];
}

#endif // ZERO_DIALECT_NN_NNSHAPEOPS_TD
