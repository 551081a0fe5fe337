//===- ReduceEarly.cpp - reduce what is complete during the backward ------===//

#include "Carry.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_REDUCEEARLY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A store of a gradient, with its place in the backward.
struct LocalStore {
  AccumulateOp op;
  int64_t begin = 0, end = 0;
  size_t position = 0;
};

/// A reduction of stored gradients in `apply`, and the store that completes its
/// range.
struct Early {
  AsyncOpInterface start;
  WaitOp wait;
  LocalStore last;
};

struct ReduceEarly : public zero::impl::ReduceEarlyBase<ReduceEarly> {
  using ReduceEarlyBase::ReduceEarlyBase;
  void runOnOperation() override;
};

/// The reductions of stored gradients of one step.
class StoredReductions {
public:
  explicit StoredReductions(StepOp step)
      : backward(step.getLastMicro().getBody().front()),
        apply(step.getRegionOp<ApplyOp>().getBody().front()) {}
  LogicalResult run();

private:
  void collectStores();
  LogicalResult collect();
  LogicalResult collect(CollectiveOpInterface reduce,
                        const PartitionRange &range);
  void start();

  Block &backward, &apply;
  /// By partition, in the order of the flat space.
  DenseMap<StringAttr, SmallVector<LocalStore>> stores;
  SmallVector<Early> found;
};

} // namespace

void StoredReductions::collectStores() {
  for (const auto &[position, op] : llvm::enumerate(backward))
    if (auto store = dyn_cast<AccumulateOp>(op))
      stores[store.getPartitionAttr().getAttr()].push_back(
          {store, static_cast<int64_t>(store.getBegin()),
           static_cast<int64_t>(store.getEnd()), position});
  for (auto &[name, ordered] : stores)
    llvm::sort(ordered, [](const LocalStore &a, const LocalStore &b) {
      return a.begin < b.begin;
    });
}

LogicalResult StoredReductions::collect(CollectiveOpInterface reduce,
                                        const PartitionRange &range) {
  auto known = stores.find(range.partition.getAttr());
  if (reduce.getParameterNames() || known == stores.end())
    return success();
  Early early;
  // Stores lie one after the other: of those that begin before the range's end,
  // the last ones reach into it.
  auto *store = llvm::lower_bound(
      known->second, range.end,
      [](const LocalStore &a, int64_t end) { return a.begin < end; });
  while (store != known->second.begin() &&
         std::prev(store)->end > range.begin) {
    --store;
    if (!early.last.op || store->position > early.last.position)
      early.last = *store;
  }
  if (!early.last.op) // padding alone
    return success();
  FailureOr<WaitOp> wait = findOwnWait(reduce);
  if (failed(wait))
    return failure();
  early.start = cast<AsyncOpInterface>(reduce.getOperation());
  early.wait = *wait;
  if (early.wait)
    found.push_back(early);
  return success();
}

/// Moves each start to right after the store that completes its range, those of
/// one store in order, and lets `apply` wait in the order of starts.
void StoredReductions::start() {
  // Below all of them, reductions and waits being what `apply` begins with.
  Block::iterator waits = apply.begin();
  while (waits != apply.end() && (isReduction(&*waits) || isa<WaitOp>(*waits)))
    ++waits;
  AccumulateOp store;
  Operation *previous = nullptr;
  for (Early &early : found) {
    if (early.last.op != store)
      previous = store = early.last.op;
    early.start->moveAfter(previous);
    early.wait->moveBefore(&apply, waits);
    carryToWait(early.start, early.wait);
    previous = early.start->getNextNode();
  }
}

LogicalResult StoredReductions::collect() {
  PartitionTable partitions(apply.getParentOp());
  for (auto reduce : apply.getOps<CollectiveOpInterface>())
    if (isReduction(reduce))
      for (const PartitionRange &range : reduce.getPartitionRanges(partitions))
        if (failed(collect(reduce, range)))
          return failure();
  return success();
}

LogicalResult StoredReductions::run() {
  collectStores();
  if (failed(collect()))
    return failure();
  llvm::stable_sort(found, [](const Early &a, const Early &b) {
    return a.last.position < b.last.position;
  });
  start();
  return success();
}

void ReduceEarly::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step) || failed(StoredReductions(*step).run()))
    signalPassFailure();
}
