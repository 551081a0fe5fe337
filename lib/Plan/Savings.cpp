//===- Savings.cpp - what stage 3 saves -----------------------------------===//

#include "zero/Plan/Savings.h"

#include "zero/Memory/StatePlan.h"
#include "zero/Plan/MemoryBudget.h"

using namespace mlir;
using namespace mlir::zero;

/// Bytes that parameters and gradients take where nothing is sharded.
static int64_t measureUnsharded(ModuleOp module) {
  int64_t bytes = 0;
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    int64_t each = elementBytes(partition.getComputeType());
    if (partition.isTrainable())
      each += elementBytes(partition.getGradientType());
    for (MemberAttr member : partition.getMemberRange())
      bytes += member.getSize() * each;
  }
  return bytes;
}

void mlir::zero::remarkSavings(StepOp step, const PlanSummary &summary) {
  PlanningAttr limits = step.getTraining()->getPlanning();
  auto bytes = [&](ArenaKind arena) { return summary.arena(arena).bytes; };
  int64_t saved =
      measureUnsharded(step->getParentOfType<ModuleOp>()) -
      bytes(ArenaKind::Parameters) - bytes(ArenaKind::Gradients) -
      summary.arena({ArenaKind::Parameters, MemoryTier::Host}).bytes -
      summary.arena({ArenaKind::Parameters, MemoryTier::File}).bytes;
  int64_t buffers = bytes(ArenaKind::Communication);
  bool keeps =
      limits.getMaxReuseDistance() >= summary.trained + summary.untrained;
  bool joins = limits.getReduceBucketSize() >= summary.trained;
  // The resident copies are lines of the arena of parameters.
  int64_t resident = 0;
  for (const MemoryLine &line : summary.arena(ArenaKind::Parameters).lines)
    if (StringRef(line.name).starts_with("resident"))
      resident += line.bytes;
  if (2 * buffers <= saved || !keeps)
    return;
  InFlightDiagnostic remark =
      emitRemark(step.getLoc())
      << "stage 3 saves little here: sharded parameters and gradients take "
      << describeBytes(std::max<int64_t>(saved, 0))
      << " less on each rank, and the buffers that gather and reduce them "
      << describeBytes(buffers);
  remark.attachNote() << "stage3_max_reuse_distance of "
                      << limits.getMaxReuseDistance()
                      << " elements keeps every parameter whole from the "
                         "forward to the backward; lower it below "
                      << summary.trained + summary.untrained;
  if (joins)
    remark.attachNote() << "reduce_bucket_size of "
                        << limits.getReduceBucketSize()
                        << " elements lets all gradients of a group be alive "
                           "at once; lower it below "
                        << summary.trained;
  if (resident > 0)
    remark.attachNote() << "stage3_param_persistence_threshold keeps "
                        << describeBytes(resident)
                        << " of small parameters whole";
}
