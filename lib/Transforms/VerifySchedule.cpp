//===- VerifySchedule.cpp - reject a schedule that is wrong ---------------===//

#include "zero/Analysis/Views.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// How often the elements of a flat space are covered.
class Coverage {
public:
  void add(int64_t begin, int64_t end, Operation *by) {
    if (begin < end)
      ranges.push_back({begin, end, by});
  }

  /// Reports an element of [begin, end) that is not covered exactly once.
  /// `what` completes "elements of @w are ... never / more than once".
  LogicalResult expectOnce(Operation *at, const Twine &name, int64_t begin,
                           int64_t end, StringRef what) {
    llvm::sort(ranges, [](const Range &a, const Range &b) { return a.begin < b.begin; });
    int64_t covered = begin;
    for (const Range &range : ranges) {
      if (range.end <= begin || range.begin >= end)
        continue;
      if (range.begin > covered)
        break;
      if (covered > begin && range.begin < covered)
        return range.by->emitOpError("makes elements of ") << name << " " << what
                                                           << " more than once";
      covered = std::max(covered, range.end);
    }
    if (covered >= end)
      return success();
    return at->emitOpError("elements [") << covered << " to " << end << ") of " << name
                                         << " are never " << what;
  }

private:
  struct Range {
    int64_t begin, end;
    Operation *by;
  };
  SmallVector<Range> ranges;
};

struct VerifySchedule : public zero::impl::VerifyScheduleBase<VerifySchedule> {
  using VerifyScheduleBase::VerifyScheduleBase;
  void runOnOperation() override;

private:
  LogicalResult verifyHandles(StepOp step);
  LogicalResult verifyFrees(Block &block);
  LogicalResult verifyLoads(StepOp step);
  LogicalResult verifyGradients(StepOp step, PartitionOp partition);
  LogicalResult verifyUpdate(StepOp step, PartitionOp partition);
  LogicalResult verifyRefresh(StepOp step, PartitionOp partition);
};

} // namespace

//===----------------------------------------------------------------------===//
// Handles, frees, loads
//===----------------------------------------------------------------------===//

