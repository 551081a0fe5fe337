//===- Prefetch.cpp - start gathers before they are needed ----------------===//

#include "zero/Analysis/LastUse.h"
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

/// One gather: when it is needed, until when, and how much it brings.
struct Gather {
  AllGatherOp start;
  WaitOp wait;
  int64_t neededAt = 0;
  int64_t lastUse = 0;
  int64_t elements = 0;
  /// The gather before whose wait it starts; itself where it is not moved.
  size_t before = 0;
};

struct Prefetch : public zero::impl::PrefetchBase<Prefetch> {
  using PrefetchBase::PrefetchBase;
  void runOnOperation() override;

private:
  void choose(MutableArrayRef<Gather> gathers);
  bool fits(ArrayRef<Gather> gathers, size_t index, size_t before);
};

} // namespace

static SmallVector<Gather> collectGathers(Block &block,
                                          const Handles &handles) {
  BlockOrder order(block);
  DenseMap<Value, Operation *> lastUses =
      findLastUses({&block}, order, handles);
  SmallVector<Gather> gathers;
  for (auto start : block.getOps<AllGatherOp>()) {
    Gather gather;
    gather.start = start;
    gather.wait = cast<WaitOp>(*start.getPending().getUsers().begin());
    gather.neededAt = gather.lastUse = order[gather.wait];
    gather.before = gathers.size();
    for (Value whole : gather.wait.getResults()) {
      gather.elements +=
          cast<RankedTensorType>(whole.getType()).getNumElements();
      if (Operation *last = lastUses.lookup(whole))
        gather.lastUse = std::max(gather.lastUse, order[last]);
    }
    gathers.push_back(gather);
  }
  return gathers;
}

/// Whether `gathers[index]` may start before the wait of `gathers[before]`:
/// between there and its own wait, what is in flight and what is live must stay
/// within the limits.
bool Prefetch::fits(ArrayRef<Gather> gathers, size_t index, size_t before) {
  for (size_t at = before; at < index; ++at) {
    // Just before the wait of `at`: gathers from `at` on that have started are
    // in flight; earlier ones live until their last use.
    int64_t inFlight = 0, ahead = 0, live = 0;
    for (size_t other = 0; other <= index; ++other) {
      const Gather &gather = gathers[other];
      bool started = other == index || gather.before <= at;
      if (other >= at && started) {
        ++inFlight;
        ahead += other > at ? gather.elements : 0;
        live += gather.elements;
      } else if (other < at && gather.lastUse >= gathers[at].neededAt) {
        live += gather.elements;
      }
    }
    if (inFlight > maxInFlight || ahead > prefetchBucketSize ||
        live > maxLiveParameters)
      return false;
  }
  return true;
}

void Prefetch::choose(MutableArrayRef<Gather> gathers) {
  // Every rank starts gathers in the order of their waits, so that the order on
  // the link stays what it is.
  size_t earliest = 0;
  for (size_t index = 0; index < gathers.size(); ++index) {
    size_t before = index;
    while (before > earliest && fits(gathers, index, before - 1))
      --before;
    gathers[index].before = earliest = before;
  }
}

void Prefetch::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  Handles handles(step);
  for (Operation &region : step.getBody().front()) {
    if (!isa<MicroOp, EvaluateOp>(region))
      continue;
    SmallVector<Gather> gathers =
        collectGathers(region.getRegion(0).front(), handles);
    choose(gathers);
    for (Gather &gather : gathers)
      if (gathers[gather.before].wait != gather.wait)
        gather.start->moveBefore(gathers[gather.before].wait);
  }
}
