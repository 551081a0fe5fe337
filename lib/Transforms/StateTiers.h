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
  /// The tier of `parameter`, which is computed with as `type`, and of which
  /// this rank has a slice, stored as `quantization` says, if it does.
  MemoryTier choose(ParameterOp parameter, Type type,
                    QuantizationAttr quantization);
  /// Those that are in host memory since a buffer is too small for their slice.
  ArrayRef<StringAttr> getTooLarge() const { return tooLarge; }

private:
  OffloadAttr offload;
  int64_t slices;
  /// Elements of a rank that are in host memory since there was room.
  int64_t kept = 0;
  SmallVector<StringAttr> tooLarge;
};

/// A remark at `step` where states or parameters are to be in files and none is
/// large enough, and one on parameters whose slices are too large.
void remarkOnFiles(ModuleOp module, StepOp step, ArrayRef<StringAttr> tooLarge);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_STATETIERS_H
