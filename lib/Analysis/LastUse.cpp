//===- LastUse.cpp - where values are needed last -------------------------===//

#include "zero/Analysis/LastUse.h"

#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"

using namespace mlir;
using namespace mlir::zero;

BlockOrder::BlockOrder(Block &block) {
  int64_t next = 0;
  for (Operation &op : block)
    positions[&op] = next++;
}

/// The operation through which `op` is done with its operands.
static Operation *doneWith(Operation &op, const BlockOrder &order) {
  Operation *done = &op;
  for (Value result : op.getResults())
    if (isa<PendingType>(result.getType()))
      for (Operation *user : result.getUsers())
        if (order[user] > order[done])
          done = user;
  return done;
}

DenseMap<Value, Operation *> mlir::zero::findLastUses(Block &block,
                                                      const BlockOrder &order) {
  DenseMap<Value, Operation *> last;
  for (Operation &op : block) {
    if (isa<FreeOp>(op))
      continue;
    Operation *done = doneWith(op, order);
    for (Value operand : op.getOperands()) {
      Operation *&known = last[getRoot(operand)];
      if (!known || order[known] < order[done])
        known = done;
    }
  }
  return last;
}
