//===- NNShapeOps.td - reduce, broadcast, transpose, split ----------------===//
#ifndef ZERO_DIALECT_NN_NNSHAPEOPS_TD
#define ZERO_DIALECT_NN_NNSHAPEOPS_TD

include "zero/Dialect/NN/NNBase.td"

def NN_BroadcastOp : NN_KernelOp<"broadcast", [
    NN_Differentiable, NN_Factors, BroadcastingOpInterface, CheapInFloat32]> {
  let summary = "Repeat a tensor along new dimensions";
  let description = [{
    Dimension i of `x` becomes dimension `dims[i]` of the result; the result's
    other dimensions are new, and the elements repeat along them.

    Constraints
    - (C1) `dims` has one entry a dimension of `x`.
    - (C2) `dims` increases strictly and stays below the result's rank.
    - (C3) the result's size at `dims[i]` is that of `x` at i.
    - (C4) the result has the element type of `x`.

    ```mlir
    %y = nn.broadcast %x dims [2] : (tensor<64xf32>) -> tensor<4x16x64xf32>
    ```
  }];
  let arguments = (ins NN_AnyTensor:$x, DenseI64ArrayAttr:$dims);
  let results = (outs NN_AnyTensor:$y);
  let assemblyFormat = [{
    $x `dims` $dims attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The dimensions of the result that are not in `dims`, increasing.
    ::llvm::SmallVector<int64_t> getNewDims();
  }];
}

def NN_ReduceOp : NN_Op<"reduce", [
    NN_Differentiable, NN_DescribesKernel, NN_Epilogue, NN_Factors,
    CheapInFloat32]> {
  let summary = "Sum, maximum or mean over dimensions, which it removes";
  let description = [{
    The gradient of `max` goes to the first maximum in row-major order.

    Constraints
    - (C1) `dims` increases strictly and stays within the rank of `x`.
    - (C2) `max` and `mean` are over at least one element.
    - (C3) the result has the remaining dimensions, and the element type of `x`.

    ```mlir
    %s = nn.reduce sum %x dims [0, 1] : (tensor<4x16x64xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_ReductionAttr:$kind, NN_FloatTensor:$x,
                       DenseI64ArrayAttr:$dims);
  let results = (outs NN_FloatTensor:$y);
  let assemblyFormat = [{
    `` $kind $x `dims` $dims attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The dimensions of `x` that are not in `dims`, increasing.
    ::llvm::SmallVector<int64_t> getKeptDims();
  }];
}

def NN_TransposeOp : NN_KernelOp<"transpose", [
    NN_Differentiable, NN_Factors, NN_Move]> {
  let summary = "Permute dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of `x`.

    Constraints
    - (C1) `permutation` is a permutation of the dimensions of `x`.
    - (C2) the result has the permuted shape, and the element type of `x`.

    ```mlir
    %y = nn.transpose %x permutation [0, 2, 1] : (tensor<4x16x64xf32>) -> tensor<4x64x16xf32>
    ```
  }];
  let arguments = (ins NN_AnyTensor:$x, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_AnyTensor:$y);
  let assemblyFormat = [{
    $x `permutation` $permutation attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_SplitOp : NN_Op<"split", [
    NN_Differentiable, NN_DescribesKernel, NN_Factors, NN_Move]> {
  let summary = "Cut a tensor along a dimension into contiguous copies";
  let description = [{
    Result i has `sizes[i]` elements along `dim`, and follows result i - 1.
    Concatenating the results along `dim` gives `x` again.

    Constraints
    - (C1) `dim` is a dimension of `x`.
    - (C2) `sizes` are positive, at least one, and add up to the size of `dim`.
    - (C3) result i has the shape of `x` with `sizes[i]` at `dim`, and its
      element type.

    ```mlir
    %q, %k, %v = nn.split %x dim 2 sizes [64, 64, 64] : (tensor<4x16x192xf32>) -> (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<4x16x64xf32>)
    ```
  }];
  let arguments = (ins NN_AnyTensor:$x, I64Attr:$dim, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<NN_AnyTensor>:$pieces);
  let assemblyFormat = [{
    $x `dim` $dim `sizes` $sizes attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ZERO_DIALECT_NN_NNSHAPEOPS_TD
