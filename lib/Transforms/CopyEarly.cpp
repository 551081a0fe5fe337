//===- CopyEarly.cpp - gradients cross to the host as they are reduced ----===//

#include "Carry.h"

#include "zero/Analysis/Arrivals.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_COPYEARLY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct CopyEarly : public zero::impl::CopyEarlyBase<CopyEarly> {
  using CopyEarlyBase::CopyEarlyBase;
  void runOnOperation() override;
};

/// A copy of gradients, and the last of what it copies to arrive.
struct Early {
  CopyToHostOp start;
  WaitOp wait;
  Operation *last = nullptr;
  size_t position = 0;
};

/// The copies of gradients of one update.
class GradientCopies {
public:
  GradientCopies(ModuleOp module, StepOp step);
  LogicalResult run();

private:
  void addArrivals(Block &block, const Handles &handles);
  LogicalResult add(CopyToHostOp copy);
  void move();

  Block &apply;
  PartitionTable table;
  /// By partition, in the order in which they are complete: over the last
  /// micro-batch, and then the update.
  DenseMap<Operation *, SmallVector<std::pair<Arrival, size_t>>> arrivals;
  size_t count = 0;
  SmallVector<Early> found;
};

} // namespace

GradientCopies::GradientCopies(ModuleOp module, StepOp step)
    : apply(step.getRegionOp<ApplyOp>().getBody().front()), table(module) {
  Handles handles(step);
  MicroOp micro = step.getLastMicro();
  // Where one form is for all micro-batches, the others complete nothing.
  if (micro.getLast() || step.getTraining()->getAccumulation() == 1)
    addArrivals(micro.getBody().front(), handles);
  addArrivals(apply, handles);
}

void GradientCopies::addArrivals(Block &block, const Handles &handles) {
  for (const Arrival &arrival : listArrivals(block, handles, table))
    arrivals[arrival.partition].push_back({arrival, count++});
}

LogicalResult GradientCopies::add(CopyToHostOp copy) {
  FailureOr<WaitOp> wait = findOwnWait(copy);
  if (failed(wait))
    return failure();
  if (!*wait)
    return copy.emitOpError("is carried already; copies are moved once");
  int64_t begin = copy.getBegin(), end = copy.getEnd();
  for (const auto &[arrival, position] :
       llvm::reverse(arrivals[table.find(copy.getPartitionAttr())])) {
    if (arrival.end <= begin || end <= arrival.begin)
      continue;
    found.push_back({copy, *wait, arrival.last, position});
    break;
  }
  return success();
}

/// To right after what completes them, those of one such place in their order.
void GradientCopies::move() {
  llvm::stable_sort(found, [](const Early &a, const Early &b) {
    return a.position < b.position;
  });
  Operation *last = nullptr, *previous = nullptr;
  for (Early &early : found) {
    if (early.last != last)
      previous = last = early.last;
    early.start->moveAfter(previous);
    previous = early.start;
    if (early.start->getBlock() == &apply)
      continue;
    carryToWait(cast<AsyncOpInterface>(early.start.getOperation()), early.wait);
    previous = early.start->getNextNode();
  }
}

LogicalResult GradientCopies::run() {
  for (auto copy : apply.getOps<CopyToHostOp>())
    if (copy.getState() == "gradients" && failed(add(copy)))
      return failure();
  move();
  return success();
}

void CopyEarly::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  if (step->getRegionOp<ApplyOp>() &&
      failed(GradientCopies(getOperation(), *step).run()))
    signalPassFailure();
}
