//===- NNRowBlocks.cpp - gradients of weights, some rows at a time --------===//
//
// Blocks of rows of other operations are built as their factors tell.
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

/// Builds the given range of rows of the gradient, or all rows without a range.
static Value buildWeightGradient(OpBuilder &builder, LinearWeightGradOp op,
                                 RankedTensorType type,
                                 DenseI64ArrayAttr rows) {
  Value left = buildMatrix(builder, op.getLoc(), op.getX());
  Value right = buildMatrix(builder, op.getLoc(), op.getDy());
  if (op.getTransposed())
    std::swap(left, right);
  return MatmulOp::create(builder, op.getLoc(), type, left, right,
                          /*transpose_a=*/true, /*transpose_b=*/false, rows);
}

bool LinearWeightGradOp::hasRowBlocks(unsigned index) { return index == 0; }

/// The sums are not in blocks.
Value LinearWeightGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                        int64_t begin, int64_t end,
                                        llvm::function_ref<Value(unsigned)>) {
  SmallVector<int64_t> shape(typeOf(getDw()).getShape());
  shape.front() = end - begin;
  return buildWeightGradient(builder, *this, typeOf(getDw()).clone(shape),
                             builder.getDenseI64ArrayAttr({begin, end}));
}

void LinearWeightGradOp::dropUnusedResults(OpBuilder &builder) {
  if (!getDw().use_empty() || getDb().use_empty())
    return;
  auto rows =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(getDy()).getRank() - 1));
  getDb().replaceAllUsesWith(ReduceOp::create(
      builder, getLoc(), getDb().getType(), getDy(), Reduction::Sum, rows));
  erase();
}
