//===- Prefetch.cpp - start gathers before they are needed ----------------===//

#include "BlockGathers.h"

#include "zero/Analysis/Schedule.h"
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

static SmallVector<size_t> choose(const BlockGathers &gathers,
                                  const Machine &machine,
                                  const PrefetchLimits &limits) {
  ArrayRef<GatherUse> uses = gathers.getUses();
  if (limits.inFlight > 0)
    return startEarly(uses, limits);
  if (machine.worksAtWait) // and so hides nothing
    return llvm::to_vector(llvm::seq<size_t>(0, uses.size()));
  return startInTime(uses, limits, gathers.getSeconds());
}

static LogicalResult runOnBlock(Block &block, const Handles &handles,
                                const CostModel &model,
                                const PrefetchLimits &limits) {
  FailureOr<BlockGathers> gathers = BlockGathers::find(block, handles, model);
  if (failed(gathers))
    return failure();
  SmallVector<size_t> before = choose(*gathers, model.getMachine(), limits);
  for (auto [index, start] : llvm::enumerate(gathers->getStarts()))
    if (before[index] != index)
      start->moveBefore(gathers->getWait(before[index]));
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
