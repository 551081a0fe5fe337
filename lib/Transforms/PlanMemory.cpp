//===- PlanMemory.cpp - give every buffer an address ----------------------===//

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
  void planStates();
  void planResidents(StepOp step);
  void planInputs(StepOp step);
  LogicalResult planRegions(StepOp step);
  LogicalResult checkAndReport(StepOp step);

  ArenaCursor cursor;
  DenseMap<Attribute, AtAttr> constants;
  /// By arena: the most that is alive at one time.
  int64_t bounds[getMaxEnumValForArenaKind() + 1] = {};
};
} // namespace

static ArrayAttr toArray(MLIRContext *context, ArrayRef<AtAttr> places) {
  return ArrayAttr::get(context, SmallVector<Attribute>(places));
}

void PlanMemory::planStates() {
  for (PartitionOp partition : getOperation().getOps<PartitionOp>())
    partition.setAtAttr(planPartition(partition, cursor));
}

void PlanMemory::planResidents(StepOp step) {
  auto initialize = step.getRegionOp<InitializeOp>();
  if (!initialize)
    return;
  PartitionTable partitions(getOperation());
  for (auto start : initialize.getBody().getOps<AsyncOpInterface>()) {
    SmallVector<AtAttr> places;
    for (const AsyncBuffer &buffer :
         start.getBuffers(partitions, *step.getTraining()))
      if (buffer.memory == AsyncBuffer::Memory::Resident)
        places.push_back(
            cursor.take(&getContext(), ArenaKind::Parameters,
                        buffer.elements * elementBytes(buffer.type)));
    if (!places.empty())
      start->setAttr("zero.at", toArray(&getContext(), places));
  }
}

void PlanMemory::planInputs(StepOp step) {
  SmallVector<AtAttr> places;
  for (Type type : step.getArgumentTypes())
    places.push_back(
        cursor.take(&getContext(), ArenaKind::Inputs, tensorBytes(type)));
  step->setAttr("zero.at", toArray(&getContext(), places));
}

LogicalResult PlanMemory::planRegions(StepOp step) {
  StatePlaces state(getOperation());
  auto placeConstant = [&](ElementsAttr value) {
    AtAttr &place = constants[value];
    if (!place)
      place = cursor.take(&getContext(), ArenaKind::Constants,
                          tensorBytes(value.getType()));
    return place;
  };
  Handles handles(step);
  for (const SmallVector<Block *> &line : getTimelines(step)) {
    BufferPlan plan(line, handles, state, *step.getTraining(), placeConstant);
    if (failed(plan.result()))
      return failure();
    plan.solve();
    for (ArenaKind arena : {ArenaKind::Activations, ArenaKind::Communication}) {
      int64_t &bound = bounds[static_cast<int>(arena)];
      bound = std::max(bound, plan.liveBytes(arena));
    }
    for (auto &[op, places] : plan.getPlaces())
      op->setAttr("zero.at", toArray(&getContext(), places));
  }
  return success();
}

LogicalResult PlanMemory::checkAndReport(StepOp step) {
  if (memoryBudget.empty() && !report)
    return success();
  PlanSummary summary = summarizePlan(getOperation());
  if (report)
    remarkMemory(step, summary, bounds);
  if (memoryBudget.empty())
    return success();
  std::optional<int64_t> budget = parseBytes(memoryBudget);
  if (!budget)
    return emitError(step.getLoc())
           << "'zero.step' op cannot be planned for the memory budget '"
           << memoryBudget
           << "'; wanted bytes above 0, such as 512MiB; units are "
           << kByteUnits;
  return checkMemoryBudget(step, summary, *budget);
}

void PlanMemory::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  // Sizes and places are for types that the executable stores.
  if (failed(step) || failed(verifyElementTypes(getOperation(), *step)))
    return signalPassFailure();
  planStates();
  planResidents(*step);
  planInputs(*step);
  if (failed(planRegions(*step)) || failed(checkAndReport(*step)))
    signalPassFailure();
}
