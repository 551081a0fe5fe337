//===- InsertUpdates.cpp - norm, overflow check, optimizer, gathers -------===//

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "program/Collective.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_INSERTUPDATES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct InsertUpdates : public zero::impl::InsertUpdatesBase<InsertUpdates> {
  using InsertUpdatesBase::InsertUpdatesBase;
  void runOnOperation() override;
};
} // namespace

/// What the update divides by, besides the loss scale. All partitions have the
/// gradients of the same samples.
static double findDivisor(StepOp step, ArrayRef<PartitionOp> trained) {
  bool prescaled = false;
  step.walk([&](CollectiveOpInterface op) {
    prescaled |= op.getReduction() == zrt::Reduction::PrescaledSum;
  });
  return PartitionOp(trained.front()).getDivisor(prescaled);
}

static Value judge(OpBuilder &builder, StepOp step,
                   ArrayRef<PartitionOp> trained) {
  Location loc = step.getLoc();
  TrainingAttr training = *step.getTraining();
  MeshAxes mesh = getMesh(step->getParentOfType<ModuleOp>(), training);
  SmallVector<Attribute> names;
  for (PartitionOp partition : trained)
    names.push_back(FlatSymbolRefAttr::get(partition.getSymNameAttr()));
  Value stats = GradStatsOp::create(builder, loc, builder.getArrayAttr(names));
  const bool isWeighted = step.hasWeights();
  if (!training.isSilent() || mesh.model)
    stats = ReduceStatsOp::create(
        builder, loc, StatsType::get(builder.getContext()), stats,
        /*loss_only=*/training.getStage() == 0 && mesh.hasWholeModels(),
        isWeighted);
  IntegerAttr microBatches;
  if (isWeighted)
    microBatches = builder.getI64IntegerAttr(mesh.countWeights(training));
  return JudgeOp::create(builder, loc, VerdictType::get(builder.getContext()),
                         stats, llvm::APFloat(training.getClip()),
                         llvm::APFloat(findDivisor(step, trained)),
                         microBatches, /*skip=*/true);
}

/// Adds up the gradients of what other stages of a pipeline have as well.
static LogicalResult tieGradients(OpBuilder &builder,
                                  ArrayRef<PartitionOp> trained) {
  for (PartitionOp partition : trained) {
    if (!partition.getStages())
      continue;
    if (!partition.getGradientType().isF32())
      return partition.emitOpError("has gradients of ")
             << partition.getGradientType()
             << ", and several stages of the pipeline add them up, which takes "
                "f32: accumulate two micro-batches an update or more "
                "(gradient_accumulation_steps), or compute in f32";
    TieGradientsOp::create(builder, partition.getLoc(), partition.getSymName());
  }
  return success();
}

static void refresh(OpBuilder &builder, PartitionOp partition,
                    int64_t bucketElements) {
  for (auto [begin, end] : partition.getSegmentRuns(bucketElements)) {
    auto start = RefreshOp::create(builder, partition.getLoc(),
                                   PendingType::get(builder.getContext(), {}),
                                   partition.getSymName(), begin, end);
    WaitOp::create(builder, partition.getLoc(), start.getPending());
  }
}

/// A copy of what this rank owns of [begin, end) of gradients or parameters.
static Value copyToHost(OpBuilder &builder, PartitionOp partition,
                        StringRef state, Type type, int64_t begin,
                        int64_t end) {
  RankedTensorType copied = partition.getOwnedType(begin, end, type);
  auto start = CopyToHostOp::create(
      builder, partition.getLoc(),
      PendingType::get(builder.getContext(), {copied}), state,
      partition.getSymName(), begin, end, StreamKind::Copy);
  return WaitOp::create(builder, partition.getLoc(), start.getPending())
      .getResult(0);
}

/// The states and parameters of [begin, end) from their file; none where they
/// are not in one.
static SmallVector<Value> readStates(OpBuilder &builder, PartitionOp partition,
                                     int64_t begin, int64_t end) {
  SmallVector<Type> types = partition.getOwnedTypesInFile(begin, end);
  if (types.empty())
    return {};
  auto start = ReadStatesOp::create(
      builder, partition.getLoc(),
      PendingType::get(builder.getContext(), types), partition.getSymName(),
      begin, end, StreamKind::Read);
  return llvm::to_vector_of<Value>(
      WaitOp::create(builder, partition.getLoc(), start.getPending())
          .getResults());
}

static void writeStates(OpBuilder &builder, PartitionOp partition,
                        ValueRange states, int64_t begin, int64_t end) {
  if (states.empty())
    return;
  auto start = WriteStatesOp::create(
      builder, partition.getLoc(), PendingType::get(builder.getContext(), {}),
      states, partition.getSymName(), begin, end, StreamKind::Write);
  WaitOp::create(builder, partition.getLoc(), start.getPending());
}

