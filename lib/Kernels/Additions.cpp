//===- Additions.cpp - which additions a kernel beside can do -------------===//

#include "zero/Kernels/Additions.h"

#include "zero/Analysis/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::zero;

/// The value of which `value` is a reshape.
static Value skipReshapes(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!movesNothing(def))
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

/// Counts in `counts` how often the sum `value`, inside of a loop nest, has
/// each input; whether it is a sum of inputs.
static bool countInputs(Value value, MutableArrayRef<unsigned> counts) {
  if (auto add = value.getDefiningOp<arith::AddFOp>())
    return countInputs(add.getLhs(), counts) &&
           countInputs(add.getRhs(), counts);
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    value = extended.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getArgNumber() >= counts.size())
    return false;
  ++counts[argument.getArgNumber()];
  return true;
}

/// Whether `kernel` gives the sum of its arguments, two or more, rounded once.
static bool addsTensors(func::FuncOp kernel) {
  if (!kernel || kernel.isExternal() || kernel.getNumArguments() < 2 ||
      kernel.getNumResults() != 1)
    return false;
  auto loops = kernel.getBody().getOps<linalg::GenericOp>();
  if (!llvm::hasSingleElement(loops) ||
      !llvm::all_equal(kernel.getArgumentTypes()) ||
      kernel.getArgumentTypes().front() != kernel.getResultTypes().front())
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
  SmallVector<unsigned> counts(kernel.getNumArguments(), 0);
  return countInputs(sum, counts) &&
         llvm::all_of(counts, [](unsigned count) { return count == 1; });
}

/// `op` as a sum; null for others.
LaunchOp Additions::getSum(Operation *op) {
  auto launch = dyn_cast<LaunchOp>(op);
  if (!launch)
    return {};
  auto [known, isNew] = adds.try_emplace(launch.getKernelAttr());
  if (isNew)
    known->second = addsTensors(tables.lookupNearestSymbolFrom<func::FuncOp>(
        launch, launch.getKernelAttr()));
  return known->second ? launch : LaunchOp();
}

/// `op` as a sum of two tensors; null for others.
LaunchOp Additions::getAddition(Operation *op) {
  LaunchOp sum = getSum(op);
  return sum && sum->getNumOperands() == 2 ? sum : LaunchOp();
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
    return !movesNothing(user) || isReadBefore(user->getResult(0), op);
  });
}

/// The addition whose sum `by` reads, or to which its result goes and nowhere
/// else; nothing if there is none.
std::optional<FusableAddition> Additions::findBeside(AddendOpInterface by) {
  Value shared = by.getSummed();
  if (!shared)
    return std::nullopt;
  if (shared.getDefiningOp() != by) {
    while (Operation *def = shared.getDefiningOp()) {
      if (LaunchOp addition = getAddition(def))
        return FusableAddition{addition, by, shared};
      if (!movesNothing(def))
        break;
      shared = def->getOperand(0);
    }
    return std::nullopt;
  }
  while (shared.hasOneUse()) {
    Operation *user = *shared.getUsers().begin();
    if (LaunchOp addition = getAddition(user))
      return FusableAddition{addition, by, shared};
    if (!movesNothing(user))
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

/// The operation that makes `addend` for `sum` alone, and could add the others
/// to it; null if there is none.
static AddendOpInterface getLink(Value addend, LaunchOp sum) {
  while (addend.hasOneUse()) {
    Operation *def = addend.getDefiningOp();
    if (!def || def->getBlock() != sum->getBlock())
      return {};
    if (movesNothing(def)) {
      addend = def->getOperand(0);
      continue;
    }
    auto link = dyn_cast<AddendOpInterface>(def);
    return link && !link.keepsBits() && link.getSummed() == addend
               ? link
               : AddendOpInterface();
  }
  return {};
}

std::optional<AdditionChain> Additions::findChain(LaunchOp launch) {
  AdditionChain chain{getSum(launch), {}, {}};
  if (!chain.sum)
    return std::nullopt;
  for (Value addend : chain.sum.getOperands()) {
    if (AddendOpInterface link = getLink(addend, chain.sum))
      chain.links.push_back(link);
    else if (!chain.first)
      chain.first = skipReshapes(addend);
    else
      return std::nullopt;
  }
  llvm::sort(chain.links,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  if (!chain.first) {
    chain.first = chain.links.front().getSummed();
    chain.links.erase(chain.links.begin());
  }
  if (!existsAt(chain.first, chain.links.front()))
    return std::nullopt;
  return chain;
}
