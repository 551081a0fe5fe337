//===- InsertReductions.cpp - send gradients to their owners --------------===//

#include "zero/Analysis/PartitionLayout.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <tuple>

namespace mlir::zero {
#define GEN_PASS_DEF_INSERTREDUCTIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// When a partition's gradients travel.
enum class ReductionTime {
  Never,    ///< one rank: nothing travels
  Backward, ///< bucket by bucket, as gradients become ready
  Apply,    ///< from the stored gradient, once an update
};

/// Gradients that one reduction takes, in flat order; `begin` and `end` are the
/// range of segments that they fill, or, for one block of a `contiguous`
/// layout, its elements.
struct Bucket {
  int64_t begin = 0, end = 0;
  SmallVector<GradientOp> gradients;
};

struct InsertReductions
    : public zero::impl::InsertReductionsBase<InsertReductions> {
  using InsertReductionsBase::InsertReductionsBase;
  void runOnOperation() override;
};

/// The reductions of one module.
class Reductions {
public:
  Reductions(ModuleOp module, StepOp step, int64_t bucketElements);
  LogicalResult run();

private:
  void collectGradients();
  LogicalResult verifyGradients();
  void reducePartition(PartitionOp partition);
  ReductionTime chooseTime(PartitionOp partition);
  SmallVector<Bucket> cutBuckets(PartitionOp partition);
  /// The gradients of a partition's members, in flat order.
  SmallVector<GradientOp> listGradients(PartitionOp partition);
  /// Elements [first, second) of the flat space that `gradient` is.
  std::pair<int64_t, int64_t> elementsOf(GradientOp gradient);
  /// Runs of `members` of at most `limit` elements, without their ranges.
  SmallVector<Bucket> cutRuns(ArrayRef<GradientOp> members, int64_t limit);
  SmallVector<Bucket> cutByReadiness(PartitionOp partition);
  SmallVector<Bucket> cutByParameter(PartitionOp partition);
  SmallVector<Bucket> cutBySegment(PartitionOp partition);
  void storeLocally(PartitionOp partition);
  void reduceBucket(PartitionOp partition, Bucket &bucket);
  void reduceStored(PartitionOp partition);
  void reduceReplicas(PartitionOp partition);

  ModuleOp module;
  StepOp step;
  TrainingAttr training;
  /// Most elements of a bucket where segments do not decide it.
  int64_t bucketElements;
  /// A sum of fp16 values may overflow where a prescaled one does not. One
  /// update has one factor for all gradients, so all are where one must be.
  bool prescaled = false;
  /// A parameter's gradient, or its blocks in order.
  DenseMap<StringAttr, SmallVector<GradientOp, 1>> gradients;
  /// Members' first elements in the flat space.
  DenseMap<StringAttr, int64_t> offsets;
  /// Order of gradients in the backward, numbered once.
  DenseMap<Operation *, unsigned> positions;
};

/// Builds reductions of one partition at a builder's insertion point.
class ReductionBuilder {
public:
  ReductionBuilder(OpBuilder &builder, Location loc, PartitionOp partition,
                   bool prescaled)
      : builder(builder), loc(loc), partition(partition), prescaled(prescaled),
        symbol(partition.getSymName()) {}

  void allReduce(const Bucket &bucket);
  void reduceScatter(const Bucket &bucket);
  /// The same of quantized gradients, in one step or two.
  void exchange(const Bucket &bucket, PlanningAttr planning);
  void reduceToOwners(const Bucket &bucket);

private:
  ArrayAttr names(const Bucket &bucket);
  SmallVector<Value> values(const Bucket &bucket);
  /// What travels: the gradients' type, or that of the stored gradient.
  Type wireType(const Bucket &bucket);
  PendingType pending(const Bucket &bucket, ArrayRef<int64_t> sizes);
  WaitOp wait(Value pending) { return WaitOp::create(builder, loc, pending); }
  void accumulate(AccumulateForm form, Value value, int64_t begin, int64_t end,
                  ArrayAttr parameters = {});

  OpBuilder &builder;
  Location loc;
  PartitionOp partition;
  bool prescaled;
  StringRef symbol;
};

} // namespace

//===----------------------------------------------------------------------===//
// ReductionBuilder
//===----------------------------------------------------------------------===//

ArrayAttr ReductionBuilder::names(const Bucket &bucket) {
  if (bucket.gradients.empty())
    return {};
  SmallVector<Attribute> symbols;
  for (GradientOp gradient : bucket.gradients)
    symbols.push_back(gradient.getParameterAttr());
  return builder.getArrayAttr(symbols);
}

