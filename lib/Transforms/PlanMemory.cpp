//===- PlanMemory.cpp - give every buffer an address ----------------------===//

#include "zero/Analysis/PipelinePasses.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/BufferPlan.h"
#include "zero/Memory/StatePlan.h"
#include "zero/Plan/MemoryBudget.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_PLANMEMORY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct PlanMemory : public zero::impl::PlanMemoryBase<PlanMemory> {
  using PlanMemoryBase::PlanMemoryBase;
  void runOnOperation() override;

private:
  LogicalResult checkAndReport(StepOp step, ArrayRef<int64_t> bounds);
};

/// The places of one module.
class Planner {
public:
  Planner(ModuleOp module, StepOp step) : module(module), step(step) {}
  LogicalResult run();
  /// By arena: the most that is alive at one time.
  ArrayRef<int64_t> getBounds() const { return bounds; }

private:
  void planStates();
  void planResidents();
  void planInputs();
  void planStash();
  LogicalResult planRegions();

  ModuleOp module;
  StepOp step;
  ArenaCursor cursor;
  DenseMap<Attribute, AtAttr> constants;
  /// By memory space: the most that is alive at one time.
  int64_t bounds[MemorySpace::kCount] = {};
};
} // namespace

static ArrayAttr toArray(MLIRContext *context, ArrayRef<AtAttr> places) {
  return ArrayAttr::get(context, SmallVector<Attribute>(places));
}

/// Each place under the name of its buffer.
static void setPlaces(AsyncOpInterface start, ArrayRef<AsyncBuffer> buffers,
                      ArrayRef<AtAttr> places) {
  NamedAttrList named;
  size_t next = 0;
  for (const AsyncBuffer &buffer : buffers)
    if (buffer.isPlaced)
      named.set(buffer.name, places[next++]);
  start->setAttr(kPlaces, named.getDictionary(start->getContext()));
}

void Planner::planStates() {
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    PartitionPlaces places = planPartition(partition, cursor);
    partition.setAtAttr(places.at);
    if (places.states)
      partition.setStatesAttr(places.states);
  }
}

void Planner::planResidents() {
  auto initialize = step.getRegionOp<InitializeOp>();
  if (!initialize)
    return;
  PartitionTable partitions(module);
  for (auto start : initialize.getBody().getOps<AsyncOpInterface>()) {
    SmallVector<AtAttr> places;
    auto buffers = start.getBuffers(partitions, *step.getTraining());
    for (const AsyncBuffer &buffer : buffers)
      if (buffer.memory == AsyncBuffer::Memory::Resident && buffer.isPlaced)
        places.push_back(
            cursor.take(step.getContext(), {ArenaKind::Parameters},
                        buffer.elements * elementBytes(buffer.type)));
    if (!places.empty())
      setPlaces(start, buffers, places);
  }
}

/// Those that a stage of a pipeline reads are read by a backward pass when
/// others have come for later forward passes.
void Planner::planInputs() {
  SmallVector<AtAttr> places;
  for (BlockArgument input : step.getArguments())
    places.push_back(cursor.take(step.getContext(), {getInputArena(input)},
                                 tensorBytes(input.getType())));
  step->setAttr(kPlaces, toArray(step.getContext(), places));
}

/// Places that are the same in each slot, ring after ring.
void Planner::planStash() {
  const DenseMap<StringAttr, int64_t> rings = findRings(step);
  int64_t last = 0;
  for (auto [name, ring] : rings)
    last = std::max(last, ring);
  DenseMap<StringAttr, ArrayAttr> places;
  for (int64_t ring = 0; ring <= last; ++ring)
    step->walk([&](StashOp op) {
      if (rings.at(op.getNameAttr()) == ring)
        places[op.getNameAttr()] =
            toArray(step.getContext(),
                    cursor.take(step.getContext(), {ArenaKind::Stash},
                                tensorBytes(op.getType())));
    });
  step->walk(
      [&](StashOp op) { op->setAttr(kPlaces, places.at(op.getNameAttr())); });
  step->walk([&](UnstashOp op) {
    if (ArrayAttr place = places.lookup(op.getNameAttr()))
      op->setAttr(kPlaces, place);
  });
}

LogicalResult Planner::planRegions() {
  StatePlaces state(module);
  auto placeConstant = [&](ElementsAttr value) {
    AtAttr &place = constants[value];
    if (!place)
      place = cursor.take(step.getContext(), {ArenaKind::Constants},
                          tensorBytes(value.getType()));
    return place;
  };
  Handles handles(step);
  for (const SmallVector<Block *> &line : getTimelines(step)) {
    BufferPlan plan(line, handles, state, *step.getTraining(), placeConstant);
    if (failed(plan.result()))
      return failure();
    plan.solve();
    for (MemorySpace space : BufferPlan::getSpaces()) {
      int64_t &bound = bounds[space.index()];
      bound = std::max(bound, plan.liveBytes(space));
    }
    for (auto &[op, places] : plan.getPlaces())
      if (auto start = dyn_cast<AsyncOpInterface>(op))
        setPlaces(start, start.getBuffers(state, *step.getTraining()), places);
      else
        op->setAttr(kPlaces, toArray(step.getContext(), places));
  }
  return success();
}

LogicalResult Planner::run() {
  planStates();
  planResidents();
  planInputs();
  planStash();
  return planRegions();
}

LogicalResult PlanMemory::checkAndReport(StepOp step,
                                         ArrayRef<int64_t> bounds) {
  if (memoryBudget.empty() && hostMemoryBudget.empty() && !report)
    return success();
  PlanSummary summary = summarizePlan(getOperation());
  if (report)
    remarkMemory(step, summary, bounds);
  auto check = [&](const auto &option, MemoryTier tier) -> LogicalResult {
    FailureOr<int64_t> budget =
        readBudget(option.getArgStr(), option.getValue(),
                   [&] { return emitError(step.getLoc()); });
    if (failed(budget) || *budget == 0)
      return budget;
    return checkMemoryBudget(step, summary, tier, *budget);
  };
  return failure(failed(check(memoryBudget, MemoryTier::Device)) ||
                 failed(check(hostMemoryBudget, MemoryTier::Host)));
}

void PlanMemory::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  // Sizes and places are for types that the executable stores.
  if (failed(step) || failed(verifyOwners(getOperation(), *step)) ||
      failed(verifyElementTypes(getOperation(), *step)))
    return signalPassFailure();
  Planner planner(getOperation(), *step);
  if (failed(planner.run()) ||
      failed(checkAndReport(*step, planner.getBounds())))
    signalPassFailure();
}
