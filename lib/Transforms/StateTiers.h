//===- StateTiers.h - which states are not on the device
//-------------------===//
#ifndef ZERO_LIB_TRANSFORMS_STATETIERS_H
#define ZERO_LIB_TRANSFORMS_STATETIERS_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The states of `partition`, each in the tiers that `planning` says: by name,
/// or by what is offloaded.
ArrayAttr chooseTiers(PartitionOp partition, PlanningAttr planning);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_STATETIERS_H
