//===- VerifyUpdates.cpp - one check, one verdict, one update each --------===//

#include "zero/Verify/Verify.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// The chain from the stored gradients to the loss scale, once an update.
class Updates {
public:
  explicit Updates(const Tables &tables) : tables(tables) {}
  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult addStats(GradStatsOp part);
  LogicalResult verifyStats();
  LogicalResult verifyJudge();
  LogicalResult addRange(Operation *op, PartitionOp partition, int64_t begin,
                         int64_t end);
  LogicalResult addUpdate(Operation *op);
  LogicalResult verifyUpdates();
  LogicalResult verifyScale();
  LogicalResult setOnce(Operation *&slot, Operation &op);

  const Tables &tables;
  /// The last part of the check, which has what all parts found.
  Operation *stats = nullptr;
  Operation *reduce = nullptr, *judge = nullptr, *scale = nullptr;
  SmallVector<Operation *> updates;
  /// The updated ranges of each partition, and the operation that updates each.
  struct Updated {
    int64_t begin, end;
    Operation *by;
  };
  DenseMap<StringAttr, SmallVector<Updated>> updated;
};

} // namespace

LogicalResult Updates::setOnce(Operation *&slot, Operation &op) {
  if (!slot) {
    slot = &op;
    return success();
  }
  InFlightDiagnostic error = op.emitOpError("runs a second time in one update");
  error.attachNote(slot->getLoc()) << "the first one";
  return error;
}

/// Each part adds to the one before it, so that nothing found is lost.
LogicalResult Updates::addStats(GradStatsOp part) {
  if (!stats && part.getSum())
    return part.emitOpError("adds to what was not found in this update");
  if (stats && !part.getSum())
    return setOnce(stats, *part);
  if (stats && part.getSum() != stats->getResult(0)) {
    InFlightDiagnostic error =
        part.emitOpError("does not add to what was found last");
    error.attachNote(stats->getLoc()) << "found here";
    return error;
  }
  stats = part;
  return success();
}

/// Whether `op` combines what ranks have found out about gradients.
static bool isStatistics(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective &&
         collective.getTrafficClass() == zrt::TrafficClass::Control;
}

