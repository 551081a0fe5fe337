//===- AttrBounds.h - bounds of attributes' values --------------*- C++ -*-===//
//
// Each check emits an error that names the parameter, what was found, and what
// is wanted.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_DIALECT_ZERO_ATTRBOUNDS_H
#define ZERO_LIB_DIALECT_ZERO_ATTRBOUNDS_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace mlir::zero {

using EmitError = function_ref<InFlightDiagnostic()>;

/// A number as errors print it.
std::string toText(double value);

LogicalResult expectAtLeast(EmitError emitError, StringRef name, int64_t value,
                            int64_t least);
/// From 1 to 2^31 - 1.
LogicalResult expectCount(EmitError emitError, StringRef name, int64_t value);
LogicalResult expectFinite(EmitError emitError, StringRef name, double value);
LogicalResult expectNonNegative(EmitError emitError, StringRef name,
                                double value);
LogicalResult expectPositive(EmitError emitError, StringRef name, double value);
/// Above 0, at most 1.
LogicalResult expectWeight(EmitError emitError, StringRef name, double value);
/// From 0 to below 1.
LogicalResult expectFraction(EmitError emitError, StringRef name, double value);

} // namespace mlir::zero

#endif // ZERO_LIB_DIALECT_ZERO_ATTRBOUNDS_H