static void updateOnHost(OpBuilder &builder, PartitionOp partition,
                         Value verdict, int64_t begin, int64_t end) {
  Location loc = partition.getLoc();
  SmallVector<Value> states = readStates(builder, partition, begin, end);
  Value gradients = copyToHost(builder, partition, "gradients",
                               partition.getGradientType(), begin, end);
  bool staysOnHost = partition.hasOffloadedParameters();
  Value parameters;
  if (partition.readsParameters() && !staysOnHost)
    parameters = copyToHost(builder, partition, "parameters",
                            partition.getComputeType(), begin, end);
  SmallVector<Type> results;
  if (!staysOnHost)
    results.push_back(
        partition.getOwnedType(begin, end, partition.getComputeType()));
  llvm::append_range(results, partition.getOwnedTypesInFile(begin, end));
  auto update = UpdateOnHostOp::create(
      builder, loc, PendingType::get(builder.getContext(), results),
      partition.getSymName(), begin, end, gradients, parameters, states,
      verdict, StreamKind::Host);
  auto wait = WaitOp::create(builder, loc, update.getPending());
  if (!staysOnHost) {
    auto copy = CopyToDeviceOp::create(
        builder, loc, PendingType::get(builder.getContext(), {}),
        wait.getResult(0), partition.getSymName(), begin, end, verdict,
        StreamKind::Upload);
    WaitOp::create(builder, loc, copy.getPending());
  }
  writeStates(builder, partition, wait.getResults().take_back(states.size()),
              begin, end);
}

/// The segments whose states are not on the device, which come first, are
/// updated on the host; the device updates the rest.
static void updatePartition(OpBuilder &builder, PartitionOp partition,
                            OffloadAttr offload, Value verdict) {
  int64_t hostEnd = offload ? partition.getHostEnd() : 0;
  int64_t flat = partition.getFlatElements();
  if (hostEnd > 0)
    for (auto [begin, end] :
         partition.getSubGroups(0, hostEnd, offload.getSubGroupSize()))
      updateOnHost(builder, partition, verdict, begin, end);
  if (hostEnd == 0)
    UpdateOp::create(builder, partition.getLoc(), partition.getSymName(),
                     verdict);
  else if (hostEnd < flat)
    UpdateOp::create(builder, partition.getLoc(), partition.getSymName(),
                     builder.getI64IntegerAttr(hostEnd),
                     builder.getI64IntegerAttr(flat), verdict);
}

/// A segment is gathered whole: what is smaller does not count.
static void remarkBucketSize(StepOp step, ArrayRef<PartitionOp> trained,
                             int64_t bucketElements) {
  int64_t count = 0, largest = 0;
  bool isContiguous = false;
  for (PartitionOp partition : trained) {
    if (!partition.hasShardedOptimizer() || partition.hasShardedParameters())
      continue;
    isContiguous |= partition.getLayout() == LayoutKind::Contiguous;
    for (auto [begin, end] :
         partition.getSegmentsIn(0, partition.getFlatElements()))
      if (end - begin > bucketElements) {
        ++count;
        largest = std::max(largest, end - begin);
      }
  }
  if (count > 0)
    emitRemark(step.getLoc())
        << "the all-gather bucket of " << bucketElements
        << " elements (allgather_bucket_size) has no effect on " << count
        << (count == 1 ? " segment" : " segments") << " of up to " << largest
        << " elements, which are gathered whole; "
        << (isContiguous
                ? "the layout contiguous has one for all buckets of a group, "
                  "and bucketed one for each (zero.layout)"
                : "a smaller reduce bucket (reduce_bucket_size) makes smaller "
                  "segments");
}

static void refreshResident(OpBuilder &builder, StepOp step,
                            ArrayRef<PartitionOp> trained) {
  auto initialize = step.getRegionOp<InitializeOp>();
  if (!initialize)
    return;
  for (auto first : initialize.getBody().getOps<RefreshResidentOp>()) {
    // Untrained parameters have not changed since the start.
    DenseSet<Attribute> members;
    for (PartitionOp partition : trained)
      for (MemberAttr member : partition.getMemberRange())
        members.insert(member.getParameter());
    SmallVector<Attribute> changed;
    for (Attribute name : first.getParameters())
      if (members.contains(name))
        changed.push_back(name);
    if (changed.empty())
      continue;
    auto start = RefreshResidentOp::create(
        builder, step.getLoc(), PendingType::get(builder.getContext(), {}),
        builder.getArrayAttr(changed), /*slices=*/ValueRange());
    WaitOp::create(builder, step.getLoc(), start.getPending());
  }
}

void InsertUpdates::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  SmallVector<PartitionOp> trained;
  for (PartitionOp partition : getOperation().getOps<PartitionOp>())
    if (partition.isTrainable())
      trained.push_back(partition);
  if (trained.empty()) {
    emitError(step.getLoc())
        << "'zero.step' has no partition to train: no trainable parameter that "
           "the loss depends on, or zero-partition did not run";
    return signalPassFailure();
  }
  for (UpdateOp update :
       step.getRegionOp<ApplyOp>().getBody().getOps<UpdateOp>()) {
    update.emitOpError("is there already; updates are inserted once");
    return signalPassFailure();
  }
  OpBuilder builder =
      OpBuilder::atBlockEnd(&step.getRegionOp<ApplyOp>().getBody().front());
  if (failed(tieGradients(builder, trained)))
    return signalPassFailure();
  Value verdict = judge(builder, step, trained);
  int64_t bucketElements =
      getSetting(allgatherBucketSize,
                 step.getTraining()->getPlanning().getAllgatherBucketSize());
  OffloadAttr offload = step.getTraining()->getPlanning().getOffload();
  for (PartitionOp partition : trained) {
    updatePartition(builder, partition, offload, verdict);
    if (partition.hasShardedOptimizer() && !partition.hasShardedParameters())
      refresh(builder, partition, bucketElements);
  }
  UpdateScaleOp::create(builder, step.getLoc(), verdict);
  refreshResident(builder, step, trained);
  remarkBucketSize(step, trained, bucketElements);
}
