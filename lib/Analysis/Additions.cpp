//===- Additions.cpp - which additions a kernel beside can do -------------===//

#include "zero/Analysis/Additions.h"

#include "zero/Analysis/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::zero;

bool zero::isReshape(Operation *op) {
  if (!isa<MoveOpInterface>(op) || op->getNumOperands() != 1 || !getView(op))
    return false;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  return from.hasStaticShape() && to.hasStaticShape() &&
         from.getNumElements() == to.getNumElements();
}

/// What `value` is a reshape of.
static Value skipReshapes(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isReshape(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

SmallVector<Value> FusableAddition::getAddends() {
  SmallVector<Value> addends;
  for (Value operand : addition.getOperands())
    if (operand != shared)
      addends.push_back(skipReshapes(operand));
  return addends;
}

/// Whether `value`, inside of a loop nest, is an element of input `index`.
static bool isElementOf(Value value, unsigned index) {
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    value = extended.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() == index;
}

/// Whether `kernel` gives the sum of its two arguments, rounded once.
static bool addsTwoTensors(func::FuncOp kernel) {
  if (!kernel || kernel.isExternal() || kernel.getNumArguments() != 2 ||
      kernel.getNumResults() != 1)
    return false;
  auto loops = kernel.getBody().getOps<linalg::GenericOp>();
  if (!llvm::hasSingleElement(loops) ||
      !llvm::all_equal({kernel.getArgumentTypes()[0],
                        kernel.getArgumentTypes()[1],
                        kernel.getResultTypes()[0]}))
    return false;
  linalg::GenericOp loop = *loops.begin();
  if (kernel.getBody().front().getTerminator()->getOperand(0) !=
          loop.getResult(0) ||
      loop.getInputs() != ValueRange(kernel.getArguments()) ||
      !llvm::all_of(loop.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Value sum = loop.getBody()->getTerminator()->getOperand(0);
  if (auto rounded = sum.getDefiningOp<arith::TruncFOp>())
    sum = rounded.getIn();
  auto add = sum.getDefiningOp<arith::AddFOp>();
  return add &&
         ((isElementOf(add.getLhs(), 0) && isElementOf(add.getRhs(), 1)) ||
          (isElementOf(add.getLhs(), 1) && isElementOf(add.getRhs(), 0)));
}

/// `op` as an addition; null for others.
LaunchOp Additions::getAddition(Operation *op) {
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch)
    return {};
  auto [known, isNew] = adds.try_emplace(launch.getKernelAttr());
  if (isNew)
    known->second = addsTwoTensors(tables.lookupNearestSymbolFrom<func::FuncOp>(
        launch, launch.getKernelAttr()));
  return known->second ? launch : LaunchOp();
}

/// Whether `value` exists at the place of `op`, in the same block.
static bool existsAt(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

/// Whether something reads `value`, in whatever shape, before `op` does.
static bool isReadBefore(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    if (!inBlock || inBlock == op || !inBlock->isBeforeInBlock(op))
      return false;
    return !isReshape(user) || isReadBefore(user->getResult(0), op);
  });
}

/// The addition whose sum `by` reads, or to which its result goes and nowhere
/// else; nothing if there is none.
std::optional<FusableAddition> Additions::findBeside(AddendOpInterface by) {
  Value shared = by.getSummed();
  if (shared.getDefiningOp() != by) {
    while (Operation *def = shared.getDefiningOp()) {
      if (LaunchOp addition = getAddition(def))
        return FusableAddition{addition, by, shared};
      if (!isReshape(def))
        break;
      shared = def->getOperand(0);
    }
    return std::nullopt;
  }
  while (shared.hasOneUse()) {
    Operation *user = *shared.getUsers().begin();
    if (LaunchOp addition = getAddition(user))
      return FusableAddition{addition, by, shared};
    if (!isReshape(user))
      break;
    shared = user->getResult(0);
  }
  return std::nullopt;
}

std::optional<FusableAddition> Additions::find(AddendOpInterface by) {
  std::optional<FusableAddition> fusable = findBeside(by);
  if (!fusable || fusable->addition->getBlock() != by->getBlock() ||
      isReadBefore(fusable->addition.getResult(0), by) ||
      !llvm::all_of(fusable->getAddends(),
                    [&](Value addend) { return existsAt(addend, by); }))
    return std::nullopt;
  return fusable;
}