LogicalResult VerifySchedule::verifyHandles(StepOp step) {
  WalkResult walk = step.walk([](Operation *op) {
    for (Value result : op->getResults()) {
      if (!isa<PendingType>(result.getType()))
        continue;
      unsigned waits = llvm::count_if(result.getUsers(), llvm::IsaPred<WaitOp>);
      if (waits != 1) {
        op->emitOpError("is waited for ") << waits << " times, wanted once";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Whether every value of this kind needs a free: gathered parameters.
static bool isGathered(Value value) {
  auto wait = value.getDefiningOp<WaitOp>();
  return wait && wait.getPending().getDefiningOp<AllGatherOp>();
}

LogicalResult VerifySchedule::verifyFrees(Block &block) {
  DenseMap<Value, FreeOp> freed;
  SmallVector<Value> gathered;
  for (Operation &op : block) {
    for (Value operand : op.getOperands()) {
      auto found = freed.find(getRoot(operand));
      if (found == freed.end())
        continue;
      InFlightDiagnostic error =
          isa<FreeOp>(op) ? op.emitOpError("frees a value that is freed already")
                          : op.emitOpError("uses a value that was freed");
      error.attachNote(found->second.getLoc()) << "freed here";
      return error;
    }
    if (auto free = dyn_cast<FreeOp>(op))
      for (Value value : free.getValues())
        if (!freed.try_emplace(getRoot(value), free).second)
          return free.emitOpError("frees one value twice");
    for (Value result : op.getResults())
      if (isGathered(result))
        gathered.push_back(result);
  }
  for (Value value : gathered)
    if (!freed.count(value))
      return value.getDefiningOp()->emitOpError("gathers a parameter that is never freed");
  return success();
}

LogicalResult VerifySchedule::verifyLoads(StepOp step) {
  llvm::DenseSet<StringAttr> sharded;
  for (PartitionOp partition : getOperation().getOps<PartitionOp>())
    if (partition.hasShardedParameters())
      for (MemberAttr member : partition.getMemberRange())
        sharded.insert(member.getParameter().getAttr());
  if (auto initialize = step.getRegionOp<InitializeOp>())
    for (auto refresh : initialize.getBody().getOps<RefreshResidentOp>())
      for (auto symbol : refresh.getParameters().getAsRange<FlatSymbolRefAttr>())
        sharded.erase(symbol.getAttr());
  WalkResult walk = step.walk([&](LoadOp load) {
    if (!sharded.contains(load.getParameterAttr().getAttr()))
      return WalkResult::advance();
    load.emitOpError("reads ") << load.getParameterAttr()
                               << " before it is gathered: every rank holds a slice of it only";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Adds what `reduce` combines over ranks: named members, or stored ranges.
template <typename ReduceOp>
static void addReduced(ReduceOp reduce, PartitionOp partition, Coverage &coverage) {
  if (!reduce.getParameters())
    return coverage.add(reduce.getBegin(), reduce.getEnd(), reduce);
  for (auto symbol : reduce.getParameters()->template getAsRange<FlatSymbolRefAttr>())
    if (MemberAttr member = partition.findMember(symbol.getValue()))
      coverage.add(member.getOffset(), member.getOffset() + member.getSize(), reduce);
}

static void addReduction(Operation *op, PartitionOp partition, Coverage &coverage) {
  StringRef name = partition.getSymName();
  if (auto reduce = dyn_cast<AllReduceOp>(op); reduce && reduce.getPartition() == name)
    addReduced(reduce, partition, coverage);
  if (auto reduce = dyn_cast<ReduceScatterOp>(op); reduce && reduce.getPartition() == name)
    addReduced(reduce, partition, coverage);
  auto reduce = dyn_cast<BucketedReduceOp>(op);
  if (!reduce || reduce.getPartition() != name)
    return;
  for (auto symbol : reduce.getParameters().getAsRange<FlatSymbolRefAttr>())
    if (MemberAttr member = partition.findMember(symbol.getValue()))
      coverage.add(member.getOffset(), member.getOffset() + member.getSize(), reduce);
}

static void addStored(AccumulateOp accumulate, PartitionOp partition, Coverage &coverage) {
  if (accumulate.getPartition() != partition.getSymName())
    return;
  if (!accumulate.getParameters())
    return coverage.add(accumulate.getBegin(), accumulate.getEnd(), accumulate);
  for (auto symbol : accumulate.getParameters()->getAsRange<FlatSymbolRefAttr>())
    if (MemberAttr member = partition.findMember(symbol.getValue()))
      coverage.add(member.getOffset(), member.getOffset() + member.getSize(), accumulate);
}

LogicalResult VerifySchedule::verifyGradients(StepOp step, PartitionOp partition) {
  Coverage stored, reduced;
  step.walk([&](Operation *op) {
    if (auto accumulate = dyn_cast<AccumulateOp>(op))
      addStored(accumulate, partition, stored);
    addReduction(op, partition, reduced);
  });
  for (MemberAttr member : partition.getMemberRange()) {
    int64_t begin = member.getOffset(), end = begin + member.getSize();
    std::string name = ("@" + member.getParameter().getValue()).str();
    if (failed(stored.expectOnce(partition, name, begin, end, "stored as a gradient")))
      return failure();
    if (partition.getRanks() > 1 &&
        failed(reduced.expectOnce(partition, name, begin, end, "reduced over ranks")))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

LogicalResult VerifySchedule::verifyUpdate(StepOp step, PartitionOp partition) {
  UpdateOp update;
  bool isJudged = false;
  for (Operation &op : step.getRegionOp<ApplyOp>().getBody().front()) {
    if (auto stats = dyn_cast<GradStatsOp>(op))
      isJudged |= llvm::is_contained(
          stats.getPartitions().getAsRange<FlatSymbolRefAttr>(),
          FlatSymbolRefAttr::get(partition.getSymNameAttr()));
    if (isJudged && isa<AllReduceOp, ReduceScatterOp>(op) &&
        op.getAttrOfType<FlatSymbolRefAttr>("partition").getValue() ==
            partition.getSymName())
      return op.emitOpError("reduces gradients of @")
             << partition.getSymName() << " after they were checked";
    auto found = dyn_cast<UpdateOp>(op);
    if (!found || found.getPartition() != partition.getSymName())
      continue;
    if (update)
      return op.emitOpError("updates @") << partition.getSymName() << " a second time";
    if (!isJudged)
      return op.emitOpError("updates @")
             << partition.getSymName() << ", whose gradients no 'zero.grad_stats' has checked";
    update = found;
  }
  if (!update)
    return partition.emitOpError("is never updated");
  return success();
}

LogicalResult VerifySchedule::verifyRefresh(StepOp step, PartitionOp partition) {
  if (!partition.hasShardedOptimizer() || partition.hasShardedParameters())
    return success();
  Coverage refreshed;
  bool isUpdated = false;
  for (Operation &op : step.getRegionOp<ApplyOp>().getBody().front()) {
    if (auto update = dyn_cast<UpdateOp>(op))
      isUpdated |= update.getPartition() == partition.getSymName();
    auto refresh = dyn_cast<RefreshOp>(op);
    if (!refresh || refresh.getPartition() != partition.getSymName())
      continue;
    if (!isUpdated)
      return op.emitOpError("gathers @") << partition.getSymName() << " before its update";
    refreshed.add(refresh.getBegin(), refresh.getEnd(), refresh);
  }
  for (MemberAttr member : partition.getMemberRange())
    if (failed(refreshed.expectOnce(partition, "@" + member.getParameter().getValue(),
                                    member.getOffset(),
                                    member.getOffset() + member.getSize(),
                                    "gathered after the update")))
      return failure();
  return success();
}

void VerifySchedule::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  if (failed(verifyHandles(step)) || failed(verifyLoads(step)))
    return signalPassFailure();
  for (Operation &region : step.getBody().front())
    if (failed(verifyFrees(region.getRegion(0).front())))
      return signalPassFailure();
  for (PartitionOp partition : getOperation().getOps<PartitionOp>())
    if (partition.isTrainable() &&
        (failed(verifyGradients(step, partition)) || failed(verifyUpdate(step, partition)) ||
         failed(verifyRefresh(step, partition))))
      return signalPassFailure();
  markAllAnalysesPreserved();
}
