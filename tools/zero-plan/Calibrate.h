//===- Calibrate.h - a machine file from measurement ----------------------===//
#ifndef ZERO_PLAN_CALIBRATE_H
#define ZERO_PLAN_CALIBRATE_H

#include "Model.h"

namespace mlir::zero {

/// Compiles `model` for each of `ranks` with zero-compile, lets the
/// executables measure this machine, and writes all that they found to
/// `output`. `tool` is the path of this program, next to which zero-compile
/// lies.
LogicalResult calibrate(StringRef model, PlanOptions options,
                        ArrayRef<std::string> ranks, StringRef output,
                        const char *tool);

} // namespace mlir::zero

#endif // ZERO_PLAN_CALIBRATE_H
