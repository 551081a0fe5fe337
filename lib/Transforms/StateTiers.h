//===- StateTiers.h - what is not on the device -----------------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_STATETIERS_H
#define ZERO_LIB_TRANSFORMS_STATETIERS_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The states of `partition`, each in the tiers that `planning` says: by name,
/// or by what is offloaded.
ArrayAttr chooseTiers(PartitionOp partition, PlanningAttr planning);

/// Where sharded parameters are, one after the other in their order.
class ParameterTiers {
public:
  ParameterTiers(OffloadAttr offload, int64_t slices)
      : offload(offload), slices(slices) {}
  /// The tier of a parameter of `elements` elements of `type`, of which this
  /// rank has a slice, stored as `quantization` says, if it does.
  MemoryTier choose(int64_t elements, Type type, QuantizationAttr quantization);

private:
  OffloadAttr offload;
  int64_t slices;
  /// Elements of a rank that are in host memory since there was room.
  int64_t kept = 0;
};

/// Whether slices of parameters are as small as their reads may be; otherwise
/// an error at the parameter.
LogicalResult verifyReads(PartitionOp partition, OffloadAttr offload);

/// A remark at `step` where states or parameters are to be in files and none is
/// large enough.
void remarkOnFiles(ModuleOp module, StepOp step);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_STATETIERS_H
