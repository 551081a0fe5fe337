//===- NNShapeGradients.cpp - gradients of activations, shape operations --===//

#include "Constants.h"
#include "Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::buildGradient(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = GeluGradOp::create(builder, getLoc(), getForm(),
                                      resultGradients[0], getX());
  return success();
}

LogicalResult SiluOp::buildGradient(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] =
        SiluGradOp::create(builder, getLoc(), resultGradients[0], getX());
  return success();
}

/// The operand's gradient is zero, which is what null stands for.
LogicalResult StopGradientOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                            ArrayRef<bool>,
                                            MutableArrayRef<Value>) {
  return success();
}

LogicalResult DropoutOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = DropoutOp::create(builder, getLoc(), resultGradients[0],
                                     getP(), getId());
  return success();
}

LogicalResult PartialDropoutOp::buildGradient(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
    MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = PartialDropoutOp::create(
        builder, getLoc(), getX().getType(), resultGradients[0], getFirst(),
        getDim(), getSize(), getP(), getId());
  return success();
}

//===----------------------------------------------------------------------===//
// broadcast, reduce
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy || !wanted[0])
    return success();
  SmallVector<int64_t> newDims = getNewDims();
  gradients[0] = newDims.empty()
                     ? dy
                     : ReduceOp::create(builder, getLoc(), getX().getType(), dy,
                                        Reduction::Sum, newDims);
  return success();
}

/// `value / count`, rounded once: not every count is a 16-bit float.
static Value divide(OpBuilder &builder, Location loc, Value value,
                    int64_t count) {
  RankedTensorType type = typeOf(value);
  auto wide = cast<RankedTensorType>(
      type.clone(getStatisticType(type.getElementType())));
  if (wide != type)
    value = arith::ExtFOp::create(builder, loc, wide, value);
  value = arith::DivFOp::create(builder, loc, value,
                                splat(builder, loc, wide, count));
  if (wide != type)
    value = arith::TruncFOp::create(builder, loc, type, value);
  return value;
}

/// 0, -1, -2, ... over `sizes` in row-major order: the largest is the first.
static Value descending(OpBuilder &builder, Location loc,
                        ArrayRef<int64_t> sizes, Type element) {
  auto type = RankedTensorType::get(sizes, element);
  SmallVector<Attribute> values;
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    values.push_back(
        builder.getFloatAttr(element, -static_cast<double>(index)));
  return arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(DenseElementsAttr::get(type, values)));
}

/// Gives `dy`, already of the shape of x, to the first maximum: among the
/// elements equal to the maximum, the one of the largest negated position.
static Value maxGradient(OpBuilder &builder, ReduceOp op, Value dy) {
  Location loc = op.getLoc();
  RankedTensorType x = typeOf(op.getX());
  Type element = getStatisticType(x.getElementType());
  auto scores = cast<RankedTensorType>(x.clone(element));
  SmallVector<int64_t> sizes;
  for (int64_t dim : op.getDims())
    sizes.push_back(x.getDimSize(dim));
  auto equal = [&](Value left, Value right) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, left,
                                 right);
  };
  Value maximum =
      BroadcastOp::create(builder, loc, x, op.getY(), op.getKeptDims());
  Value position = BroadcastOp::create(builder, loc, scores,
                                       descending(builder, loc, sizes, element),
                                       op.getDims());
  Value score = arith::SelectOp::create(
      builder, loc, equal(op.getX(), maximum), position,
      splat(builder, loc, scores, -std::numeric_limits<double>::infinity()));
  Value best = ReduceOp::create(builder, loc, typeOf(op.getY()).clone(element),
                                score, Reduction::Max, op.getDims());
  best = BroadcastOp::create(builder, loc, scores, best, op.getKeptDims());
  return arith::SelectOp::create(builder, loc, equal(score, best), dy,
                                 splat(builder, loc, x, 0.0));
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy || !wanted[0])
    return success();
  RankedTensorType x = typeOf(getX());
  int64_t count = 1;
  for (int64_t dim : getDims())
    count *= x.getDimSize(dim);
  // Positions are compared as f32, exact up to 2^24.
  constexpr int64_t kMostPositions = int64_t(1) << 24;
  if (getKind() == Reduction::Max && count > kMostPositions)
    return emitOpError("the gradient of a maximum over ")
           << count << " elements is wanted, possible are at most "
           << kMostPositions << "; reduce in two operations";
  if (getKind() == Reduction::Mean)
    dy = divide(builder, getLoc(), dy, count);
  dy = BroadcastOp::create(builder, getLoc(), x, dy, getKeptDims());
  gradients[0] =
      getKind() == Reduction::Max ? maxGradient(builder, *this, dy) : dy;
  return success();
}

//===----------------------------------------------------------------------===//
// transpose, split
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  if (!resultGradients[0] || !wanted[0])
    return success();
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = index;
  gradients[0] = TransposeOp::create(builder, getLoc(), getX().getType(),
                                     resultGradients[0], inverse);
  return success();
}

LogicalResult SplitOp::buildGradient(OpBuilder &builder,
                                     ArrayRef<Value> resultGradients,
                                     ArrayRef<bool> wanted,
                                     MutableArrayRef<Value> gradients) {
  bool none = llvm::none_of(resultGradients, [](Value v) { return v; });
  if (none || !wanted[0])
    return success();
  SmallVector<Value> pieces;
  for (auto [piece, gradient] : llvm::zip_equal(getPieces(), resultGradients))
    pieces.push_back(gradient ? gradient
                              : splat(builder, getLoc(), typeOf(piece), 0.0));
  gradients[0] =
      pieces.size() == 1
          ? pieces[0]
          : tensor::ConcatOp::create(builder, getLoc(), getX().getType(),
                                     getDim(), pieces);
  return success();
}
