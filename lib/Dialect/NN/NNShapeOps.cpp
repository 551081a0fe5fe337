//===- NNShapeOps.cpp - folds of shape operations -------------------------===//

#include "Types.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

/// The dimensions below `rank` that are not in `dims`, increasing.
static SmallVector<int64_t> complement(ArrayRef<int64_t> dims, int64_t rank) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

SmallVector<int64_t> BroadcastOp::getNewDims() {
  return complement(getDims(), typeOf(getY()).getRank());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getX().getType() == getY().getType() ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ReduceOp::getKeptDims() {
  return complement(getDims(), typeOf(getX()).getRank());
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::is_sorted(getPermutation()) ? getX() : OpFoldResult();
}
