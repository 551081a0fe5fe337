//===- Sizes.h - what 64 bits can address ---------------------------------===//
#ifndef ZERO_ANALYSIS_SIZES_H
#define ZERO_ANALYSIS_SIZES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// Fails where a parameter, an input or a value of a step has more elements
/// than 64-bit addresses reach. The error is at the operation.
LogicalResult verifySizes(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_SIZES_H
