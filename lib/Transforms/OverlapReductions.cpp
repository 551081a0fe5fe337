//===- OverlapReductions.cpp - compute while gradients travel -------------===//

#include "Carry.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include <deque>
#include <memory>
#include <optional>

namespace mlir::zero {
#define GEN_PASS_DEF_OVERLAPREDUCTIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A started operation that nothing has waited for yet, with its wait and what
/// must follow the wait: stores, or the reduction that takes its sums.
struct Started {
  AsyncOpInterface start;
  WaitOp wait;
  SmallVector<Operation *> stores;
  std::shared_ptr<Started> next;

  void finishBefore(Block &block, Block::iterator place) {
    wait->moveBefore(&block, place);
    for (Operation *store : stores)
      store->moveBefore(&block, place);
    if (next)
      next->start->moveBefore(&block, place);
  }
};

/// What is under way, oldest first: first steps, and those that took their
/// sums.
class Running {
public:
  explicit Running(size_t most) : most(most) {}

  /// Starts `started`, before which all but `most` of each kind are over.
  void push(const Started &started, Block &block) {
    Block::iterator place(started.start);
    while (!second.empty() && second.size() >= most)
      finish(second, block, place);
    while (!first.empty() && first.size() >= most) {
      finish(first, block, place);
      while (second.size() > most)
        finish(second, block, place);
    }
    first.push_back(started);
  }

  /// Ends everything before `place`; returns it in the order of waits.
  SmallVector<Started> finishAll(Block &block, Block::iterator place) {
    SmallVector<Started> finished;
    for (std::deque<Started> *queue : {&first, &second})
      while (!queue->empty())
        finished.push_back(finish(*queue, block, place));
    return finished;
  }

private:
  Started finish(std::deque<Started> &queue, Block &block,
                 Block::iterator place) {
    Started oldest = queue.front();
    queue.pop_front();
    oldest.finishBefore(block, place);
    if (oldest.next)
      second.push_back(*oldest.next);
    return oldest;
  }

  size_t most;
  std::deque<Started> first, second;
};

struct OverlapReductions
    : public zero::impl::OverlapReductionsBase<OverlapReductions> {
  using OverlapReductionsBase::OverlapReductionsBase;
  void runOnOperation() override;

private:
  FailureOr<Running> overlapIn(Block &block);
};

} // namespace

/// The reduction `op` with what follows it; nothing where it is waited for in
/// another region: `zero-reduce-early` has carried it.
static FailureOr<std::optional<Started>> describe(Operation *op) {
  FailureOr<WaitOp> wait = findOwnWait(op);
  if (failed(wait))
    return failure();
  if (!*wait)
    return std::optional<Started>();
  Started started;
  started.start = cast<AsyncOpInterface>(op);
  started.wait = *wait;
  for (Operation *user : started.wait->getUsers()) {
    if (!isReduction(user)) {
      started.stores.push_back(user);
      continue;
    }
    if (started.next)
      continue;
    FailureOr<std::optional<Started>> next = describe(user);
    if (failed(next))
      return failure();
    if (*next)
      started.next = std::make_shared<Started>(**next);
  }
  llvm::sort(started.stores,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return std::optional<Started>(std::move(started));
}

/// Moves waits down to where the start after the next `inFlight` is; returns
/// what is under way at the block's end.
FailureOr<Running> OverlapReductions::overlapIn(Block &block) {
  SmallVector<Started> found;
  for (Operation &op : block) {
    if (!isReduction(&op) || takesSums(&op)) // that comes with the first step
      continue;
    FailureOr<std::optional<Started>> started = describe(&op);
    if (failed(started))
      return failure();
    if (*started)
      found.push_back(**started);
  }
  Running running(std::max<int64_t>(inFlight, 0));
  for (const Started &started : found)
    running.push(started, block);
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
    FailureOr<Running> running = overlapIn(block);
    if (failed(running))
      return signalPassFailure();
    Block *place =
        micro == last ? &step.getRegionOp<ApplyOp>().getBody().front() : &block;
    Block::iterator before =
        micro == last ? place->begin() : std::prev(block.end());
    for (Started &started : running->finishAll(*place, before))
      if (started.start->getBlock() != started.wait->getBlock())
        carryToWait(started.start, started.wait);
  }
}
