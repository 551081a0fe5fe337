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

/// A view of `value` whose leading dimensions are rows.
static Value asMatrix(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  int64_t width = type.getShape().back();
  ImplicitLocOpBuilder at(loc, builder);
  return buildReshape(
      at, value,
      type.clone(
          {ShapedType::getNumElements(type.getShape().drop_back()), width}));
}

/// Of rows [begin, end) if there are some, else of all.
static Value buildWeightGradient(OpBuilder &builder, LinearWeightGradOp op,
                                 RankedTensorType type,
                                 DenseI64ArrayAttr rows) {
  Value left = asMatrix(builder, op.getLoc(), op.getX());
  Value right = asMatrix(builder, op.getLoc(), op.getDy());
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
