//===- LossMeans.cpp - what a loss is a mean over -------------------------===//

#include "zero/Analysis/LossMeans.h"

#include "zero/Dialect/NN/Counts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::zero;

/// Whether `value` is one float.
static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 1 &&
         isa<FloatType>(type.getElementType());
}

namespace {

/// Follows the scalars that a loss is made of.
class Means {
public:
  explicit Means(StepOp step) : step(step) { classify(); }

  LossMean find() {
    Value loss = cast<YieldOp>(body().back()).getValues().front();
    if (isTrained(loss)) // otherwise there is nothing to weigh
      visit(loss);
    return std::move(mean);
  }

private:
  Block &body() { return step.getBody().front(); }
  bool isTrained(Value value) const { return trained.contains(value); }
  bool isData(Value value) const { return data.contains(value); }
  bool isCount(Value value) const {
    return isScalar(value) && isData(value) && !isTrained(value);
  }

  void classify();
  void visit(Value value);
  void visitQuotient(arith::DivFOp op);
  void visitProduct(arith::MulFOp op);
  void visitOther(Operation *op);
  void add(LossCount count, Operation *by);
  void stop(Operation *at, const Twine &why);

  StepOp step;
  /// Values that depend on trained parameters, and on inputs.
  DenseSet<Value> trained, data;
  LossMean mean;
};

} // namespace

void Means::classify() {
  for (BlockArgument input : body().getArguments())
    data.insert(input);
  SymbolTable symbols(step->getParentOfType<ModuleOp>());
  for (Operation &op : body()) {
    auto dependsOn = [&](const DenseSet<Value> &values) {
      return llvm::any_of(op.getOperands(),
                          [&](Value value) { return values.contains(value); });
    };
    bool learns = dependsOn(trained), reads = dependsOn(data);
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto parameter = symbols.lookup<ParameterOp>(load.getParameter());
      learns |= parameter && !parameter.getFrozen() && !parameter.getAverage();
    }
    for (Value result : op.getResults()) {
      if (learns)
        trained.insert(result);
      if (reads)
        data.insert(result);
    }
  }
}

void Means::stop(Operation *at, const Twine &why) {
  if (mean.at)
    return;
  mean.at = at;
  mean.obstacle = why.str();
}

void Means::add(LossCount count, Operation *by) {
  if (!mean.count) {
    mean.count = count;
    return;
  }
  const LossCount &known = *mean.count;
  bool isSame = known.elements.values
                    ? known.elements.values == count.elements.values &&
                          known.elements.ignored == count.elements.ignored
                    : known.divisor == count.divisor;
  if (!isSame)
    stop(by, "it counts other elements than another mean of the loss does");
}

void Means::visitQuotient(arith::DivFOp op) {
  if (isCount(op.getRhs()))
    return add({nn::findCounted(op.getRhs()), op.getRhs()}, op);
  if (isTrained(op.getRhs()))
    return visitOther(op);
  visit(op.getLhs());
}

void Means::visitProduct(arith::MulFOp op) {
  for (auto [factor, other] : {std::pair{op.getLhs(), op.getRhs()},
                               std::pair{op.getRhs(), op.getLhs()}})
    if (!isTrained(factor) && !isData(factor))
      return visit(other);
  visitOther(op);
}

/// What is not linear in a mean has no mean over micro-batches.
void Means::visitOther(Operation *op) {
  LossMean outer = std::exchange(mean, {});
  for (Value operand : op->getOperands())
    if (isScalar(operand))
      visit(operand);
  bool hasCount = mean.count || mean.at;
  mean = std::move(outer);
  if (hasCount)
    stop(op, "the loss is no sum of means, each times a constant");
}

void Means::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isTrained(value) || mean.at)
    return;
  if (auto counted = dyn_cast<CountedMeanOpInterface>(op);
      counted && value == op->getResult(0))
    return add({counted.getCounted(), Value()}, op);
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return visitQuotient(quotient);
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return visitProduct(product);
  if (!isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
           arith::TruncFOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
           tensor::CastOp>(op))
    return visitOther(op);
  for (Value operand : op->getOperands())
    if (isScalar(operand))
      visit(operand);
}

LossMean mlir::zero::findLossMean(StepOp step) { return Means(step).find(); }
