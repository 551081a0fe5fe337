//===- DataSharding.cpp - data that is moved before it is cut -------------===//

#include "zero/Analysis/Sharding.h"
#include "zero/Interfaces/Interfaces.h"

using namespace mlir;
using namespace mlir::zero;

/// Data that is whole is moved whole where it would be cut into several pieces
/// of a dimension that the move takes apart, as the rows of an image into
/// patches: of the pieces nobody could tell which of the dimensions they are
/// of.
void Sharding::moveData() {
  DenseSet<Value> whole(body->args_begin(), body->args_end());
  auto takesApart = [&](Operation &op) {
    CutAttr from = cutOf(op.getOperand(0), &op);
    CutAttr to = cutOf(op.getResult(0), &op);
    return from && to && from.getRepeats() * from.getPieces().size() > 1 &&
           to.getWholeSize() < from.getWholeSize();
  };
  for (Operation &op : *body) {
    if (!isa<MoveOpInterface>(op) || op.getNumOperands() != 1 ||
        op.getNumResults() != 1 || !whole.contains(op.getOperand(0)))
      continue;
    if (takesApart(op))
      cutOperations.erase(&op);
    if (!isCut(&op))
      whole.insert(op.getResult(0));
  }
}
