//===- Quantization.cpp - what is quantized -------------------------------===//

#include "zero/Analysis/Quantization.h"

using namespace mlir;
using namespace mlir::zero;

QuantizationAttr
mlir::zero::getGatherQuantization(PlanningAttr planning,
                                  const PartitionTable &partitions,
                                  StringAttr parameter) {
  QuantizationAttr quantization = planning.getQuantizedWeights();
  PartitionOp partition = partitions.getPartition(parameter);
  if (partition && partition.getQuantized())
    return partition.getQuantizedAttr();
  if (!quantization || !partition)
    return {};
  auto [begin, end] = partitions.getSegmentsOf(parameter);
  return (end - begin) / partition.getSlices() >= quantization.getBlock()
             ? quantization
             : QuantizationAttr();
}

QuantizationAttr mlir::zero::getStoredQuantization(PlanningAttr planning,
                                                   int64_t elements) {
  QuantizationAttr quantization = planning.getQuantizedFrozen();
  return quantization && elements >= quantization.getBlock()
             ? quantization
             : QuantizationAttr();
}

SmallVector<int64_t> mlir::zero::getErrors(PlanningAttr planning,
                                           PartitionOp partition) {
  if (!planning.getErrorFeedback() || !partition.isTrainable() ||
      partition.getLayout() != LayoutKind::Parameter)
    return {};
  SmallVector<int64_t> errors = {1};
  if (AxesAttr within = planning.getGradientsWithin())
    errors.push_back(within.getSize());
  return errors;
}
