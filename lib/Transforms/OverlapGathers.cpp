//===- OverlapGathers.cpp - updated parameters travel under the forward ---===//

#include "Carry.h"

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_OVERLAPGATHERS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A gather of updated parameters, and the first operation of a micro-batch
/// that reads one of them.
struct Refresh {
  CollectiveOpInterface start;
  WaitOp wait;
  Operation *use = nullptr;
};

struct OverlapGathers : public zero::impl::OverlapGathersBase<OverlapGathers> {
  using OverlapGathersBase::OverlapGathersBase;
  void runOnOperation() override;
};

/// The gathers of one step's update.
class Gathers {
public:
  explicit Gathers(StepOp step)
      : forward(step.getRegionOp<MicroOp>().getBody().front()),
        apply(step.getRegionOp<ApplyOp>().getBody().front()), partitions(step),
        order(forward) {}
  LogicalResult run();

private:
  void findFirstUses();
  Operation *earlier(Operation *a, Operation *b) const;
  Operation *findFirstUse(ArrayAttr parameters);
  Operation *findFirstUse(PartitionOp partition, int64_t begin, int64_t end);
  LogicalResult collect();
  void reorder();

  Block &forward, &apply;
  PartitionTable partitions;
  BlockOrder order;
  DenseMap<StringAttr, Operation *> firstUses;
  SmallVector<Refresh> found;
};

} // namespace

void Gathers::findFirstUses() {
  for (Operation &op : forward) {
    if (getView(&op) || isa<FreeOp>(op))
      continue;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (auto load = getRoot(operand).getDefiningOp<LoadOp>())
          firstUses.try_emplace(load.getParameterAttr().getAttr(), &op);
    });
  }
}

/// The one that runs first; null is none.
Operation *Gathers::earlier(Operation *a, Operation *b) const {
  return !a || (b && order[b] < order[a]) ? b : a;
}

Operation *Gathers::findFirstUse(ArrayAttr parameters) {
  Operation *first = nullptr;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>())
    first = earlier(first, firstUses.lookup(name.getAttr()));
  return first;
}

Operation *Gathers::findFirstUse(PartitionOp partition, int64_t begin,
                                 int64_t end) {
  // Members lie in order and do not overlap.
  ArrayRef<Attribute> members = partition.getMembers().getValue();
  const Attribute *member =
      llvm::partition_point(members, [&](Attribute attribute) {
        auto member = cast<MemberAttr>(attribute);
        return member.getOffset() + member.getSize() <= begin;
      });
  SmallVector<Attribute> names;
  for (; member != members.end() && cast<MemberAttr>(*member).getOffset() < end;
       ++member)
    names.push_back(cast<MemberAttr>(*member).getParameter());
  return findFirstUse(ArrayAttr::get(partition.getContext(), names));
}

/// Copies of slices that are not on the device live in `zero.apply`.
static bool sendsCopies(CollectiveOpInterface start,
                        const PartitionTable &partitions) {
  return llvm::any_of(
      start.getPartitionRanges(partitions), [&](const PartitionRange &range) {
        return partitions.find(range.partition).hasOffloadedParameters();
      });
}

LogicalResult Gathers::collect() {
  for (auto start : apply.getOps<CollectiveOpInterface>()) {
    if (!isRefresh(start) || sendsCopies(start, partitions))
      continue;
    Refresh refresh;
    refresh.start = start;
    if (ArrayAttr names = start.getParameterNames())
      refresh.use = findFirstUse(names);
    else
      for (const PartitionRange &range : start.getPartitionRanges(partitions))
        refresh.use =
            earlier(refresh.use, findFirstUse(partitions.find(range.partition),
                                              range.begin, range.end));
    FailureOr<WaitOp> wait = findOwnWait(start);
    if (failed(wait))
      return failure();
    refresh.wait = *wait;
    if (refresh.wait)
      found.push_back(refresh);
  }
  return success();
}

/// Small partitions first: their parameters are spread over the whole forward,
/// so that it waits for all of their gathers at once. Then the gathers of a
/// partition in the order in which the forward needs them.
void Gathers::reorder() {
  SymbolTableCollection tables;
  auto partitionOf = [&](Operation *op) {
    return tables.lookupNearestSymbolFrom<PartitionOp>(
        op, op->getAttrOfType<FlatSymbolRefAttr>("partition"));
  };
  SmallVector<UpdateOp> updates(apply.getOps<UpdateOp>());
  // Updates on the host take turns: what they give is gathered in their order.
  if (updates.empty() || !apply.getOps<UpdateOnHostOp>().empty())
    return;
  llvm::stable_sort(updates, [&](UpdateOp a, UpdateOp b) {
    return partitionOf(a).getFlatElements() < partitionOf(b).getFlatElements();
  });
  llvm::stable_sort(found, [&](const Refresh &a, const Refresh &b) {
    return a.use && (!b.use || order[a.use] < order[b.use]);
  });
  DenseMap<StringAttr, SmallVector<Operation *>> starts;
  for (Refresh &refresh : found)
    if (!refresh.start.getParameterNames())
      starts[refresh.start.getPartitionRanges(partitions)
                 .front()
                 .partition.getAttr()]
          .push_back(refresh.start);
  Operation *place = *apply.getOps<UpdateOp>().begin();
  for (UpdateOp update : updates) {
    if (update != place)
      update->moveAfter(place);
    place = update;
    for (Operation *start : starts[update.getPartitionAttr().getAttr()]) {
      start->moveAfter(place);
      place = start;
    }
  }
}

LogicalResult Gathers::run() {
  if (forward.empty())
    return success();
  findFirstUses();
  if (failed(collect()))
    return failure();
  reorder();
  for (Refresh &refresh : found) {
    refresh.wait->moveBefore(refresh.use ? refresh.use : &forward.back());
    carryToWait(cast<AsyncOpInterface>(refresh.start.getOperation()),
                refresh.wait);
  }
  return success();
}

void OverlapGathers::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step) || failed(Gathers(*step).run()))
    signalPassFailure();
}
