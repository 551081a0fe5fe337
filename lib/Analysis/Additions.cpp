//===- Additions.cpp - which additions a kernel beside can do -------------===//

#include "zero/Analysis/Additions.h"

#include "zero/Analysis/Views.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::zero;

SmallVector<Value> FusableAddition::getAddends() {
  SmallVector<Value> addends(addition.getOperands());
  llvm::erase(addends, shared);
  return addends;
}

bool zero::isReshape(Operation *op) {
  if (!isa<MoveOpInterface>(op) || op->getNumOperands() != 1 || !getView(op))
    return false;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  return from.hasStaticShape() && to.hasStaticShape() &&
         from.getNumElements() == to.getNumElements();
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

namespace {

/// Which launches add. Remembers kernels that it has looked at.
class Additions {
public:
  /// `op` as an addition; null for others.
  LaunchOp get(Operation *op) {
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      return {};
    auto [known, isNew] = adds.try_emplace(launch.getKernelAttr());
    if (isNew)
      known->second =
          addsTwoTensors(tables.lookupNearestSymbolFrom<func::FuncOp>(
              launch, launch.getKernelAttr()));
    return known->second ? launch : LaunchOp();
  }
  std::optional<FusableAddition> find(AddendOpInterface op);

private:
  SymbolTableCollection tables;
  DenseMap<Attribute, bool> adds;
};

} // namespace

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

/// The addition whose sum `op` reads, or to which its result goes and nowhere
/// else; nothing if there is none.
std::optional<FusableAddition> Additions::find(AddendOpInterface op) {
  Value shared = op.getSummed();
  if (shared.getDefiningOp() != op) {
    while (Operation *def = shared.getDefiningOp()) {
      if (LaunchOp addition = get(def))
        return FusableAddition{addition, op, shared};
      if (!isReshape(def))
        break;
      shared = def->getOperand(0);
    }
    return std::nullopt;
  }
  while (shared.hasOneUse()) {
    Operation *user = *shared.getUsers().begin();
    if (LaunchOp addition = get(user))
      return FusableAddition{addition, op, shared};
    if (!isReshape(user))
      break;
    shared = user->getResult(0);
  }
  return std::nullopt;
}

SmallVector<FusableAddition> zero::findFusableAdditions(Block &block) {
  Additions additions;
  llvm::SmallPtrSet<Operation *, 16> taken;
  SmallVector<FusableAddition> found;
  for (AddendOpInterface by : block.getOps<AddendOpInterface>()) {
    std::optional<FusableAddition> fusable = additions.find(by);
    if (!fusable || fusable->addition->getBlock() != &block ||
        isReadBefore(fusable->addition.getResult(0), by) ||
        !llvm::all_of(fusable->getAddends(),
                      [&](Value addend) { return existsAt(addend, by); }) ||
        !taken.insert(fusable->addition).second)
      continue;
    found.push_back(*fusable);
  }
  return found;
}
