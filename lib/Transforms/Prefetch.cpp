//===- Prefetch.cpp - start gathers before they are needed ----------------===//

#include "Carry.h"

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Cost/CostModel.h"
#include "zero/Cost/PrefetchPlan.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_PREFETCH
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct Prefetch : public zero::impl::PrefetchBase<Prefetch> {
  using PrefetchBase::PrefetchBase;
  void runOnOperation() override;

private:
  PrefetchLimits getLimits(PlanningAttr planning);
};

} // namespace

static WaitOp waitOf(Operation *start) {
  return cast<WaitOp>(*start->getUsers().begin());
}

static GatherUse describe(Operation *start, const BlockOrder &order,
                          const DenseMap<Value, Operation *> &lastUses,
                          const CostModel &model) {
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

static BlockSeconds measure(Block &block, const BlockOrder &order,
                            const CostModel &model) {
  BlockSeconds seconds;
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
  return seconds;
}

static SmallVector<size_t> choose(Block &block, ArrayRef<GatherUse> gathers,
                                  const BlockOrder &order,
                                  const CostModel &model,
                                  const PrefetchLimits &limits) {
  if (limits.inFlight > 0)
    return startEarly(gathers, limits);
  if (model.getMachine().worksAtWait) // and so hides nothing
    return llvm::to_vector(llvm::seq<size_t>(0, gathers.size()));
  return startInTime(gathers, limits, measure(block, order, model));
}

static LogicalResult runOnBlock(Block &block, const Handles &handles,
                                const CostModel &model,
                                const PrefetchLimits &limits) {
  BlockOrder order(block);
  DenseMap<Value, Operation *> lastUses =
      findLastUses({&block}, order, handles);
  SmallVector<Operation *> starts;
  for (Operation &op : block)
    if (isGather(&op)) {
      if (FailureOr<WaitOp> wait = findOwnWait(&op); failed(wait))
        return failure();
      starts.push_back(&op);
    }
  SmallVector<GatherUse> gathers;
  for (Operation *start : starts)
    gathers.push_back(describe(start, order, lastUses, model));
  SmallVector<size_t> before = choose(block, gathers, order, model, limits);
  for (auto [index, start] : llvm::enumerate(starts))
    if (before[index] != index)
      start->moveBefore(waitOf(starts[before[index]]));
  return success();
}

PrefetchLimits Prefetch::getLimits(PlanningAttr planning) {
  return {getSetting(maxInFlight, planning.getGathersInFlight()),
          getSetting(prefetchBucketSize, planning.getPrefetchBucketSize()),
          getSetting(maxLiveParameters, planning.getMaxLiveParameters())};
}

void Prefetch::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  PlanningAttr planning = step.getTraining()->getPlanning();
  FailureOr<Machine> machine = readMachine(step, this->machine);
  if (failed(machine))
    return signalPassFailure();
  CostModel model =
      makeCostModel(*machine, getOperation(), *step.getTraining());
  Handles handles(step);
  for (Operation &region : step.getBody().front())
    if (isa<MicroOp, EvaluateOp>(region))
      if (failed(runOnBlock(region.getRegion(0).front(), handles, model,
                            getLimits(planning))))
        return signalPassFailure();
}
