//===- Mesh.h - the ranks of a module -------------------------------------===//
#ifndef ZERO_ANALYSIS_MESH_H
#define ZERO_ANALYSIS_MESH_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// How a module's ranks are arranged.
struct MeshAxes {
  /// All axes: ranks in row-major order.
  AxesAttr ranks;
  /// The axes whose ranks have the same parameters: gradients are reduced over
  /// all of them.
  AxesAttr all;
  /// The axes whose ranks have parts of the parameters; null if there are none.
  AxesAttr model;
  /// The axes whose ranks have samples of their own.
  AxesAttr batch;
  /// The axes over which states are cut.
  AxesAttr cut;
  /// The axes within which parameters are gathered again; null: over all of
  /// `cut`, as the first time.
  AxesAttr secondary;
  /// The axis whose ranks have different layers; null: there is none.
  AxesAttr pipe = {};
  /// The module's place on the axis `pipe`.
  int64_t stage = 0;
  /// Whether all forward passes of an update come before the backward passes.
  bool forwardFirst = false;
  /// Groups of layers that each stage has.
  int64_t chunks = 1;

  int64_t stages() const { return pipe ? pipe.getSize() : 1; }
  /// Whether the module has the loss.
  bool isLastStage() const { return stage + 1 == stages(); }

  /// Slices of what is cut.
  int64_t slices() const { return cut.getSize(); }
  /// Ranks that hold the same slices.
  int64_t replicas() const { return all.getSize() / cut.getSize(); }
  /// The axes that replicas differ in; null where there are none.
  AxesAttr replicaAxes() const { return all.without(cut); }
  /// Whether each rank computes a whole model.
  bool hasWholeModels() const;
  /// The number of weights of micro-batches that all ranks have in an update:
  /// each of the ranks that compute one model together has one.
  int64_t countWeights(TrainingAttr training) const {
    AxesAttr together = model ? model.without(pipe) : AxesAttr();
    return training.getMicroBatches() * (together ? together.getSize() : 1);
  }
  /// The axes along which ranks have copies of the same elements of a state of
  /// `partition`, `sharded` or whole; null if there are no copies.
  AxesAttr copiesOf(PartitionOp partition, bool sharded) const;
  /// The ranks of a group in which places with the stride of `place` lie one
  /// behind the other.
  int64_t slicesOf(AtAttr place) const;
  /// The place at which `rank`, of the ranks of `all`, has its part of `place`.
  AtAttr placeOn(AtAttr place, int64_t rank) const;
};

/// The module's `zero.mesh`; without one, a line of the ranks of `training`,
/// all cut.
MeshAxes getMesh(ModuleOp module, TrainingAttr training);

/// The axes whose ranks each compute parts of the model, one by one, without
/// those of a single rank.
SmallVector<AxesAttr> listModelAxes(ModuleOp module);

/// Whether the ranks of such an axis have parts of the positions, and the same
/// parameters.
bool cutsPositions(AxesAttr axis);
/// Whether the ranks of such an axis have some of the experts, and samples of
/// their own.
bool cutsExperts(AxesAttr axis);

/// Whether a model can be cut over both of two such axes.
bool cutTogether(AxesAttr axis, AxesAttr other);

/// Checks that a module has at most one `zero.mesh`, of the ranks of
/// `training`.
LogicalResult verifyMesh(ModuleOp module, TrainingAttr training);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_MESH_H