SmallVector<Value> ReductionBuilder::values(const Bucket &bucket) {
  SmallVector<Value> result;
  for (GradientOp gradient : bucket.gradients)
    result.push_back(gradient.getResult());
  return result;
}

Type ReductionBuilder::wireType(const Bucket &bucket) {
  return bucket.gradients.empty() ? partition.getGradientType()
                                  : partition.getWireType();
}

PendingType ReductionBuilder::pending(const Bucket &bucket,
                                      ArrayRef<int64_t> sizes) {
  SmallVector<Type> types;
  for (int64_t size : sizes)
    types.push_back(RankedTensorType::get({size}, wireType(bucket)));
  return PendingType::get(builder.getContext(), types);
}

void ReductionBuilder::accumulate(AccumulateForm form, Value value,
                                  int64_t begin, int64_t end,
                                  ArrayAttr parameters) {
  AccumulateOp::create(builder, loc, form, value, symbol, begin, end,
                       parameters);
}

void ReductionBuilder::allReduce(const Bucket &bucket) {
  auto op = AllReduceOp::create(
      builder, loc, pending(bucket, bucket.end - bucket.begin), symbol,
      bucket.begin, bucket.end, values(bucket), names(bucket), prescaled);
  WaitOp done = wait(op.getPending());
  if (!bucket.gradients.empty())
    accumulate(AccumulateForm::Whole, done.getResult(0), bucket.begin,
               bucket.end);
}

void ReductionBuilder::reduceScatter(const Bucket &bucket) {
  auto ranges = partition.getSegmentsIn(bucket.begin, bucket.end);
  SmallVector<int64_t> slices;
  for (auto [begin, end] : ranges)
    slices.push_back((end - begin) / partition.getSlices());
  auto op = ReduceScatterOp::create(builder, loc, pending(bucket, slices),
                                    symbol, bucket.begin, bucket.end,
                                    values(bucket), names(bucket), prescaled);
  WaitOp done = wait(op.getPending());
  if (bucket.gradients.empty())
    return;
  for (auto [slice, range] : llvm::zip_equal(done.getResults(), ranges))
    accumulate(AccumulateForm::Slice, slice, range.first, range.second);
}

void ReductionBuilder::exchange(const Bucket &bucket, PlanningAttr planning) {
  AxesAttr within = planning.getGradientsWithin();
  SmallVector<Attribute> names;
  SmallVector<Value> taken;
  for (GradientOp gradient : bucket.gradients) {
    auto [begin, end] = gradient.getElements();
    if (begin == end)
      continue;
    names.push_back(gradient.getParameterAttr());
    taken.push_back(gradient.getResult());
  }
  auto ranges = partition.getSegmentsIn(bucket.begin, bucket.end);
  auto run = [&](ExchangeStep step, AxesAttr over, int64_t ranks, Type type) {
    SmallVector<Type> types;
    for (auto [begin, end] : ranges)
      types.push_back(RankedTensorType::get({(end - begin) / ranks}, type));
    const bool isLast = step != ExchangeStep::Within;
    auto op = ExchangeGradientsOp::create(
        builder, loc, PendingType::get(builder.getContext(), types), step,
        symbol, bucket.begin, bucket.end, builder.getArrayAttr(names), taken,
        over, planning.getQuantizedGradients(), planning.getErrorFeedback(),
        prescaled && isLast, StreamKind::Reduce);
    WaitOp done = wait(op.getPending());
    taken.assign(done.result_begin(), done.result_end());
  };
  if (within)
    run(ExchangeStep::Within, within, within.getSize(), builder.getF32Type());
  AxesAttr cut = partition.getCut();
  run(within ? ExchangeStep::Between : ExchangeStep::Whole,
      within ? cut.without(within) : cut, partition.getSlices(),
      wireType(bucket));
  for (auto [slice, range] : llvm::zip_equal(taken, ranges))
    accumulate(AccumulateForm::Slice, slice, range.first, range.second);
}