LogicalResult Updates::collect() {
  WalkResult walk = tables.step->walk([&](Operation *op) {
    Operation **slot = isStatistics(op)         ? &reduce
                       : isa<JudgeOp>(op)       ? &judge
                       : isa<UpdateScaleOp>(op) ? &scale
                                                : nullptr;
    if (!slot && !isa<UpdateOp, UpdateOnHostOp, GradStatsOp>(op))
      return WalkResult::advance();
    if (!isa<ApplyOp>(op->getParentOp())) {
      op->emitOpError("belongs into 'zero.apply', which runs once an update");
      return WalkResult::interrupt();
    }
    if (isa<UpdateOp, UpdateOnHostOp>(op)) {
      if (failed(addUpdate(op)))
        return WalkResult::interrupt();
    } else if (auto part = dyn_cast<GradStatsOp>(op)) {
      if (failed(addStats(part)))
        return WalkResult::interrupt();
    } else if (failed(setOnce(*slot, *op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Updates::verifyStats() {
  if (!stats)
    return tables.step.emitOpError(
        "never checks its gradients: 'zero.grad_stats' is missing");
  bool isReduced = !tables.training.isSilent() || tables.mesh.model;
  if (reduce && !isReduced)
    return reduce->emitOpError("has no other rank to ask");
  if (!reduce && isReduced)
    return stats->emitOpError(
        "is never combined over ranks: 'zero.reduce_stats' is missing");
  Value found = reduce  ? reduce->getOperand(0)
                : judge ? judge->getOperand(0)
                        : Value();
  if (found && found != stats->getResult(0)) {
    InFlightDiagnostic error = (reduce ? reduce : judge)
                                   ->emitOpError("leaves out what was found "
                                                 "last");
    error.attachNote(stats->getLoc()) << "found here";
    return error;
  }
  if (!reduce)
    return success();
  if (judge && judge->getOperand(0) != reduce->getResult(0))
    return judge->emitOpError("judges what this rank alone has found");
  bool everywhere = tables.mesh.hasWholeModels() &&
                    llvm::none_of(tables.trained, [](PartitionOp partition) {
                      return partition.hasShardedOptimizer();
                    });
  if (reduce->hasAttr("loss_only") != everywhere)
    return reduce->emitOpError(
        everywhere
            ? "adds up what every rank has seen whole; wanted 'loss_only'"
            : "leaves each rank with the norm of what it has; 'loss_only' is "
              "for stage 0 without an axis that cuts the model");
  return success();
}

static bool isPrescaled(CollectiveOpInterface op) {
  return op.getReduction() == zrt::Reduction::PrescaledSum;
}

/// Whether the reductions prescale; an error where they disagree.
static FailureOr<bool> findPrescaled(const Tables &tables) {
  CollectiveOpInterface first;
  WalkResult walk = tables.step->walk([&](CollectiveOpInterface op) {
    if (!op.getReduction() ||
        op.getTrafficClass() != zrt::TrafficClass::Gradient)
      return WalkResult::advance();
    if (!first)
      first = op;
    if (isPrescaled(op) == isPrescaled(first))
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError(
        isPrescaled(op) ? "is 'prescaled'" : "is not 'prescaled'");
    error.attachNote(first->getLoc())
        << "this one is otherwise, and one factor is for both";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  return first && isPrescaled(first);
}

static LogicalResult verifyDivisor(JudgeOp op, PartitionOp partition,
                                   bool prescaled) {
  const double found = op.getDivisor().convertToDouble();
  const double wanted = partition.getDivisor(prescaled);
  if (found == wanted)
    return success();
  return op.emitOpError("divides by ")
         << found << ", and the gradients of @" << partition.getSymName()
         << " are " << (prescaled ? "prescaled sums" : "sums") << " over "
         << partition.getOver().getSize() << " ranks; wanted " << wanted;
}

LogicalResult Updates::verifyJudge() {
  if (!judge)
    return tables.step.emitOpError("has no 'zero.judge'");
  auto op = cast<JudgeOp>(judge);
  FailureOr<bool> prescaled = findPrescaled(tables);
  if (failed(prescaled))
    return failure();
  for (PartitionOp partition : tables.trained)
    if (failed(verifyDivisor(op, partition, *prescaled)))
      return failure();
  double clip = tables.training.getClip();
  if (op.getClip().convertToDouble() != clip)
    return op.emitOpError("clips at ")
           << op.getClip().convertToDouble() << ", wanted " << clip
           << ", the 'clip' of the step's 'training'; change both";
  if (!op.getSkip())
    return op.emitOpError("applies gradients that are not finite, which would "
                          "replace all parameters; wanted 'skip'");
  return success();
}

LogicalResult Updates::addRange(Operation *op, PartitionOp partition,
                                int64_t begin, int64_t end) {
  for (const Updated &other : updated[partition.getSymNameAttr()]) {
    if (end <= other.begin || other.end <= begin)
      continue;
    InFlightDiagnostic error = op->emitOpError("updates @")
                               << partition.getSymName() << " a second time";
    error.attachNote(other.by->getLoc()) << "the first time";
    return error;
  }
  updated[partition.getSymNameAttr()].push_back({begin, end, op});
  updates.push_back(op);
  return success();
}

LogicalResult Updates::addUpdate(Operation *op) {
  if (auto update = dyn_cast<UpdateOp>(op)) {
    PartitionOp partition = tables.find(update.getPartitionAttr());
    auto [begin, end] = update.getRange(partition);
    return addRange(op, partition, begin, end);
  }
  auto update = cast<UpdateOnHostOp>(op);
  return addRange(op, tables.find(update.getPartitionAttr()), update.getBegin(),
                  update.getEnd());
}

LogicalResult Updates::verifyUpdates() {
  for (PartitionOp partition : tables.trained) {
    int64_t covered = 0;
    for (const Updated &range : updated[partition.getSymNameAttr()])
      covered += range.end - range.begin;
    if (updated[partition.getSymNameAttr()].empty())
      return partition.emitOpError("is never updated");
    if (covered != partition.getFlatElements())
      return partition.emitOpError("has updates of ")
             << covered << " of its " << partition.getFlatElements()
             << " elements";
  }
  return success();
}

LogicalResult Updates::verifyScale() {
  if (!scale)
    return tables.step.emitOpError(
        "never counts its updates: 'zero.update_scale' is missing");
  for (Operation *update : updates) {
    Operation *end = update;
    if (isa<AsyncOpInterface>(update))
      end = tables.handles.findWait(update);
    if (end && end->getBlock() == scale->getBlock() &&
        end->isBeforeInBlock(scale))
      continue;
    InFlightDiagnostic error =
        scale->emitOpError("counts the update before it is done");
    error.attachNote(update->getLoc())
        << "this update reads the count and the scale";
    return error;
  }
  return success();
}

LogicalResult Updates::run() {
  return success(succeeded(collect()) && succeeded(verifyUpdates()) &&
                 succeeded(verifyStats()) && succeeded(verifyJudge()) &&
                 succeeded(verifyScale()));
}

LogicalResult verify::verifyUpdates(const Tables &tables) {
  return Updates(tables).run();
}
