//===- FlatSpace.h - intervals, owners and padding, drawn -----------------===//
#ifndef ZERO_PLAN_FLATSPACE_H
#define ZERO_PLAN_FLATSPACE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::zero {

/// Draws each partition of a planned module: a bar for each segment, as long as
/// its share of the largest one, with its members above its owners; and how
/// full its reductions are, as a share of the bucket size.
void printFlatSpace(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_PLAN_FLATSPACE_H
