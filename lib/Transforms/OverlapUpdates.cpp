//===- OverlapUpdates.cpp - copy while the host updates -------------------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "Carry.h"

namespace mlir::zero {
#define GEN_PASS_DEF_OVERLAPUPDATES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct OverlapUpdates : public zero::impl::OverlapUpdatesBase<OverlapUpdates> {
  using OverlapUpdatesBase::OverlapUpdatesBase;
  void runOnOperation() override;
};

/// The update of one sub-group on the host: the starts that bring what it
/// reads, and those that take what it gives, with their waits. No copy of
/// parameters where these are on the host, and no file where states are not in
/// one.
struct SubGroup {
  SmallVector<AsyncOpInterface> reads;
  UpdateOnHostOp update;
  CopyToDeviceOp copy;
  WriteStatesOp write;
  WaitOp copyWait, writeWait;
};

} // namespace

/// The wait for `op`, in the same region.
static FailureOr<WaitOp> findWaitHere(AsyncOpInterface op) {
  FailureOr<WaitOp> wait = findOwnWait(op);
  if (succeeded(wait) && !*wait)
    return op->emitOpError("is carried to another region");
  return wait;
}

/// What takes a result of `update`, and its wait; nothing where no `TakeOp`
/// does.
template <typename TakeOp>
static LogicalResult collectTake(WaitOp updated, TakeOp &take, WaitOp &end) {
  for (Operation *user : updated->getUsers())
    if (auto found = dyn_cast<TakeOp>(user))
      take = found;
  if (!take)
    return success();
  FailureOr<WaitOp> wait = findWaitHere(take);
  if (succeeded(wait))
    end = *wait;
  return wait;
}

static FailureOr<SubGroup> collect(UpdateOnHostOp update) {
  SubGroup group;
  group.update = update;
  for (Value operand : update->getOperands())
    if (auto wait = operand.getDefiningOp<WaitOp>())
      if (auto read = wait.getPending().getDefiningOp<AsyncOpInterface>();
          read && !llvm::is_contained(group.reads, read))
        group.reads.push_back(read);
  FailureOr<WaitOp> wait = findWaitHere(update);
  if (failed(wait) || failed(collectTake(*wait, group.copy, group.copyWait)) ||
      failed(collectTake(*wait, group.write, group.writeWait)))
    return failure();
  return group;
}

/// Whether both write parameters that are gathered together.
static bool haveOnePartition(const SubGroup &a, const SubGroup &b) {
  return UpdateOnHostOp(a.update).getPartitionAttr() ==
         UpdateOnHostOp(b.update).getPartitionAttr();
}

/// Where all that was updated must be in its file: parameters before they are
/// read from there and gathered, and states at the end.
static Block::iterator findEndOfWrites(ArrayRef<SubGroup> groups,
                                       const PartitionTable &partitions,
                                       Block &apply) {
  if (llvm::any_of(groups, [&](const SubGroup &group) {
        return partitions.find(UpdateOnHostOp(group.update).getPartitionAttr())
            .hasParametersInFile();
      }))
    for (Operation &op : apply)
      if (op.hasTrait<GathersSlices>())
        return Block::iterator(op);
  return apply.end();
}

/// Lets each sub-group be written to its file during what follows, until the
/// next one is, and the last until `end`.
static void delayWrites(ArrayRef<SubGroup> groups, Block &apply,
                        Block::iterator end) {
  WaitOp wait;
  for (const SubGroup &group : groups) {
    if (!group.write)
      continue;
    if (wait)
      wait->moveBefore(group.write);
    wait = group.writeWait;
  }
  if (wait)
    wait->moveBefore(&apply, end);
}

/// What is in files is known before the gradients are: the first of it is read
/// while those are checked.
static void hoistFirstRead(const SubGroup &group, Block &apply) {
  for (AsyncOpInterface read : group.reads)
    if (isa<ReadStatesOp>(read))
      read->moveBefore(&apply.front());
}

void OverlapUpdates::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  OffloadAttr offload = step->getTraining()->getPlanning().getOffload();
  auto apply = step->getRegionOp<ApplyOp>();
  if (!offload || !apply)
    return;
  SmallVector<SubGroup> groups;
  for (auto update : apply.getBody().getOps<UpdateOnHostOp>()) {
    FailureOr<SubGroup> group = collect(update);
    if (failed(group))
      return signalPassFailure();
    groups.push_back(*group);
  }
  if (offload.getPipelineRead() && !groups.empty())
    hoistFirstRead(groups.front(), apply.getBody().front());
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    // Before it: a device's copies wait for what was queued before them.
    if (offload.getPipelineRead())
      for (AsyncOpInterface read : groups[i + 1].reads)
        read->moveBefore(groups[i].update);
    // What is gathered next must have arrived.
    if (offload.getPipelineWrite() && groups[i].copy && groups[i + 1].copy &&
        haveOnePartition(groups[i], groups[i + 1]))
      groups[i].copyWait->moveBefore(groups[i + 1].copy);
  }
  if (offload.getPipelineWrite())
    delayWrites(groups, apply.getBody().front(),
                findEndOfWrites(groups, PartitionTable(*step),
                                apply.getBody().front()));
}
