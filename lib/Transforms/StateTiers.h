//===- StateTiers.h - which states are not on the device --------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_STATETIERS_H
#define ZERO_LIB_TRANSFORMS_STATETIERS_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The states of `partition`, each in the tiers that `planning` says: by name,
/// or by what is offloaded.
ArrayAttr chooseTiers(PartitionOp partition, PlanningAttr planning);

/// A remark at `step` where states are to be in files and none is large enough.
void remarkOnFiles(ModuleOp module, StepOp step);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_STATETIERS_H
