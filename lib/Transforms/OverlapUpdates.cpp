//===- OverlapUpdates.cpp - copy while the host updates -------------------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
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

/// The update of one sub-group on the host, with its copies; no write where
/// parameters are on the host.
struct SubGroup {
  SmallVector<CopyToHostOp> reads;
  UpdateOnHostOp update;
  CopyToDeviceOp write;
  WaitOp writeWait;
};

} // namespace

static FailureOr<SubGroup> collect(UpdateOnHostOp update) {
  SubGroup group;
  group.update = update;
  for (Value operand : update->getOperands())
    if (auto wait = operand.getDefiningOp<WaitOp>())
      if (auto read = wait.getPending().getDefiningOp<CopyToHostOp>())
        group.reads.push_back(read);
  FailureOr<WaitOp> wait = findOwnWait(update);
  if (failed(wait))
    return failure();
  if (!*wait)
    return update.emitOpError("is carried to another region");
  if ((*wait).getNumResults() == 0)
    return group;
  for (Operation *user : (*wait).getResult(0).getUsers())
    if (auto write = dyn_cast<CopyToDeviceOp>(user))
      group.write = write;
  if (!group.write)
    return update.emitOpError("gives parameters that no "
                              "'zero.copy_to_device' takes back");
  FailureOr<WaitOp> writeWait = findOwnWait(group.write);
  if (failed(writeWait))
    return failure();
  if (!*writeWait)
    return group.write.emitOpError("is carried to another region");
  group.writeWait = *writeWait;
  return group;
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
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    Operation *place = groups[i].update;
    if (offload.getPipelineRead())
      for (CopyToHostOp read : groups[i + 1].reads) {
        read->moveAfter(place);
        place = read;
      }
    // What is gathered next must have arrived.
    if (offload.getPipelineWrite() && groups[i].write && groups[i + 1].write &&
        groups[i].update.getPartitionAttr() ==
            groups[i + 1].update.getPartitionAttr())
      groups[i].writeWait->moveBefore(groups[i + 1].write);
  }
}
