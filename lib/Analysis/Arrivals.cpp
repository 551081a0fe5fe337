//===- Arrivals.cpp - where stored gradients are complete -----------------===//

#include "zero/Analysis/Arrivals.h"

#include "zero/Analysis/Schedule.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

/// The last operation that reads a result of `wait`.
static Operation *lastStoreOf(WaitOp wait) {
  Operation *last = wait;
  for (Operation *user : wait->getUsers())
    if (last->isBeforeInBlock(user))
      last = user;
  return last;
}

/// Adds the gradients that are complete after `wait`, if `isWanted` holds for
/// the operation that it ends.
static void addWaited(WaitOp wait, const Handles &handles,
                      const PartitionTable &table,
                      function_ref<bool(Operation *)> isWanted,
                      SmallVectorImpl<Arrival> &arrivals) {
  auto start = dyn_cast_if_present<CollectiveOpInterface>(
      handles.findStart(wait.getPending()));
  if (!start || !isWanted(start) || isPartialReduction(start))
    return;
  Operation *carried = wait.getPending().getDefiningOp<CarriedOp>();
  for (const PartitionRange &range : start.getPartitionRanges(table)) {
    Arrival arrival;
    arrival.partition = table.find(range.partition);
    arrival.begin = range.begin;
    arrival.end = range.end;
    arrival.first = carried ? carried : wait.getOperation();
    arrival.last = lastStoreOf(wait);
    // A bucket that is reduced to owners lies all over the group.
    if (start.getKind() == zrt::Collective::Reduce) {
      arrival.begin = 0;
      arrival.end = arrival.partition.getFlatElements();
    }
    arrivals.push_back(arrival);
  }
}

SmallVector<Arrival> mlir::zero::listReduced(Block &block,
                                             const Handles &handles,
                                             const PartitionTable &table) {
  SmallVector<Arrival> arrivals;
  for (auto wait : block.getOps<WaitOp>())
    addWaited(wait, handles, table, isReduction, arrivals);
  return arrivals;
}

SmallVector<Arrival> mlir::zero::listArrivals(Block &block,
                                              const Handles &handles,
                                              const PartitionTable &table) {
  SmallVector<Arrival> arrivals;
  auto isGradient = [](Operation *op) {
    return isReduction(op) || combinesReplicas(op);
  };
  for (Operation &op : block) {
    if (auto wait = dyn_cast<WaitOp>(op))
      addWaited(wait, handles, table, isGradient, arrivals);
    else if (auto store = dyn_cast<AccumulateOp>(op))
      arrivals.push_back({table.find(store.getPartitionAttr()),
                          static_cast<int64_t>(store.getBegin()),
                          static_cast<int64_t>(store.getEnd()), store, store});
  }
  llvm::stable_sort(arrivals, [](const Arrival &a, const Arrival &b) {
    return a.last->isBeforeInBlock(b.last);
  });
  return arrivals;
}
