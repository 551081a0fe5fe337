//===- NNShapeOps.cpp - constraints and folds of shape operations ---------===//

#include "Verification.h"

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

LogicalResult BroadcastOp::verify() {
  Checker check(*this);
  RankedTensorType x = typeOf(getX()), y = typeOf(getY());
  if (static_cast<int64_t>(getDims().size()) != x.getRank()) // C1
    return check.error("dims are " + toString(getDims()) +
                       ", wanted one a dimension of x, " + Twine(x.getRank()));
  if (failed(check.dims(getDims(), y.getRank()))) // C2
    return failure();
  SmallVector<int64_t> wanted(y.getShape());
  for (auto [dim, size] : llvm::zip_equal(getDims(), x.getShape()))
    wanted[dim] = size;
  if (failed(check.shape("result", getY(), wanted))) // C3
    return failure();
  return check.element("result", getY(), x.getElementType()); // C4
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

LogicalResult ReduceOp::verify() {
  Checker check(*this);
  RankedTensorType x = typeOf(getX());
  if (failed(check.dims(getDims(), x.getRank()))) // C1
    return failure();
  for (int64_t dim : getDims()) // C2
    if (x.getDimSize(dim) == 0 && getKind() != Reduction::Sum)
      return check.error("dimension " + Twine(dim) +
                         " of x is empty, wanted an element to take the " +
                         stringifyReduction(getKind()) + " of");
  SmallVector<int64_t> shape;
  for (int64_t dim : complement(getDims(), x.getRank()))
    shape.push_back(x.getDimSize(dim));
  return check.type("y", getY(), // C3
                    RankedTensorType::get(shape, x.getElementType()));
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  Checker check(*this);
  RankedTensorType x = typeOf(getX());
  ArrayRef<int64_t> permutation = getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, x.getRank()))) // C1
    return check.error("permutation is " + toString(permutation) +
                       ", wanted one of the " + Twine(x.getRank()) +
                       " dimensions of x");
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(x.getDimSize(dim));
  return check.type("y", getY(), // C2
                    RankedTensorType::get(shape, x.getElementType()));
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::is_sorted(getPermutation()) ? getX() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// split
//===----------------------------------------------------------------------===//

LogicalResult SplitOp::verify() {
  Checker check(*this);
  RankedTensorType x = typeOf(getX());
  int64_t dim = getDim();
  if (dim < 0 || dim >= x.getRank()) // C1
    return check.error("dim is " + Twine(dim) + ", wanted one of the " +
                       Twine(x.getRank()) + " dimensions of x");
  int64_t sum = 0;
  bool positive = !getSizes().empty();
  for (int64_t size : getSizes()) {
    positive &= size > 0;
    sum += size;
  }
  if (!positive || sum != x.getDimSize(dim)) // C2
    return check.error("sizes are " + toString(getSizes()) +
                       ", wanted positive ones with the sum " +
                       Twine(x.getDimSize(dim)));
  if (getNumResults() != getSizes().size()) // C3
    return check.error("has " + Twine(getNumResults()) +
                       " results, wanted one a size, " +
                       Twine(getSizes().size()));
  SmallVector<int64_t> shape(x.getShape());
  for (auto [index, size] : llvm::enumerate(getSizes())) {
    shape[dim] = size;
    auto wanted = RankedTensorType::get(shape, x.getElementType());
    if (failed(check.type("piece " + std::to_string(index), getPieces()[index],
                          wanted)))
      return failure();
  }
  return success();
}
