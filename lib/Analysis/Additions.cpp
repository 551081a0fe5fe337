//===- Additions.cpp - which additions a kernel beside them can do --------===//

#include "zero/Analysis/Additions.h"

#include "zero/Analysis/ElementwiseGroups.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::zero;

bool FusableAddition::isBefore() const {
  AddendOpInterface op = by;
  return op.getSummed().getDefiningOp() != op;
}

SmallVector<Value> FusableAddition::getAddends() {
  SmallVector<Value> addends(addition.getOperands());
  if (!isBefore())
    llvm::erase(addends, by.getSummed());
  return addends;
}

/// Whether `addend` is a tensor by itself, and not what a generated kernel
/// makes of a smaller one as it reads it.
static bool isTensor(Value addend) {
  return !getSplatConstant(addend) &&
         findElementwiseSource(addend).value == addend;
}

/// Whether `value` exists at the place of `op`, in the same block.
static bool existsAt(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

/// Whether something reads `value` before `op` does.
static bool isReadBefore(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && inBlock != op && inBlock->isBeforeInBlock(op);
  });
}

/// The addition whose sum `op` reads, or to which its result goes and nowhere
/// else; null if there is none.
static arith::AddFOp findAddition(AddendOpInterface op) {
  Value summed = op.getSummed();
  if (summed.getDefiningOp() != op)
    return summed.getDefiningOp<arith::AddFOp>();
  if (!summed.hasOneUse())
    return {};
  return dyn_cast<arith::AddFOp>(*summed.getUsers().begin());
}

SmallVector<FusableAddition> zero::findFusableAdditions(Block &block) {
  // What shares a kernel with others is not rounded between them.
  llvm::SmallPtrSet<Operation *, 16> alone;
  for (const ElementwiseGroup &group : findElementwiseGroups(block))
    if (group.members.size() == 1)
      alone.insert(group.members.front());
  SmallVector<FusableAddition> found;
  for (Operation &op : block) {
    auto by = dyn_cast<AddendOpInterface>(&op);
    arith::AddFOp addition = by ? findAddition(by) : arith::AddFOp();
    if (!addition || !alone.contains(addition))
      continue;
    FusableAddition fusable{addition, by};
    if (llvm::all_of(addition.getOperands(), isTensor) &&
        llvm::all_of(fusable.getAddends(),
                     [&](Value addend) { return existsAt(addend, by); }) &&
        !isReadBefore(addition, by)) {
      alone.erase(addition);
      found.push_back(fusable);
    }
  }
  return found;
}
