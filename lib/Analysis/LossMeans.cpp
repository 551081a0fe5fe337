//===- LossMeans.cpp - what a loss is a mean over -------------------------===//

#include "zero/Analysis/LossMeans.h"

#include "zero/Dialect/NN/Counts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;

static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 1;
}

/// Whether two values are computed alike.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  return first && second && first->getNumRegions() == 0 &&
         cast<OpResult>(a).getResultNumber() ==
             cast<OpResult>(b).getResultNumber() &&
         OperationEquivalence::isEquivalentTo(
             first, second,
             [](Value a, Value b) { return success(isSame(a, b)); }, nullptr,
             OperationEquivalence::IgnoreLocations);
}

namespace {

/// Follows the scalars that a loss is made of.
class Means {
public:
  explicit Means(StepOp step) : step(step) { classify(); }

  LossMean find() {
    Value loss = cast<YieldOp>(body().back()).getValues().front();
    visit(loss);
    if (mean.count && uncounted)
      stop(uncounted, "it is a mean over other elements than those that count "
                      "in another term of the loss");
    return std::move(mean);
  }

private:
  Block &body() { return step.getBody().front(); }
  bool isTrained(Value value) const { return trained.contains(value); }
  bool isData(Value value) const { return data.contains(value); }
  /// Whether a trained value and numbers of the whole batch meet in `op`.
  bool takesTotals(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value value) { return totals.contains(value); });
  }

  void classify();
  bool isSum(Value value);
  bool isSumOfMean(arith::MulFOp op);
  void visit(Value value);
  void visitQuotient(arith::DivFOp op);
  void visitProduct(arith::MulFOp op);
  void visitOther(Operation *op);
  void add(LossCount count, Operation *by);
  void stop(Operation *at, const Twine &why, bool isLearned = false);

  StepOp step;
  /// Values that depend on trained parameters; on inputs; and, of those that
  /// depend on inputs alone, those that a sum or mean of many elements is in.
  DenseSet<Value> trained, data, totals;
  /// A term that depends on the data, and counts nothing.
  Operation *uncounted = nullptr;
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
      learns |= parameter && parameter.isTrained();
    }
    for (Value result : op.getResults()) {
      if (learns)
        trained.insert(result);
      if (reads)
        data.insert(result);
      bool reduces =
          isScalar(result) && !llvm::all_of(op.getOperands(), isScalar);
      if (reads && !learns && (reduces || dependsOn(totals)))
        totals.insert(result);
    }
  }
}

void Means::stop(Operation *at, const Twine &why, bool isLearned) {
  if (mean.at)
    return;
  mean.at = at;
  mean.isLearned = isLearned;
  mean.obstacle = why.str();
}

void Means::add(LossCount count, Operation *by) {
  if (!mean.count)
    mean.count = count;
  const LossCount &known = *mean.count;
  bool isSameCount =
      !known.elements.values == !count.elements.values &&
      (known.elements.values
           ? isSame(known.elements.values, count.elements.values) &&
                 known.elements.ignored == count.elements.ignored
           : isSame(known.sum, count.sum));
  if (!isSameCount)
    stop(by, "it counts other elements than another mean of the loss does");
}

static bool isCountedMean(Operation *op) {
  auto counted = dyn_cast<CountedMeanOpInterface>(op);
  return counted && !counted.isSum();
}

/// The mean itself, and not what else is computed with it.
static bool isCountedMean(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result && result.getResultNumber() == 0 &&
         isCountedMean(result.getOwner());
}

/// Whether an operation has scalars of the same sums as its operands.
static bool isLinear(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
             arith::TruncFOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::CastOp>(op) &&
         llvm::all_of(op->getOperands(), isScalar);
}

/// A mean times the number of what it is a mean over.
bool Means::isSumOfMean(arith::MulFOp op) {
  for (auto [mean, count] : {std::pair{op.getLhs(), op.getRhs()},
                             std::pair{op.getRhs(), op.getLhs()}}) {
    if (!isCountedMean(mean))
      continue;
    auto by = cast<CountedMeanOpInterface>(mean.getDefiningOp());
    const CountedElements counted = nn::findCounted(count);
    if (counted.values && isSame(counted.values, by.getCounted().values) &&
        counted.ignored == by.getCounted().ignored)
      return true;
  }
  return false;
}

