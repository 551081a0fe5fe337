//===- LastUse.cpp - where values are needed last -------------------------===//

#include "zero/Analysis/LastUse.h"

#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"

using namespace mlir;
using namespace mlir::zero;

BlockOrder::BlockOrder(ArrayRef<Block *> blocks) {
  int64_t next = 0;
  for (Block *block : blocks)
    for (Operation &op : *block)
      positions[&op] = next++;
}

/// The operation through which `op` is done with its operands.
static Operation *doneWith(Operation &op, const BlockOrder &order,
                           const Handles &handles) {
  if (op.getNumResults() != 1 || !isa<PendingType>(op.getResult(0).getType()))
    return &op;
  Operation *wait = handles.findWait(&op);
  return wait && order[wait] > order[&op] ? wait : &op;
}

DenseMap<Value, Operation *> mlir::zero::findLastUses(ArrayRef<Block *> blocks,
                                                      const BlockOrder &order,
                                                      const Handles &handles) {
  DenseMap<Value, Operation *> last;
  for (Block *block : blocks)
    for (Operation &op : *block) {
      if (isa<FreeOp>(op))
        continue;
      Operation *done = doneWith(op, order, handles);
      for (Value operand : op.getOperands()) {
        Operation *&known = last[getRoot(operand)];
        if (!known || order[known] < order[done])
          known = done;
      }
    }
  return last;
}
