//===- Differentiation.cpp - reverse mode of a block ----------------------===//

#include "zero/Transforms/Differentiation.h"

#include "zero/Analysis/Reads.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::zero;

/// Whether a value that is computed from a trained one depends on it as far as
/// gradients go: integers are constant almost everywhere, unless they are the
/// bits of another value.
static bool isDifferentiable(Value value) {
  Operation *op = value.getDefiningOp();
  return !isa<IntegerType, IndexType>(getElementTypeOrSelf(value.getType())) ||
         isa_and_present<arith::BitcastOp, tensor::BitcastOp>(op);
}

static Type withElementType(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

namespace {

/// A sum of gradient contributions.
struct Sum {
  Value value;
  /// Whether `value` is an f32 partial sum of a 16-bit gradient.
  bool wide = false;
};

class Backward {
public:
  Backward(OpBuilder &builder, ArrayRef<GradientVariable> variables,
           llvm::function_ref<void(unsigned, Value)> complete)
      : builder(builder), variables(variables), complete(complete),
        sums(variables.size()) {}

  LogicalResult run(Block &block, ArrayRef<GradientSeed> seeds);

private:
  void findDependent(Block &block);
  LogicalResult verifyResults(Block &block);
  void findPaths(Block &block, ArrayRef<GradientSeed> seeds);
  /// Repeats the boundaries behind which `op` stands, all where it is null.
  void passBoundaries(Operation *op);
  LogicalResult visit(Operation &op);
  /// Builds the gradients of the operands of `op` and adds them to the sums.
  LogicalResult addGradients(DifferentiableOpInterface op,
                             ArrayRef<Value> resultGradients);
  void contribute(Value value, Value gradient, bool isOwn);
  void addToVariable(unsigned variable, Value gradient, bool isOwn);
  void finish(unsigned variable);
  Value widen(Value value);

  OpBuilder &builder;
  ArrayRef<GradientVariable> variables;
  llvm::function_ref<void(unsigned, Value)> complete;

  DenseMap<Value, unsigned> variableOf;
  /// Values that depend on a variable.
  DenseSet<Value> dependent;
  /// The operations on a path from a variable to an output, in reverse order.
  SmallVector<Operation *> path;
  /// The variables whose last contribution comes from an operation.
  DenseMap<Operation *, SmallVector<unsigned, 1>> finishedBy;
  SmallVector<unsigned> unreached;
  /// Those between groups of layers that are still to be passed.
  SmallVector<StageBoundaryOp> boundaries;

  DenseMap<Value, Value> gradients;
  /// Gradients that are contributions already: more than one value may have
  /// the same.
  DenseSet<Value> held;
  SmallVector<Sum> sums;
};

} // namespace

void Backward::findDependent(Block &block) {
  for (auto [index, variable] : llvm::enumerate(variables))
    for (Value value : variable.values) {
      variableOf[value] = index;
      dependent.insert(value);
    }
  for (Operation &op : block)
    if (llvm::any_of(getReads(op),
                     [&](Value read) { return dependent.contains(read); }))
      for (Value result : op.getResults())
        if (isDifferentiable(result))
          dependent.insert(result);
}

/// What takes a trained value and gives none hides where the value goes.
LogicalResult Backward::verifyResults(Block &block) {
  for (Operation &op : block) {
    if (op.getNumResults() != 0 || op.hasTrait<OpTrait::IsTerminator>() ||
        isMemoryEffectFree(&op))
      continue;
    for (Value read : getReads(op))
      if (dependent.contains(read))
        return op.emitOpError(
            "takes a trained value and gives no result that its gradient could "
            "come back from: take it out of the model");
  }
  return success();
}

void Backward::findPaths(Block &block, ArrayRef<GradientSeed> seeds) {
  DenseSet<Value> useful;
  for (const GradientSeed &seed : seeds)
    useful.insert(seed.output);
  SmallVector<Operation *> earliestUse(variables.size(), nullptr);
  for (Operation &op : llvm::reverse(block)) {
    bool onPath = llvm::any_of(op.getResults(), [&](Value result) {
      return dependent.contains(result) && useful.contains(result) &&
             !variableOf.contains(result);
    });
    if (!onPath)
      continue;
    path.push_back(&op);
    for (Value read : getReads(op)) {
      if (!dependent.contains(read))
        continue;
      useful.insert(read);
      if (auto found = variableOf.find(read); found != variableOf.end())
        earliestUse[found->second] = &op;
    }
  }
  for (auto [index, op] : llvm::enumerate(earliestUse)) {
    if (op)
      finishedBy[op].push_back(index);
    else
      unreached.push_back(index);
  }
}

Value Backward::widen(Value value) {
  Type wide = withElementType(value.getType(), builder.getF32Type());
  return arith::ExtFOp::create(builder, value.getLoc(), wide, value);
}

/// Lets a gradient start from the partial sum instead of adding the two, where
/// its operation can. `isOwn`: nothing else holds this gradient.
static bool startFrom(Value sum, Value gradient, bool isOwn) {
  auto op = gradient.getDefiningOp<AccumulatingOpInterface>();
  if (!isOwn || !op || gradient != op->getResult(0) ||
      !op.getInitMutable().empty() || !gradient.use_empty())
    return false;
  op.getInitMutable().assign(sum);
  return true;
}

void Backward::addToVariable(unsigned variable, Value gradient, bool isOwn) {
  Sum &sum = sums[variable];
  if (!sum.value) {
    sum.value = gradient;
    return;
  }
  if (!sum.wide && startFrom(sum.value, gradient, isOwn)) {
    sum.value = gradient;
    return;
  }
  Type element = getElementTypeOrSelf(gradient.getType());
  if (element.getIntOrFloatBitWidth() < 32) {
    gradient = widen(gradient);
    if (!sum.wide)
      sum.value = widen(sum.value);
    sum.wide = true;
  }
  sum.value =
      arith::AddFOp::create(builder, gradient.getLoc(), sum.value, gradient);
}

void Backward::finish(unsigned variable) {
  Sum &sum = sums[variable];
  if (sum.wide)
    sum.value = arith::TruncFOp::create(
        builder, sum.value.getLoc(),
        variables[variable].values.front().getType(), sum.value);
  complete(variable, sum.value);
}

void Backward::contribute(Value value, Value gradient, bool isOwn) {
  if (auto found = variableOf.find(value); found != variableOf.end())
    return addToVariable(found->second, gradient, isOwn);
  Value &sum = gradients[value];
  if (sum && !startFrom(sum, gradient, isOwn))
    gradient = arith::AddFOp::create(builder, gradient.getLoc(), sum, gradient);
  sum = gradient;
}

/// What `op` waits for, or `op` where it gives a handle; null for all others.
static Operation *findStart(Operation &op) {
  for (Value operand : op.getOperands())
    if (isa<PendingType>(operand.getType()))
      if (Operation *start = operand.getDefiningOp())
        return start;
  return llvm::any_of(op.getResultTypes(), llvm::IsaPred<PendingType>)
             ? &op
             : nullptr;
}

void Backward::passBoundaries(Operation *op) {
  while (!boundaries.empty() && (!op || op->isBeforeInBlock(boundaries.back())))
    builder.clone(*boundaries.pop_back_val());
}

LogicalResult Backward::visit(Operation &op) {
  SmallVector<Value> resultGradients;
  for (Value result : op.getResults())
    resultGradients.push_back(gradients.lookup(result));
  // All zero: so are the operands' gradients.
  if (llvm::none_of(resultGradients, [](Value value) { return value; }))
    return success();

  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable && findStart(op))
    return findStart(op)->emitOpError(
        "is started on a path from a trained value to the loss, and what is "
        "started has no gradient: compute the value in the model without it, "
        "or start it on what is not trained");
  if (!differentiable)
    return op.emitOpError(
        "is on a path from a trained value to the loss and has no gradient: "
        "implement DifferentiableOpInterface for it, or attach an external "
        "model of the interface");
  for (Value read : getReads(op))
    if (dependent.contains(read) && !llvm::is_contained(op.getOperands(), read))
      return op.emitOpError(
          "captures a trained value in its region, where no "
          "gradient reaches it: pass the value as an operand");

  return addGradients(differentiable, resultGradients);
}