/// Whether a scalar is made of sums over data, or means over as many elements
/// in each micro-batch, each times what the data do not decide: that of all
/// micro-batches together is the sum of those of each.
bool Means::isSum(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isData(value) || !isScalar(value))
    return false;
  if (nn::addsUp(op)) {
    // Scalars side by side are a sum of what each of them is.
    auto joined = op->getOperand(0).getDefiningOp<tensor::ConcatOp>();
    return !joined || llvm::all_of(joined.getInputs(), [&](Value part) {
      return isScalar(part) ? isSum(part) : isData(part);
    });
  }
  if (auto counted = dyn_cast<CountedMeanOpInterface>(op))
    return counted.isSum();
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return isSumOfMean(product) ||
           (!isData(product.getLhs()) && isSum(product.getRhs())) ||
           (!isData(product.getRhs()) && isSum(product.getLhs()));
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return !isData(quotient.getRhs()) && isSum(quotient.getLhs());
  return isLinear(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return matchPattern(operand, m_AnyZeroFloat()) || isSum(operand);
         });
}

/// Follows a division: its dividend must be a sum, and no mean itself.
void Means::visitQuotient(arith::DivFOp op) {
  if (isTrained(op.getRhs())) {
    if (isData(op.getRhs()) && isScalar(op.getRhs()))
      return stop(op, "it divides by a number that parameters decide as well",
                  /*isLearned=*/true);
    return visitOther(op);
  }
  if (!isData(op.getRhs()))
    return visit(op.getLhs());
  if (!isScalar(op.getRhs()) || !nn::findSum(op.getRhs()))
    return stop(op, "it divides by a number of the data that is no sum, or is "
                    "bounded by more than 1");
  LossMean outer = std::exchange(mean, {});
  Operation *outside = uncounted;
  visitOther(op.getLhs().getDefiningOp());
  const bool hasCount = mean.count || mean.at;
  mean = std::move(outer);
  uncounted = outside;
  if (!isSum(op.getLhs()))
    return stop(op, hasCount ? "it divides what is a mean already"
                             : "it divides what is no sum over the data alone");
  mean.quotients.push_back(op);
  add({nn::findCounted(op.getRhs()), nn::findSum(op.getRhs()).getResult()}, op);
}

void Means::visitProduct(arith::MulFOp op) {
  for (auto [factor, other] : {std::pair{op.getLhs(), op.getRhs()},
                               std::pair{op.getRhs(), op.getLhs()}})
    if (!isTrained(factor) && !isData(factor))
      return visit(other);
  visitOther(op);
}

/// An operation that is not linear in a mean over a count has no mean over
/// micro-batches.
void Means::visitOther(Operation *op) {
  SmallVector<Operation *> stack = {op};
  DenseSet<Operation *> seen;
  bool isOfData = false, takesMean = op && isCountedMean(op);
  while (!stack.empty()) {
    Operation *next = stack.pop_back_val();
    if (!next || !seen.insert(next).second)
      continue;
    takesMean |= llvm::any_of(next->getOperands(), [](Value operand) {
      return isCountedMean(operand);
    });
    if (takesMean || takesTotals(next))
      return stop(op, "the loss is no sum of means, each times a constant");
    for (Value operand : next->getOperands()) {
      if (isTrained(operand))
        stack.push_back(operand.getDefiningOp());
      isOfData |= isData(operand);
    }
  }
  if (isOfData)
    uncounted = op;
}

void Means::visit(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isTrained(value) || mean.at)
    return;
  if (isCountedMean(value))
    return add({cast<CountedMeanOpInterface>(op).getCounted(), Value()}, op);
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    return visitQuotient(quotient);
  if (auto product = dyn_cast<arith::MulFOp>(op))
    return visitProduct(product);
  if (!isLinear(op))
    return visitOther(op);
  for (Value operand : op->getOperands())
    visit(operand);
}

LossMean mlir::zero::findLossMean(StepOp step) { return Means(step).find(); }
