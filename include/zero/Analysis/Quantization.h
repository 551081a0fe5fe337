//===- Quantization.h - what is quantized -----------------------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_QUANTIZATION_H
#define ZERO_ANALYSIS_QUANTIZATION_H

#include "zero/Dialect/Zero/PartitionTable.h"

namespace mlir::zero {

/// How gathers of the sharded `parameter` over all ranks that its partition is
/// cut over travel: as it is stored, or by the rule that a rank has a block or
/// more of what is quantized; null: in the parameter's type.
QuantizationAttr getGatherQuantization(PlanningAttr planning,
                                       const PartitionTable &partitions,
                                       StringAttr parameter);

/// How a rank stores its slice, of `elements` elements with padding, of a
/// parameter that is not trained and not persistent: by the same rule; null: in
/// the parameter's type.
QuantizationAttr getStoredQuantization(PlanningAttr planning, int64_t elements);

/// The errors that `partition` keeps of gradients that it exchanges, as its
/// attribute has them; empty where nothing is fed back.
SmallVector<int64_t> getErrors(PlanningAttr planning, PartitionOp partition);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_QUANTIZATION_H
