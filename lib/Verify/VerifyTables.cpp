//===- VerifyTables.cpp - what the topics of verification share -----------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Averages.h"

#include "llvm/ADT/Statistic.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

Tables::Tables(ModuleOp module, StepOp step)
    : PartitionTable(module), module(module), step(step), handles(step) {
  training = step.getTraining().value_or(TrainingAttr::get(
      step.getContext(), 0, 1, 1, Real(0.0), false, {}, {},
      /*keep_trivial=*/false, PlanningAttr::get(step.getContext(), {})));
  mesh = getMesh(module, training);
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.isTrainable())
      trained.push_back(partition);
}

bool Tables::hasLoss(Operation *region) const {
  auto micro = dyn_cast<MicroOp>(region);
  return mesh.isLastStage() && (!micro || StepOp(step).beginsBackward(micro));
}

int64_t Tables::paddedElements(FlatSymbolRefAttr parameter) const {
  PartitionOp partition = ownerOf(parameter);
  MemberAttr member = getMember(parameter.getAttr());
  if (!partition || member.getSize() == 0)
    return 0;
  ArrayRef<int64_t> segments = partition.getSegments();
  const int64_t *begin =
      std::prev(llvm::upper_bound(segments, member.getOffset()));
  return *llvm::lower_bound(segments, member.getOffset() + member.getSize()) -
         *begin;
}

ArrayRef<AsyncBuffer> Tables::getBuffers(AsyncOpInterface start) const {
  std::unique_ptr<SmallVector<AsyncBuffer>> &known =
      buffers[start.getOperation()];
  if (!known)
    known = std::make_unique<SmallVector<AsyncBuffer>>(
        start.getBuffers(*this, training));
  return *known;
}

const AsyncBuffer *Tables::findBuffer(AsyncOpInterface start,
                                      Value result) const {
  ArrayRef<AsyncBuffer> all = getBuffers(start);
  const int index = cast<OpResult>(result).getResultNumber();
  const AsyncBuffer *found = llvm::find_if(
      all, [&](const AsyncBuffer &buffer) { return buffer.result == index; });
  return found == all.end() ? nullptr : found;
}

#define DEBUG_TYPE "zero-verify"
ALWAYS_ENABLED_STATISTIC(numVisited, "Operations that verification visited");

static LogicalResult runRegion(Operation *region, Tracker &tracker) {
  tracker.now.region = region;
  tracker.enter();
  for (Operation &op : region->getRegion(0).front()) {
    ++numVisited;
    if (failed(tracker.visit(op)))
      return failure();
  }
  return tracker.leave();
}

/// Whether a region runs for the last micro-batch of an update, or for one
/// before.
static bool isOfMicro(StepOp step, Operation *region, bool isLast) {
  auto micro = dyn_cast<MicroOp>(region);
  if (!micro)
    return isa<ForwardOp>(region);
  const bool hasForm = step.getLastMicro().getLast();
  return !hasForm || micro.getLast() == isLast;
}

static LogicalResult runUpdate(const Tables &tables, Tracker &tracker) {
  // A first, a middle and a last micro-batch meet every combination of what
  // came before.
  constexpr int64_t kMostMicros = 3;
  tracker.now.micros = std::min(tables.training.getAccumulation(), kMostMicros);
  for (int64_t micro = 0; micro < tracker.now.micros; ++micro) {
    tracker.now.micro = micro;
    const bool isLast = micro + 1 == tracker.now.micros;
    // Passes of different slots know nothing of each other.
    for (Operation &region : tables.step.getBody().front())
      if (isOfMicro(tables.step, &region, isLast) &&
          failed(runRegion(&region, tracker)))
        return failure();
  }
  return runRegion(tables.step.getRegionOp<ApplyOp>(), tracker);
}

LogicalResult verify::simulate(const Tables &tables, Tracker &tracker) {
  // An update after the start, one after an update, one after an evaluation.
  constexpr int64_t kUpdates = 3;
  auto initialize = tables.step.getRegionOp<InitializeOp>();
  auto evaluate = tables.step.getRegionOp<EvaluateOp>();
  if (initialize && failed(runRegion(initialize, tracker)))
    return failure();
  for (int64_t update = 0; update < kUpdates; ++update) {
    tracker.now.update = update;
    if (update == kUpdates - 1 &&
        (failed(tracker.drain()) ||
         (evaluate && failed(runRegion(evaluate, tracker)))))
      return failure();
    if (failed(runUpdate(tables, tracker)))
      return failure();
  }
  return tracker.drain();
}

bool verify::isGradientOf(Value value, FlatSymbolRefAttr parameter,
                          int64_t begin, int64_t end) {
  auto gradient = value.getDefiningOp<GradientOp>();
  return gradient && gradient.getParameterAttr() == parameter &&
         gradient.getElements() == std::make_pair(begin, end);
}

void verify::describeGradient(InFlightDiagnostic &error, Value value) {
  if (auto gradient = value.getDefiningOp<GradientOp>()) {
    auto [begin, end] = gradient.getElements();
    error << "; it is that of " << gradient.getParameterAttr() << "[" << begin
          << " to " << end << "]";
  } else {
    error << "; no 'zero.gradient' says whose gradient it is";
  }
  error.attachNote(value.getLoc()) << "computed here";
}

void verify::remarkInternalError(ModuleOp module) {
  emitRemark(
      module.getLoc(),
      "this is an internal error, unless the model itself has operations "
      "of zero between ranks: nothing was compiled. Report it with the "
      "model and its configuration");
}

