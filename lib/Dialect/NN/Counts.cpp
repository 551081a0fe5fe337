//===- Counts.cpp - how many elements count -------------------------------===//

#include "zero/Dialect/NN/Counts.h"

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nn;
using zero::CountedElements;

Value nn::buildShare(OpBuilder &builder, Location loc,
                     CountedElements counted) {
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
  return ReduceOp::create(builder, loc,
                          RankedTensorType::get({}, builder.getF32Type()),
                          Reduction::Mean, ones,
                          llvm::to_vector(llvm::seq<int64_t>(type.getRank())));
}

/// `value` without conversions, reshapes and bounds by constants.
static Value strip(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<arith::ExtFOp, arith::TruncFOp, tensor::CollapseShapeOp,
            tensor::ExpandShapeOp, tensor::CastOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
      return value;
    if (matchPattern(op->getOperand(1), m_Constant()))
      value = op->getOperand(0);
    else if (matchPattern(op->getOperand(0), m_Constant()))
      value = op->getOperand(1);
    else
      return value;
  }
  return value;
}

CountedElements nn::findCounted(Value number) {
  auto sum = strip(number).getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != Reduction::Sum)
    return {};
  auto ones = strip(sum.getX()).getDefiningOp<arith::UIToFPOp>();
  auto compare =
      ones ? strip(ones.getIn()).getDefiningOp<arith::CmpIOp>() : nullptr;
  DenseIntElementsAttr ignored;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ne ||
      !matchPattern(compare.getRhs(), m_Constant(&ignored)) ||
      !ignored.isSplat())
    return {};
  return {compare.getLhs(), ignored.getSplatValue<APInt>().getSExtValue()};
}
