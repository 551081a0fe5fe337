//===- BlockGathers.cpp - the gathers of a block, as plans see them -------===//

#include "BlockGathers.h"
#include "Carry.h"

#include "zero/Analysis/Schedule.h"

using namespace mlir;
using namespace mlir::zero;

WaitOp BlockGathers::waitOf(Operation *start) {
  return cast<WaitOp>(*start->getUsers().begin());
}

GatherUse BlockGathers::describe(Operation *start,
                                 const DenseMap<Value, Operation *> &lastUses,
                                 const CostModel &model) const {
  GatherUse gather;
  WaitOp wait = waitOf(start);
  gather.neededAt = gather.lastUse = order[wait];
  gather.seconds = model.costOf(start);
  for (Value sent : start->getOperands())
    if (Operation *made = sent.getDefiningOp())
      gather.readyAt = std::max(gather.readyAt, order[made]);
  for (Value whole : wait.getResults()) {
    gather.elements += cast<RankedTensorType>(whole.getType()).getNumElements();
    if (Operation *last = lastUses.lookup(whole))
      gather.lastUse = std::max(gather.lastUse, order[last]);
  }
  return gather;
}

void BlockGathers::measure(Block &block, const CostModel &model) {
  double kernels = 0;
  for (Operation &op : block) {
    seconds.kernels.push_back(kernels);
    if (!isCollective(&op)) {
      kernels += model.costOf(&op);
    } else if (!isGather(&op)) {
      OtherCollective other{order[&op], std::nullopt, model.costOf(&op)};
      for (Operation *user : op.getUsers())
        if (isa<WaitOp>(user) && user->getBlock() == &block)
          other.neededAt = order[user];
      seconds.others.push_back(other);
    }
  }
  seconds.kernels.push_back(kernels);
}

FailureOr<BlockGathers> BlockGathers::find(Block &block, const Handles &handles,
                                           const CostModel &model) {
  BlockGathers gathers(block);
  for (Operation &op : block)
    if (isGather(&op)) {
      if (failed(findOwnWait(&op)))
        return failure();
      gathers.starts.push_back(&op);
    }
  DenseMap<Value, Operation *> lastUses =
      findLastUses({&block}, gathers.order, handles);
  for (Operation *start : gathers.starts)
    gathers.uses.push_back(gathers.describe(start, lastUses, model));
  gathers.measure(block, model);
  return gathers;
}
