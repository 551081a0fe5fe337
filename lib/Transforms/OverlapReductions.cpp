//===- OverlapReductions.cpp - compute while gradients travel -------------===//

#include "Carry.h"

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
  AsyncOpInterface start;
  WaitOp wait;
  SmallVector<Operation *> stores;

  void finishBefore(Block &block, Block::iterator place) {
    wait->moveBefore(&block, place);
    for (Operation *store : stores)
      store->moveBefore(&block, place);
  }
};

struct OverlapReductions
    : public zero::impl::OverlapReductionsBase<OverlapReductions> {
  using OverlapReductionsBase::OverlapReductionsBase;
  void runOnOperation() override;

private:
  FailureOr<std::deque<Started>> overlapIn(Block &block);
};

} // namespace

static FailureOr<SmallVector<Started>> findStarted(Block &block) {
  SmallVector<Started> found;
  for (Operation &op : block) {
    if (!isReduction(&op))
      continue;
    // What `zero-reduce-early` has carried is waited for in `apply` already.
    FailureOr<WaitOp> wait = findOwnWait(&op);
    if (failed(wait))
      return failure();
    if (!*wait)
      continue;
    Started &started = found.emplace_back();
    started.start = cast<AsyncOpInterface>(op);
    started.wait = *wait;
    for (Operation *user : started.wait->getUsers())
      started.stores.push_back(user);
    llvm::sort(started.stores, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  }
  return found;
}

/// Moves waits down to where the start after the next `inFlight` is; returns
/// what is under way at the block's end.
FailureOr<std::deque<Started>> OverlapReductions::overlapIn(Block &block) {
  FailureOr<SmallVector<Started>> found = findStarted(block);
  if (failed(found))
    return failure();
  std::deque<Started> running;
  for (Started &started : *found) {
    while (static_cast<int64_t>(running.size()) >= inFlight &&
           !running.empty()) {
      running.front().finishBefore(block, Block::iterator(started.start));
      running.pop_front();
    }
    running.push_back(started);
  }
  return running;
}

void OverlapReductions::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  MicroOp last = step.getLastMicro();
  for (auto micro : step.getBody().getOps<MicroOp>()) {
    Block &block = micro.getBody().front();
    FailureOr<std::deque<Started>> running = overlapIn(block);
    if (failed(running))
      return signalPassFailure();
    Block *place =
        micro == last ? &step.getRegionOp<ApplyOp>().getBody().front() : &block;
    Block::iterator before =
        micro == last ? place->begin() : std::prev(block.end());
    for (Started &started : *running) {
      started.finishBefore(*place, before);
      if (micro == last)
        carryToWait(started.start, started.wait);
    }
  }
}
