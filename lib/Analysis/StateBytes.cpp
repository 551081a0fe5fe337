//===- StateBytes.cpp - what a parameter takes from step to step ----------===//

#include "zero/Analysis/StateBytes.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// Bytes of an element in the optimizer's states on the device.
static int64_t countOptimizerBytes(Type type, Attribute optimizer,
                                   PlanningAttr planning) {
  const bool isSplit = planning.getSplitMaster() && type.isBF16();
  int64_t bytes = 0;
  for (const OptimizerState &state :
       PartitionOp::describeStates(type, isSplit, optimizer))
    if (planning.getStateTier(state.name) == MemoryTier::Device)
      bytes += elementBytes(state.type);
  return bytes;
}

StateBytes mlir::zero::countStateBytes(ParameterOp parameter, Type type,
                                       Attribute optimizer,
                                       TrainingAttr training,
                                       const MeshAxes &mesh) {
  AxesAttr cut = mesh.cut;
  if (AxesAttr parts = parameter.getCutAxes(mesh.ranks))
    cut = cut.without(parts);
  const int64_t slices = cut ? cut.getSize() : 1;
  const bool isTrained = optimizer && !parameter.getFrozen();
  // Sums over micro-batches are f32.
  const int64_t gradient =
      training.getAccumulation() > 1 ? sizeof(float) : elementBytes(type);
  const int64_t ofOptimizer =
      countOptimizerBytes(type, optimizer, training.getPlanning());
  const auto share = [&](int64_t elements, int64_t bytes, int64_t fromStage) {
    return llvm::divideCeil(elements * bytes,
                            training.getStage() >= fromStage ? slices : 1);
  };
  const auto countAll = [&](int64_t elements) -> int64_t {
    const int64_t own = share(elements, elementBytes(type), 3);
    return isTrained ? own + share(elements, gradient, 2) +
                           share(elements, ofOptimizer, 1)
                     : own;
  };
  StateBytes bytes;
  bytes.all = countAll(parameter.getElements());
  if (!isTrained)
    return bytes;
  bytes.received = share(parameter.getElements(), sizeof(float), 1);
  const int64_t size = training.getPlanning().getReduceBucketSize();
  if (training.getStage() == 1 && slices > 1 && !scattersInBackward(training))
    bytes.interval = countAll(size / slices * slices);
  return bytes;
}
