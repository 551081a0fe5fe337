//===- Counts.cpp - how many elements count -------------------------------===//

#include "zero/Dialect/NN/Counts.h"

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nn;
using zero::CountedElements;

/// Of numbers that are 1 where an element counts.
static Value reduceCounts(OpBuilder &builder, Location loc,
                          CountedElements counted, Reduction kind) {
  auto type = cast<RankedTensorType>(counted.values.getType());
  Attribute ignored =
      builder.getIntegerAttr(type.getElementType(), counted.ignored);
  Value constant = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ignored));
  Value counts = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                       counted.values, constant);
  Value ones = arith::UIToFPOp::create(
      builder, loc, type.clone(builder.getF32Type()), counts);
  if (type.getRank() == 0)
    return ones;
  return ReduceOp::create(
      builder, loc, RankedTensorType::get({}, builder.getF32Type()), ones, kind,
      llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
}

Value nn::buildShare(OpBuilder &builder, Location loc,
                     CountedElements counted) {
  return reduceCounts(builder, loc, counted, Reduction::Mean);
}

Value nn::buildCount(OpBuilder &builder, Location loc, CountedElements counted,
                     RankedTensorType type) {
  Value count = reduceCounts(builder, loc, counted, Reduction::Sum);
  if (type.getElementType().isF64())
    count = arith::ExtFOp::create(builder, loc, type, count);
  Value one = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 1.0)));
  return arith::MaximumFOp::create(builder, loc, count, one);
}

/// `value` without conversions and reshapes.
static Value strip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp, tensor::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether `value` is a constant that no sum of one element or more is below.
static bool isSmall(Value value) {
  DenseFPElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat() &&
         constant.getSplatValue<APFloat>().convertToDouble() <= 1.0;
}

Value nn::findSummed(Value number) {
  number = strip(number);
  Operation *op = number.getDefiningOp();
  if (op && isa<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    if (isSmall(op->getOperand(1)))
      number = strip(op->getOperand(0));
    else if (isSmall(op->getOperand(0)))
      number = strip(op->getOperand(1));
  }
  auto sum = number.getDefiningOp<ReduceOp>();
  return sum && sum.getKind() == Reduction::Sum ? sum.getX() : Value();
}

CountedElements nn::findCounted(Value number) {
  Value summed = findSummed(number);
  auto ones = summed ? strip(summed).getDefiningOp<arith::UIToFPOp>() : nullptr;
  auto compare =
      ones ? strip(ones.getIn()).getDefiningOp<arith::CmpIOp>() : nullptr;
  DenseIntElementsAttr ignored;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(compare.getRhs(), m_Constant(&ignored)) ||
      !ignored.isSplat())
    return {};
  return {compare.getLhs(), ignored.getSplatValue<APInt>().getSExtValue()};
}

CountedElements CrossEntropyOp::getCounted() {
  return {getTargets(), static_cast<int64_t>(getIgnoreIndex())};
}

bool CrossEntropyOp::isSum() { return getSum(); }

void CrossEntropyOp::makeSum() { setSum(true); }
