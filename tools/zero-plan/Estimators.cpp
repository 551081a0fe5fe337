//===- Estimators.cpp - what DeepSpeed says that ZeRO needs ---------------===//

#include "Estimators.h"

#include <algorithm>

using namespace mlir::zero;
using llvm::SmallVector;

/// Bytes of `each` bytes a parameter, divided over all GPUs. The estimators cut
/// fractions of a byte off before they add; so does this.
static int64_t spread(const EstimateSetup &setup, double each) {
  return static_cast<int64_t>(each * setup.parameters / setup.gpus());
}

static int64_t times(double elements, double each) {
  return static_cast<int64_t>(elements * each);
}

SmallVector<EstimateRow> mlir::zero::estimateZero2(const EstimateSetup &setup,
                                                   EstimateVersion version) {
  bool classic = version == EstimateVersion::Classic;
  double parameters = setup.parameters;
  EstimateRow offload, none;
  offload.offloadOptimizer = true;
  offload.gpuBytes = times(parameters, 2);
  double processes = classic ? setup.gpusPerNode : setup.gpus();
  offload.cpuBytes =
      times(parameters * std::max(4.0 * processes, 16.0), setup.bufferFactor);
  none.gpuBytes = classic ? times(parameters, 4) + spread(setup, 16)
                          : times(parameters, 2) + spread(setup, 18);
  none.cpuBytes = times(parameters * 4 * setup.gpusPerNode, setup.bufferFactor);
  return {offload, none};
}

/// CPU bytes where the optimizer, with `each` bytes a parameter in all, is on
/// the nodes' CPUs. Without partitioned initialization, every process first
/// makes the whole model in f32.
static int64_t offloadedBytes(const EstimateSetup &setup, double each,
                              bool partitionedInit) {
  double share = each * (1.0 / setup.nodes);
  if (!partitionedInit)
    share = std::max(4.0 * setup.gpusPerNode, share);
  return times(setup.parameters * share, setup.bufferFactor);
}

SmallVector<EstimateRow> mlir::zero::estimateZero3(const EstimateSetup &setup) {
  Zero3Cases gpu = estimateZero3Cases(setup);
  SmallVector<EstimateRow> rows;
  auto add = [&](bool parameters, bool optimizer, int64_t gpuBytes,
                 auto cpuBytes) {
    for (bool partitionedInit : {true, false})
      rows.push_back({parameters, optimizer, partitionedInit,
                      cpuBytes(partitionedInit), gpuBytes});
  };
  add(true, true, gpu.all,
      [&](bool init) { return offloadedBytes(setup, 18, init); });
  add(false, true, gpu.optimizer,
      [&](bool init) { return offloadedBytes(setup, 16, init); });
  add(false, false, gpu.none, [&](bool init) {
    double elements = init ? setup.largestLayer : setup.parameters;
    return times(elements * 4 * setup.gpusPerNode, setup.bufferFactor);
  });
  return rows;
}

Zero3Cases mlir::zero::estimateZero3Cases(const EstimateSetup &setup) {
  Zero3Cases cases;
  cases.largestLayer = times(setup.largestLayer, 4);
  cases.none = cases.largestLayer + spread(setup, 18);
  cases.all = cases.largestLayer;
  cases.optimizer = cases.largestLayer + spread(setup, 2);
  return cases;
}

PinnedBytes mlir::zero::estimatePinned(const EstimateSetup &setup) {
  double share = setup.parameters / setup.nodes;
  return {times(share, 6), times(share, 8), times(share, 4)};
}

int64_t mlir::zero::estimateActivations(const TransformerShape &shape) {
  return (2 * shape.sequence * shape.heads + 16 * shape.hidden) *
         shape.sequence * shape.batch;
}
