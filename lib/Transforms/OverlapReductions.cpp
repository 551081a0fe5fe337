//===- OverlapReductions.cpp - compute while gradients travel -------------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include <deque>

namespace mlir::zero {
#define GEN_PASS_DEF_OVERLAPREDUCTIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A started operation that nothing has waited for yet, with its wait and what
/// must follow the wait.
struct Started {
  Operation *start = nullptr;
  SmallVector<Operation *> finish;
};

struct OverlapReductions
    : public zero::impl::OverlapReductionsBase<OverlapReductions> {
  using OverlapReductionsBase::OverlapReductionsBase;
  void runOnOperation() override;

private:
  void overlapIn(Block &block);
};

} // namespace

static bool isOverlapped(Operation &op) {
  return isa<AllReduceOp, ReduceScatterOp, BucketedReduceOp, RefreshOp,
             RefreshResidentOp>(op);
}

/// Operations that read or write state which a started reduction still fills.
static bool needsReduced(Operation &op) {
  return isa<GradStatsOp, UpdateOp, YieldOp>(op);
}

void OverlapReductions::overlapIn(Block &block) {
  SmallVector<Started> found;
  for (Operation &op : block) {
    if (!isOverlapped(op))
      continue;
    Started started;
    started.start = &op;
    auto wait = cast<WaitOp>(*op.getResult(0).getUsers().begin());
    started.finish.push_back(wait);
    for (Operation *user : wait->getUsers())
      if (isa<AccumulateOp>(user))
        started.finish.push_back(user);
    found.push_back(started);
  }
  auto finishBefore = [](Started &started, Operation *place) {
    for (Operation *op : started.finish)
      op->moveBefore(place);
  };
  std::deque<Started *> running;
  size_t next = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isStart = next < found.size() && found[next].start == &op;
    bool isReductionNeeded = needsReduced(op) && !running.empty();
    while (!running.empty() &&
           ((isStart && static_cast<int64_t>(running.size()) >= inFlight) ||
            (isReductionNeeded &&
             !isa<RefreshOp, RefreshResidentOp>(running.front()->start)))) {
      finishBefore(*running.front(), &op);
      running.pop_front();
    }
    if (isStart)
      running.push_back(&found[next++]);
  }
  for (Started *started : running)
    for (Operation *op : started->finish) {
      if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
        op->moveBefore(&block.back());
      else
        op->moveBefore(&block, block.end());
    }
}

void OverlapReductions::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  overlapIn(step.getRegionOp<MicroOp>().getBody().front());
  overlapIn(step.getRegionOp<ApplyOp>().getBody().front());
}
