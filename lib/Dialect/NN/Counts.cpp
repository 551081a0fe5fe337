//===- Counts.cpp - how many elements count -------------------------------===//

#include "zero/Dialect/NN/Counts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nn;
using zero::CountedElements;

/// Reduces numbers that are 1 for each element that counts, and 0 for others.
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
  DenseFPElementsAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return number.isSplat() &&
           number.getSplatValue<APFloat>().convertToDouble() <= 1.0;
  DenseIntElementsAttr integer;
  return matchPattern(value, m_Constant(&integer)) && integer.isSplat() &&
         integer.getSplatValue<APInt>().sle(1);
}

/// `value` without a bound that no sum is below, conversions and reshapes.
template <typename... Maximum> static Value stripBound(Value value) {
  Operation *op = strip(value).getDefiningOp();
  if (isa_and_nonnull<Maximum...>(op))
    for (int i : {0, 1})
      if (isSmall(op->getOperand(1 - i)))
        return strip(op->getOperand(i));
  return strip(value);
}

/// The integer that `value` is, as a float; null where it is none.
static Value integerOf(Value value) {
  Operation *op = strip(value).getDefiningOp();
  return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)
             ? strip(op->getOperand(0))
             : Value();
}

ReduceOp nn::findSum(Value number) {
  // A sum of integers is one of floats, made an integer.
  const Value integer = integerOf(number);
  if (integer) {
    auto sum =
        stripBound<arith::MaxSIOp>(integer).getDefiningOp<arith::FPToSIOp>();
    if (!sum)
      return {};
    number = sum.getIn();
  }
  auto sum = stripBound<arith::MaximumFOp, arith::MaxNumFOp>(number)
                 .getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != Reduction::Sum ||
      (integer && !integerOf(sum.getX())))
    return {};
  return sum;
}

bool nn::addsUp(Operation *op) {
  if (isa<LinearOp, MatmulOp>(op))
    return cast<RankedTensorType>(op->getResult(0).getType())
               .getNumElements() == 1;
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && (reduce.getKind() == Reduction::Sum ||
                    reduce.getKind() == Reduction::Mean);
}

CountedElements nn::findCounted(Value number) {
  ReduceOp sum = findSum(number);
  Value ones = sum ? integerOf(sum.getX()) : Value();
  if (auto widened = ones ? ones.getDefiningOp<arith::ExtUIOp>() : nullptr)
    ones = strip(widened.getIn());
  auto compare = ones ? ones.getDefiningOp<arith::CmpIOp>() : nullptr;
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