void ReductionBuilder::reduceToOwners(const Bucket &bucket) {
  int64_t elements = 0;
  for (Value value : values(bucket))
    elements += cast<RankedTensorType>(value.getType()).getNumElements();
  bool isBlock = bucket.begin < bucket.end;
  auto bound = [&](int64_t value) {
    return isBlock ? builder.getI64IntegerAttr(value) : IntegerAttr();
  };
  auto op = BucketedReduceOp::create(
      builder, loc, pending(bucket, elements), symbol, bound(bucket.begin),
      bound(bucket.end), names(bucket), values(bucket), prescaled);
  WaitOp done = wait(op.getPending());
  auto [begin, end] = op.getRange(partition);
  accumulate(AccumulateForm::Owned, done.getResult(0), begin, end,
             names(bucket));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

Reductions::Reductions(ModuleOp module, StepOp step, int64_t bucketElements)
    : module(module), step(step), training(*step.getTraining()),
      bucketElements(bucketElements) {
  prescaled =
      llvm::any_of(module.getOps<PartitionOp>(), [](PartitionOp partition) {
        return partition.isTrainable() && partition.getWireType().isF16();
      });
}

void Reductions::collectGradients() {
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (MemberAttr member : partition.getMemberRange())
      offsets[member.getParameter().getAttr()] = member.getOffset();
  step.getRegionOp<MicroOp>().walk([&](GradientOp gradient) {
    positions[gradient] = positions.size();
    gradients[gradient.getParameterAttr().getAttr()].push_back(gradient);
  });
}

ReductionTime Reductions::chooseTime(PartitionOp partition) {
  if (partition.isSilent(training))
    return ReductionTime::Never;
  if (scattersInBackward(training))
    return ReductionTime::Backward;
  // Stages 0 and 1 may add up locally and communicate once; a deterministic run
  // rounds where every other stage rounds.
  bool everyMicro =
      training.getDeterministic() || training.getAccumulation() == 1;
  return partition.getStage() == 0 && everyMicro ? ReductionTime::Backward
                                                 : ReductionTime::Apply;
}

std::pair<int64_t, int64_t> Reductions::elementsOf(GradientOp gradient) {
  int64_t offset = offsets.lookup(gradient.getParameterAttr().getAttr());
  auto [begin, end] = gradient.getElements();
  return {offset + begin, offset + end};
}

SmallVector<GradientOp> Reductions::listGradients(PartitionOp partition) {
  SmallVector<GradientOp> members;
  for (MemberAttr member : partition.getMemberRange())
    llvm::append_range(members, gradients[member.getParameter().getAttr()]);
  return members;
}

SmallVector<Bucket> Reductions::cutRuns(ArrayRef<GradientOp> members,
                                        int64_t limit) {
  SmallVector<int64_t> sizes;
  SmallVector<bool> alone;
  for (GradientOp member : members) {
    auto [begin, end] = member.getElements();
    sizes.push_back(end - begin);
    alone.push_back(member.isBlock());
  }
  SmallVector<Bucket> buckets;
  size_t first = 0;
  for (size_t end : cutIntoBuckets(sizes, limit, alone)) {
    llvm::append_range(buckets.emplace_back().gradients,
                       members.slice(first, end - first));
    first = end;
  }
  return buckets;
}

SmallVector<Bucket> Reductions::cutByReadiness(PartitionOp partition) {
  SmallVector<GradientOp> members = listGradients(partition);
  llvm::stable_sort(members, [&](GradientOp a, GradientOp b) {
    return positions.lookup(a) < positions.lookup(b);
  });
  SmallVector<Bucket> buckets = cutRuns(members, bucketElements);
  // Pieces of one owner are neighbours when members are in flat order.
  for (Bucket &bucket : buckets) {
    llvm::sort(bucket.gradients, [&](GradientOp a, GradientOp b) {
      return elementsOf(a) < elementsOf(b);
    });
    if (bucket.gradients.front().isBlock())
      std::tie(bucket.begin, bucket.end) = elementsOf(bucket.gradients.front());
  }
  return buckets;
}

SmallVector<Bucket> Reductions::cutByParameter(PartitionOp partition) {
  SmallVector<Bucket> buckets =
      cutRuns(listGradients(partition), bucketElements);
  ArrayRef<int64_t> segments = partition.getSegments();
  size_t segment = 0;
  for (Bucket &bucket : buckets) {
    bucket.begin = segments[segment];
    segment += bucket.gradients.size();
    bucket.end = segments[segment];
  }
  return buckets;
}

SmallVector<Bucket> Reductions::cutBySegment(PartitionOp partition) {
  SmallVector<GradientOp> members = listGradients(partition);
  ArrayRef<int64_t> segments = partition.getSegments();
  SmallVector<Bucket> buckets;
  size_t next = 0;
  for (size_t i = 1; i < segments.size(); ++i) {
    Bucket &bucket = buckets.emplace_back();
    bucket.begin = segments[i - 1];
    bucket.end = segments[i];
    for (; next < members.size() &&
           elementsOf(members[next]).second <= bucket.end;
         ++next)
      bucket.gradients.push_back(members[next]);
  }
  return buckets;
}

SmallVector<Bucket> Reductions::cutBuckets(PartitionOp partition) {
  if (partition.getLayout() == LayoutKind::Contiguous)
    return cutByReadiness(partition);
  if (partition.getLayout() == LayoutKind::Parameter)
    return cutByParameter(partition);
  return cutBySegment(partition);
}

void Reductions::storeLocally(PartitionOp partition) {
  for (GradientOp gradient : listGradients(partition)) {
    OpBuilder builder(gradient->getContext());
    builder.setInsertionPointAfter(gradient);
    auto [begin, end] = elementsOf(gradient);
    if (begin < end)
      AccumulateOp::create(builder, gradient.getLoc(), AccumulateForm::Whole,
                           gradient.getResult(), partition.getSymName(), begin,
                           end, /*parameters=*/ArrayAttr());
  }
}

void Reductions::reduceBucket(PartitionOp partition, Bucket &bucket) {
  if (bucket.gradients.empty())
    return;
  GradientOp last =
      *llvm::max_element(bucket.gradients, [&](GradientOp a, GradientOp b) {
        return positions.lookup(a) < positions.lookup(b);
      });
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  ReductionBuilder reduction(builder, last.getLoc(), partition, prescaled);
  if (partition.getLayout() == LayoutKind::Contiguous)
    reduction.reduceToOwners(bucket);
  else if (bucket.begin == bucket.end)
    return;
  else if (partition.getStage() == 0)
    reduction.allReduce(bucket);
  else if (training.getPlanning().getQuantizedGradients())
    reduction.exchange(bucket, training.getPlanning());
  else
    reduction.reduceScatter(bucket);
}

void Reductions::reduceStored(PartitionOp partition) {
  Block &block = step.getRegionOp<ApplyOp>().getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  ReductionBuilder reduction(builder, partition.getLoc(), partition, prescaled);
  ArrayRef<int64_t> segments = partition.getSegments();
  for (size_t i = 1; i < segments.size(); ++i) {
    Bucket bucket;
    bucket.begin = segments[i - 1];
    bucket.end = segments[i];
    if (bucket.begin == bucket.end)
      continue;
    if (partition.getStage() == 0)
      reduction.allReduce(bucket);
    else
      reduction.reduceScatter(bucket);
  }
}

/// Once an update, what a rank owns of the stored gradient is combined with
/// that of its replicas, in runs of segments of at most a bucket. So an element
/// is reduced in the same two steps at every stage.
void Reductions::reduceReplicas(PartitionOp partition) {
  Block &block = step.getRegionOp<ApplyOp>().getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  for (auto [begin, end] : partition.getSegmentRuns(bucketElements)) {
    auto start = AllReduceOwnedOp::create(
        builder, partition.getLoc(), PendingType::get(module.getContext(), {}),
        partition.getSymName(), begin, end, prescaled);
    WaitOp::create(builder, partition.getLoc(), start.getPending());
  }
}

/// Every trained parameter has a gradient, and nothing takes one yet: this pass
/// did not run.
LogicalResult Reductions::verifyGradients() {
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (MemberAttr member : partition.getMemberRange())
      if (partition.isTrainable() &&
          !gradients.contains(member.getParameter().getAttr()))
        return partition.emitOpError("trains ")
               << member.getParameter()
               << ", which has no 'zero.gradient'; reductions are inserted "
                  "once, after zero-partition";
  for (auto &[name, blocks] : gradients)
    for (GradientOp gradient : blocks)
      if (!gradient->use_empty())
        return gradient.emitOpError("of ")
               << gradient.getParameterAttr()
               << " is taken already; reductions are inserted once, after "
                  "zero-partition";
  return success();
}

void Reductions::reducePartition(PartitionOp partition) {
  ReductionTime time = chooseTime(partition);
  if (time == ReductionTime::Never || time == ReductionTime::Apply)
    storeLocally(partition);
  if (time == ReductionTime::Apply)
    reduceStored(partition);
  if (time == ReductionTime::Backward)
    for (Bucket &bucket : cutBuckets(partition))
      reduceBucket(partition, bucket);
  if (time != ReductionTime::Never && partition.getReplicas() > 1)
    reduceReplicas(partition);
}

LogicalResult Reductions::run() {
  collectGradients();
  if (failed(verifyGradients()))
    return failure();
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.isTrainable())
      reducePartition(partition);
  return success();
}

void InsertReductions::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  int64_t bucketElements =
      getSetting(reduceBucketSize,
                 step->getTraining()->getPlanning().getReduceBucketSize());
  if (failed(Reductions(getOperation(), *step, bucketElements).run()))
    signalPassFailure();
}
