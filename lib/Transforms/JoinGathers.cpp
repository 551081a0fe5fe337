//===- JoinGathers.cpp - gathers that travel together ---------------------===//

#include "BlockGathers.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Cost/JoinPlan.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <tuple>

namespace mlir::zero {
#define GEN_PASS_DEF_JOINGATHERS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct JoinGathers : public zero::impl::JoinGathersBase<JoinGathers> {
  using JoinGathersBase::JoinGathersBase;
  void runOnOperation() override;
};

/// The gathers of one block, and what each has to share with others to travel
/// with them.
class Candidates {
public:
  Candidates(const BlockGathers &gathers, const PartitionTable &partitions,
             const CostModel &model);
  bool canJoin(size_t first, size_t next) const;
  double secondsOf(size_t first, size_t last) const;

private:
  using Kind =
      std::tuple<AxesAttr, AxesAttr, QuantizationAttr, Type, StreamKind, bool>;
  std::optional<Kind> kindOf(Operation *start) const;
  bool isOffloaded(AllGatherOp op) const;

  const BlockGathers &gathers;
  const PartitionTable &partitions;
  const CostModel &model;
  SmallVector<std::optional<Kind>> kinds; ///< none: it travels alone
  SmallVector<int64_t> bytes;             ///< of all before each
};

} // namespace

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

Candidates::Candidates(const BlockGathers &gathers,
                       const PartitionTable &partitions, const CostModel &model)
    : gathers(gathers), partitions(partitions), model(model) {
  bytes.push_back(0);
  for (Operation *start : gathers.getStarts()) {
    kinds.push_back(kindOf(start));
    bytes.push_back(bytes.back() +
                    cast<AsyncOpInterface>(start).getBytes(partitions));
  }
}

/// Copies of slices that are not on the device come one gather after the other,
/// over a link that is slower than what gathers wait for.
bool Candidates::isOffloaded(AllGatherOp op) const {
  return llvm::any_of(
      op.getPartitionRanges(partitions), [&](const PartitionRange &range) {
        return partitions.find(range.partition).hasOffloadedParameters();
      });
}

std::optional<Candidates::Kind> Candidates::kindOf(Operation *start) const {
  auto op = dyn_cast<AllGatherOp>(start);
  if (!op || isOffloaded(op))
    return std::nullopt;
  return Kind{op.getGroup(partitions), op.getOverAttr(),
              op.getQuantizedAttr(),   op.getWireType(partitions),
              op.getStream(),          op.getSlices().empty()};
}

bool Candidates::canJoin(size_t first, size_t next) const {
  if (!kinds[first] || kinds[first] != kinds[next])
    return false;
  auto namesOf = [&](size_t index) {
    return cast<AllGatherOp>(gathers.getStarts()[index]).getParameters();
  };
  return llvm::none_of(llvm::seq(first, next), [&](size_t earlier) {
    return llvm::any_of(namesOf(earlier), [&](Attribute name) {
      return llvm::is_contained(namesOf(next), name);
    });
  });
}

double Candidates::secondsOf(size_t first, size_t last) const {
  auto op = cast<CollectiveOpInterface>(gathers.getStarts()[first]);
  return model.collectiveSeconds(op.getKind(), bytes[last + 1] - bytes[first],
                                 *toDataType(op.getWireType(partitions)),
                                 model.getSpan(op.getGroup(partitions)));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Gathers from `first` to before `end` as one, where the first one is needed.
static void joinStarts(const BlockGathers &gathers, size_t first, size_t end) {
  WaitOp place = gathers.getWait(first);
  OpBuilder builder(place);
  SmallVector<Attribute> names;
  SmallVector<Value> slices;
  SmallVector<Type> types;
  for (Operation *start : gathers.getStarts().slice(first, end - first)) {
    auto op = cast<AllGatherOp>(start);
    llvm::append_range(names, op.getParameters());
    llvm::append_range(slices, op.getSlices());
    llvm::append_range(types, op.getPending().getType().getTypes());
  }
  auto model = cast<AllGatherOp>(gathers.getStarts()[first]);
  auto joined = AllGatherOp::create(
      builder, model.getLoc(), PendingType::get(model.getContext(), types),
      builder.getArrayAttr(names), slices, model.getOverAttr(),
      model.getQuantizedAttr(), model.getStream());
  auto wait = WaitOp::create(builder, place.getLoc(), joined.getPending());
  auto wholes = wait.getResults().begin();
  for (size_t index = first; index < end; ++index) {
    WaitOp old = gathers.getWait(index);
    for (Value whole : old.getResults())
      whole.replaceAllUsesWith(*wholes++);
    Operation *start = gathers.getStarts()[index];
    old.erase();
    start->erase();
  }
}

static LogicalResult runOnBlock(Block &block, const PartitionTable &partitions,
                                const Handles &handles, const CostModel &model,
                                const PrefetchLimits &limits) {
  FailureOr<BlockGathers> gathers = BlockGathers::find(block, handles, model);
  if (failed(gathers))
    return failure();
  Candidates candidates(*gathers, partitions, model);
  auto canJoin = [&](size_t first, size_t next) {
    return candidates.canJoin(first, next);
  };
  auto secondsOf = [&](size_t first, size_t last) {
    return candidates.secondsOf(first, last);
  };
  SmallVector<size_t> firsts = joinGathers(
      gathers->getUses(), {canJoin, secondsOf}, limits, gathers->getSeconds());
  for (size_t first = 0, end; first < firsts.size(); first = end) {
    end = llvm::upper_bound(firsts, first) - firsts.begin();
    if (end > first + 1)
      joinStarts(*gathers, first, end);
  }
  return success();
}

void JoinGathers::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  PlanningAttr planning = step.getTraining()->getPlanning();
  FailureOr<Machine> machine = readMachine(step, this->machine);
  if (failed(machine))
    return signalPassFailure();
  if (machine->worksAtWait || planning.getGathersInFlight() > 0)
    return;
  PrefetchLimits limits = {
      /*inFlight=*/0,
      getSetting(prefetchBucketSize, planning.getPrefetchBucketSize()),
      getSetting(maxLiveParameters, planning.getMaxLiveParameters())};
  CostModel model =
      makeCostModel(*machine, getOperation(), *step.getTraining());
  PartitionTable partitions(getOperation());
  Handles handles(step);
  for (Operation &region : step.getBody().front())
    if (isa<MicroOp, EvaluateOp>(region))
      if (failed(runOnBlock(region.getRegion(0).front(), partitions, handles,
                            model, limits)))
        return signalPassFailure();
}
