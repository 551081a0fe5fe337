//===- VerifySchedule.cpp - reject a schedule that is wrong ---------------===//
//
// The topics are in the files Verify*.cpp.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

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
};
} // namespace

LogicalResult VerifySchedule::verifyStep(ModuleOp module, StepOp step) {
  if (failed(getConfiguredSchedule(module)))
    return failure();
  Tables tables(module, step);
  if (failed(verifyPartitions(tables)) || failed(verifyHandles(tables)) ||
      failed(verifyLifetimes(tables)) || failed(verifyReads(tables)) ||
      failed(verifyUpdates(tables)) || failed(verifyGradients(tables)) ||
      failed(verifyTraffic(tables, maxReuseDistance, report)) ||
      failed(verifyPlaces(tables)) || failed(verifyStreams(tables)))
    return failure();
  return verifyMemory(tables);
}

void VerifySchedule::runOnOperation() {
  SmallVector<StepOp> ranks;
  WalkResult walk = getOperation()->walk([&](StepOp step) {
    ranks.push_back(step);
    ModuleOp module = step->getParentOfType<ModuleOp>();
    return failed(verifyStep(module, step)) ? WalkResult::interrupt()
                                            : WalkResult::skip();
  });
  bool hasStep =
      !ranks.empty() || succeeded(getConfiguredSchedule(getOperation()));
  if (walk.wasInterrupted() || !hasStep || failed(verifyOrder(ranks)))
    return signalPassFailure();
  markAllAnalysesPreserved();
}
