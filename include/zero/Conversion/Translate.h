//===- Translate.h - a planned schedule as a program ----------------------===//
#ifndef ZERO_CONVERSION_TRANSLATE_H
#define ZERO_CONVERSION_TRANSLATE_H

#include "mlir/IR/BuiltinOps.h"

#include "program/Program.h"

namespace mlir::zero {

/// Writes the module's schedule as the table of commands that the runtime
/// executes. The module must have been through `zero-plan-memory`; what has no
/// kernel or no place is an error at the operation.
FailureOr<zrt::Program> translateToProgram(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_CONVERSION_TRANSLATE_H