/// An average of the partition moves as far as its parameter says.
static LogicalResult verifyAverage(const Tables &tables, PartitionOp partition,
                                   ParameterOp parameter) {
  Attribute wanted = getAverageUpdate(parameter, tables.training);
  if (partition.getOptimizer() && wanted == *partition.getOptimizer())
    return success();
  InFlightDiagnostic error = partition.emitOpError();
  if (partition.getOptimizer())
    error << "trains @" << parameter.getSymName() << " by "
          << *partition.getOptimizer();
  else
    error << "does not train @" << parameter.getSymName();
  return error << ", and it is an average, wanted " << wanted;
}

/// Checks that a partition has the optimizer of its members' group, if the
/// module has optimizers.
static LogicalResult verifyOptimizer(const Tables &tables,
                                     PartitionOp partition) {
  DenseMap<StringAttr, OptimizerOp> byGroup;
  for (OptimizerOp optimizer : tables.module.getOps<OptimizerOp>())
    byGroup[optimizer.getGroupAttr()] = optimizer;
  SymbolTable symbols(tables.module);
  for (MemberAttr member : partition.getMemberRange()) {
    auto parameter =
        symbols.lookup<ParameterOp>(member.getParameter().getValue());
    if (parameter.getAverage()) {
      if (failed(verifyAverage(tables, partition, parameter)))
        return failure();
      continue;
    }
    if (byGroup.empty() || !partition.isTrainable())
      continue;
    OptimizerOp wanted = byGroup.lookup(parameter.getGroupAttr());
    if (wanted && wanted.getOptimizer() == *partition.getOptimizer())
      continue;
    InFlightDiagnostic error =
        partition.emitOpError("trains ")
        << member.getParameter() << " by " << *partition.getOptimizer()
        << ", and its group '" << parameter.getGroup() << "' ";
    if (!wanted)
      return error << "has no 'zero.optimizer'";
    error << "by " << wanted.getOptimizer();
    error.attachNote(wanted.getLoc()) << "said here";
    return error;
  }
  return success();
}

/// Checks that each parameter that is read is in a partition, trained or not.
static LogicalResult
verifyLoads(const Tables &tables,
            const DenseMap<StringAttr, PartitionOp> &partitions) {
  WalkResult walk = tables.step->walk([&](LoadOp load) {
    if (partitions.contains(load.getParameterAttr().getAttr()))
      return WalkResult::advance();
    load.emitOpError("reads ")
        << load.getParameterAttr()
        << ", which is in no 'zero.partition'; wanted one, as zero-partition "
           "makes it";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Only gathers name several partitions, whose slices one group of ranks has.
static LogicalResult verifyOneGroup(const Tables &tables,
                                    CollectiveOpInterface collective) {
  PartitionOp first;
  for (const PartitionRange &range : collective.getPartitionRanges(tables)) {
    PartitionOp partition = tables.find(range.partition);
    if (!first)
      first = partition;
    if (partition.getCut() == first.getCut())
      continue;
    InFlightDiagnostic error =
        collective->emitOpError("moves what is of ")
        << range.partition << ", which is cut over " << partition.getCut()
        << ", and of @" << first.getSymName() << ", cut over " << first.getCut()
        << "; wanted an operation for each group";
    error.attachNote(partition.getLoc()) << "cut here";
    return error;
  }
  return success();
}

static LogicalResult verifyGroups(const Tables &tables) {
  WalkResult walk = tables.step->walk([&](CollectiveOpInterface collective) {
    return failed(verifyOneGroup(tables, collective)) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Every trainable or used element lies in one partition, so exactly one slice
/// of one segment holds it: its owner updates it and no other rank does.
LogicalResult verify::verifyPartitions(const Tables &tables) {
  if (failed(verifyMesh(tables.module, tables.training)))
    return failure();
  DenseMap<StringAttr, PartitionOp> seen;
  for (PartitionOp partition : tables.module.getOps<PartitionOp>()) {
    if (partition.getOver().isLine() && tables.mesh.all.isLine() &&
        partition.getSlices() != tables.training.getRanks())
      return partition.emitOpError("is cut for ")
             << partition.getSlices() << " ranks, and the step runs on "
             << tables.training.getRanks();
    AxesAttr over = tables.mesh.all.without(partition.getPartsAttr());
    AxesAttr cut = tables.mesh.cut.without(partition.getPartsAttr());
    if (partition.getOver() != over || partition.getCut() != cut)
      return partition.emitOpError("is reduced over ")
             << partition.getOver() << " and cut over " << partition.getCut()
             << ", wanted " << over << " and " << cut << ", the mesh's"
             << (partition.getPartsAttr() ? " without those of 'parts'" : "");
    if (static_cast<int64_t>(partition.getStage()) !=
        tables.training.getStage())
      return partition.emitOpError("is cut for stage ")
             << partition.getStage() << ", and the step trains at stage "
             << tables.training.getStage()
             << "; wanted the same: run the pipeline with the stage";
    if (failed(verifyOptimizer(tables, partition)))
      return failure();
    for (MemberAttr member : partition.getMemberRange()) {
      auto [other, isNew] =
          seen.try_emplace(member.getParameter().getAttr(), partition);
      if (isNew)
        continue;
      InFlightDiagnostic error = partition.emitOpError("holds ")
                                 << member.getParameter()
                                 << ", which has another owner";
      error.attachNote(other->second.getLoc()) << "held here too";
      return error;
    }
  }
  if (failed(verifyLoads(tables, seen)))
    return failure();
  return verifyGroups(tables);
}
