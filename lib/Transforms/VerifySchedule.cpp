//===- VerifySchedule.cpp - reject a schedule that is wrong ---------------===//
//
// The topics are in the files Verify*.cpp.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {
struct VerifySchedule : public zero::impl::VerifyScheduleBase<VerifySchedule> {
  using VerifyScheduleBase::VerifyScheduleBase;
  void runOnOperation() override;

private:
  LogicalResult verifyStep(ModuleOp module, StepOp step);
  LogicalResult verifyRun(SmallVectorImpl<StepOp> &ranks);
};
} // namespace

LogicalResult VerifySchedule::verifyStep(ModuleOp module, StepOp step) {
  Tables tables(module, step);
  if (failed(verifyRegions(tables)) || failed(verifyPartitions(tables)) ||
      failed(verifyMarks(tables)) || failed(verifyValues(module, step)) ||
      failed(verifyHandles(tables)) || failed(verifyOffload(tables)) ||
      failed(verifyActivations(tables)) || failed(verifyStash(tables)) ||
      failed(verifyLifetimes(tables)) || failed(verifySlices(tables)) ||
      failed(verifyReads(tables)) || failed(verifyUpdates(tables)) ||
      failed(verifyWeights(tables)) || failed(verifyGradients(tables)) ||
      failed(verifyQuantization(tables)) ||
      failed(verifyTraffic(
          tables,
          getSetting(maxReuseDistance,
                     tables.training.getPlanning().getMaxReuseDistance()),
          report)) ||
      failed(verifyPlaces(tables)) || failed(verifyStreams(tables)))
    return failure();
  return verifyMemory(tables);
}

LogicalResult VerifySchedule::verifyRun(SmallVectorImpl<StepOp> &ranks) {
  if (ranks.empty())
    return getConfiguredSchedule(getOperation());
  for (StepOp step : ranks)
    if (failed(getConfiguredSchedule(step->getParentOfType<ModuleOp>())))
      return failure();
  // First what the programs are, then each by itself: what one rank does
  // wrong is said best where it is done.
  if (failed(verifyRanks(getOperation(), ranks)))
    return failure();
  for (StepOp step : ranks)
    if (failed(verifyStep(step->getParentOfType<ModuleOp>(), step)))
      return failure();
  return success(succeeded(verifyOrder(ranks)) &&
                 succeeded(verifyOperations(ranks)));
}

void VerifySchedule::runOnOperation() {
  SmallVector<StepOp> ranks;
  getOperation()->walk([&](StepOp step) {
    ranks.push_back(step);
    return WalkResult::skip();
  });
  if (failed(verifyRun(ranks))) {
    if (isInternal)
      remarkInternalError(getOperation());
    return signalPassFailure();
  }
  markAllAnalysesPreserved();
}
