//===- PipelinePasses.h - the passes of a stage, and its stash --*- C++ -*-===//
#ifndef ZERO_ANALYSIS_PIPELINEPASSES_H
#define ZERO_ANALYSIS_PIPELINEPASSES_H

#include "zero/Analysis/Mesh.h"

namespace mlir::zero {

/// A pass of a micro-batch through one of the chunks of a stage.
struct PipelinePass {
  bool isBackward = false;
  int64_t chunk = 0, micro = 0;
};

/// The passes of an update of `micros` micro-batches, in the order in which the
/// stage makes them.
SmallVector<PipelinePass> listPasses(const MeshAxes &mesh, int64_t micros);

/// Slots of the stash for each chunk: the most micro-batches whose forward pass
/// through the chunk is over, or under way, and whose backward pass is not;
/// more where stages would otherwise wait for each other to take what they
/// send.
SmallVector<int64_t> countSlots(const MeshAxes &mesh, int64_t micros);

/// The part of the stash that has slots of one chunk; bytes of a slot.
struct StashRing {
  int64_t bytes = 0, slots = 1;
};

/// The chunk in whose ring each value of the stash is, by its name: the first
/// that puts it there or takes it. Its forward pass comes before those of the
/// others, and its backward pass after them.
DenseMap<StringAttr, int64_t> findRings(StepOp step);

/// The arena of an input of a schedule: the stash if a stage of a pipeline
/// reads it, because the stage's passes are apart.
ArenaKind getInputArena(BlockArgument input);

/// The rings of a planned schedule, one behind the other from byte 0 on; none
/// where it has no forward pass of its own. Inputs are in the first one.
SmallVector<StashRing> measureRings(StepOp step, const MeshAxes &mesh);

/// Bytes of all slots of all rings.
int64_t stashBytes(StepOp step, const MeshAxes &mesh);

/// Checks that what is stashed lies in its own ring.
LogicalResult verifyRings(StepOp step, const MeshAxes &mesh);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PIPELINEPASSES_H