LogicalResult Backward::addGradients(DifferentiableOpInterface op,
                                     ArrayRef<Value> resultGradients) {
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(dependent.contains(operand));
  SmallVector<Value> operandGradients(op->getNumOperands());
  if (failed(
          op.buildGradient(builder, resultGradients, wanted, operandGradients)))
    return failure();
  for (auto [index, operand, gradient] :
       llvm::enumerate(op->getOperands(), operandGradients)) {
    if (!gradient || !wanted[index])
      continue;
    if (gradient.getType() != operand.getType())
      return op->emitOpError()
             << "built a gradient of " << gradient.getType() << " for operand "
             << index << " of " << operand.getType()
             << ": a gradient has its operand's type";
    bool isOwn = llvm::count(operandGradients, gradient) == 1 &&
                 !held.contains(gradient);
    contribute(operand, gradient, isOwn);
    held.insert(gradient);
  }
  return success();
}

LogicalResult Backward::run(Block &block, ArrayRef<GradientSeed> seeds) {
  findDependent(block);
  if (failed(verifyResults(block)))
    return failure();
  findPaths(block, seeds);
  for (const GradientSeed &seed : seeds)
    if (dependent.contains(seed.output))
      contribute(seed.output, seed.gradient, /*isOwn=*/false);
  llvm::append_range(boundaries, block.getOps<StageBoundaryOp>());
  for (Operation *op : path) {
    passBoundaries(op);
    if (failed(visit(*op)))
      return failure();
    if (auto found = finishedBy.find(op); found != finishedBy.end())
      for (unsigned variable : found->second)
        finish(variable);
  }
  passBoundaries(/*op=*/nullptr);
  for (unsigned variable : unreached)
    finish(variable);
  return success();
}

LogicalResult
mlir::zero::differentiate(OpBuilder &builder, Block &block,
                          ArrayRef<GradientSeed> seeds,
                          ArrayRef<GradientVariable> variables,
                          llvm::function_ref<void(unsigned, Value)> complete) {
  return Backward(builder, variables, complete).run(block, seeds);
}
