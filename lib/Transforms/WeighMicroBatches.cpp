//===- WeighMicroBatches.cpp - micro-batches by what they count -----------===//

#include "zero/Analysis/LossMeans.h"
#include "zero/Config/Config.h"
#include "zero/Dialect/NN/Counts.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::zero {
#define GEN_PASS_DEF_WEIGHMICROBATCHES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct WeighMicroBatches
    : public zero::impl::WeighMicroBatchesBase<WeighMicroBatches> {
  using WeighMicroBatchesBase::WeighMicroBatchesBase;

  void runOnOperation() override {
    std::optional<LossMeanKind> kind;
    if (!mean.empty() && !(kind = parseLossMeanKind(mean))) {
      emitError(getOperation().getLoc())
          << "the option mean is '" << mean
          << "', wanted 'tokens' or 'micro_batches'";
      return signalPassFailure();
    }
    for (StepOp step : getOperation().getOps<StepOp>())
      if (step.isModel() && failed(weigh(step, kind)))
        return signalPassFailure();
  }

private:
  LogicalResult weigh(StepOp step, std::optional<LossMeanKind> kind);
};
} // namespace

/// A tensor of one element as one of another shape and type of floats.
static Value convertScalar(OpBuilder &builder, Location loc, Value value,
                           RankedTensorType type) {
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  auto convert = [&](Type element) {
    const unsigned from = typeOf(value).getElementTypeBitWidth();
    auto to = typeOf(value).clone(element);
    if (from < to.getElementTypeBitWidth())
      value = arith::ExtFOp::create(builder, loc, to, value);
    else if (from > to.getElementTypeBitWidth())
      value = arith::TruncFOp::create(builder, loc, to, value);
  };
  const ArrayRef<ReassociationIndices> none;
  if (typeOf(value).getRank() != 0)
    value = tensor::CollapseShapeOp::create(
        builder, loc, RankedTensorType::get({}, typeOf(value).getElementType()),
        value, none);
  if (typeOf(value).getElementType() != type.getElementType()) {
    convert(builder.getF32Type());
    convert(type.getElementType());
  }
  if (type.getRank() != 0)
    value = tensor::ExpandShapeOp::create(builder, loc, type, value, none);
  return value;
}

/// A sum as a tensor<f32>, over the number of its terms: weights near 1 leave
/// gradients in the range of their type.
static Value buildWeight(OpBuilder &builder, Location loc, Value sum) {
  auto type = RankedTensorType::get({}, builder.getF32Type());
  auto summed = cast<RankedTensorType>(nn::findSum(sum).getX().getType());
  Value share = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, 1.0f / float(summed.getNumElements())));
  return arith::MulFOp::create(builder, loc,
                               convertScalar(builder, loc, sum, type), share);
}

/// Divides by the sum itself, since a bound is one of all micro-batches
/// together, and by 1 where the sum is 0: what counts nothing has no mean, and
/// weighs nothing, but its gradient would be no number.
static void guardQuotient(Operation *quotient) {
  OpBuilder builder(quotient);
  Location loc = quotient->getLoc();
  Value divisor = quotient->getOperand(1);
  auto type = cast<RankedTensorType>(divisor.getType());
  divisor = convertScalar(builder, loc, nn::findSum(divisor).getResult(), type);
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), value)));
  };
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       divisor, constant(0.0));
  quotient->setOperand(
      1, arith::SelectOp::create(builder, loc, isNone, constant(1.0), divisor));
}

/// Where micro-batches weigh the same because nobody has said otherwise, and
/// the data decide what each of them is a mean over.
static void remarkSameWeight(StepOp step) {
  std::optional<TrainingAttr> training = step.getTraining();
  int64_t microBatches = training ? training->getMicroBatches() : 1;
  if (microBatches == 1)
    return;
  LossMean mean = findLossMean(step);
  if (mean.count || (mean.at && !mean.isLearned))
    emitRemark(step.getLoc())
        << "each of the " << microBatches
        << " micro-batches of an update weighs the same in the loss, however "
           "many labels count in it; zero.loss_mean 'tokens' weighs each label "
           "the same";
}

LogicalResult WeighMicroBatches::weigh(StepOp step,
                                       std::optional<LossMeanKind> kind) {
  auto yield = cast<YieldOp>(step.getBody().front().back());
  if (yield.getWeight() || kind == LossMeanKind::MicroBatches)
    return success();
  if (!kind)
    return remarkSameWeight(step), success();
  LossMean mean = findLossMean(step);
  if (mean.at)
    return mean.at->emitError()
           << "cannot weigh micro-batches by the tokens that count: "
           << mean.obstacle
           << "; yield the loss with a 'weight', or set \"zero\": "
              "{\"loss_mean\": \"micro_batches\"}";
  if (!mean.count) {
    emitRemark(step.getLoc())
        << "the loss divides by no number that the data decide: all "
           "micro-batches weigh the same, and the loss mean 'tokens' changes "
           "nothing";
    return success();
  }
  OpBuilder builder(yield);
  Value weight =
      mean.count->elements.values
          ? nn::buildShare(builder, yield.getLoc(), mean.count->elements)
          : buildWeight(builder, yield.getLoc(), mean.count->sum);
  for (Operation *quotient : mean.quotients)
    guardQuotient(quotient);
  yield.getWeightMutable().assign(weight);
  return success();
}
