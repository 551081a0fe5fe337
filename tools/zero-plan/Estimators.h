//===- Estimators.h - what DeepSpeed says that ZeRO needs -----------------===//
//
// The arithmetic of DeepSpeed's estimators of the memory of model states, in
// the two versions that exist. All sizes are bytes; a count of parameters is a
// double because the published examples give it as one (2851e6).
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_PLAN_ESTIMATORS_H
#define ZERO_PLAN_ESTIMATORS_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::zero {

enum class EstimateVersion {
  /// DeepSpeed's present code: 2 P + 18 P / N a GPU at ZeRO-2, and the CPU
  /// bytes of ZeRO-2 with offload count all GPUs.
  Current,
  /// Its documentation: 4 P + 16 P / N, and the GPUs of one node.
  Classic
};

/// A model and the machines that are to train it.
struct EstimateSetup {
  /// Parameters in all, shared ones once, and the most of one layer: of a
  /// module's own parameters, without those of its children.
  double parameters = 0, largestLayer = 0;
  int64_t gpusPerNode = 1, nodes = 1;
  /// What CPU bytes are multiplied with, to be conservative.
  double bufferFactor = 1.5;

  int64_t gpus() const { return gpusPerNode * nodes; }
};

/// One way to offload, and what it needs on a node's CPUs and on a GPU.
struct EstimateRow {
  bool offloadParameters = false, offloadOptimizer = false;
  /// ZeRO-3: whether parameters are partitioned as they are made.
  bool partitionedInit = false;
  int64_t cpuBytes = 0, gpuBytes = 0;
};

/// The rows of ZeRO-2's table, in DeepSpeed's order.
llvm::SmallVector<EstimateRow> estimateZero2(const EstimateSetup &setup,
                                             EstimateVersion version);

/// The rows of ZeRO-3's table, in DeepSpeed's order. Both versions agree.
llvm::SmallVector<EstimateRow> estimateZero3(const EstimateSetup &setup);

/// The documentation's example for ZeRO-3: GPU bytes of the largest layer while
/// it is gathered; case 1 is without offload, 2 with parameters and optimizer
/// offloaded, 3 with the optimizer alone.
struct Zero3Cases {
  int64_t largestLayer = 0, none = 0, all = 0, optimizer = 0;
};
Zero3Cases estimateZero3Cases(const EstimateSetup &setup);

/// Pinned bytes of a node's CPUs at ZeRO-3 with pin_memory, a part of those of
/// the table: 2 + 4 bytes a parameter with parameters and optimizer offloaded
/// (16-bit parameters, f32 gradients), and 2 more with accumulation (16-bit
/// gradients); 4 with the optimizer alone.
struct PinnedBytes {
  int64_t all = 0, allAccumulating = 0, optimizer = 0;
};
PinnedBytes estimatePinned(const EstimateSetup &setup);

/// The shape of a transformer on one GPU.
struct TransformerShape {
  int64_t sequence = 0, heads = 0, hidden = 0, batch = 0;
  bool isComplete() const {
    return sequence > 0 && heads > 0 && hidden > 0 && batch > 0;
  }
  bool isAbsent() const {
    return sequence == 0 && heads == 0 && hidden == 0 && batch == 0;
  }
};
/// Bytes of a GPU for activations, by the documentation's guess:
/// (2 sequence heads + 16 hidden) sequence batch.
int64_t estimateActivations(const TransformerShape &shape);

} // namespace mlir::zero

#endif // ZERO_PLAN_ESTIMATORS_H
