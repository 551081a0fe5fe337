//===- Translate.h - a planned schedule as a program ----------------------===//
#ifndef ZERO_CONVERSION_TRANSLATE_H
#define ZERO_CONVERSION_TRANSLATE_H

#include "mlir/IR/BuiltinOps.h"

#include "program/Program.h"

namespace mlir::zero {

/// Writes the module's schedule as the table of commands that the runtime
/// executes. The module must have been through `zero-plan-memory`; what has no
/// kernel or no place is an error at the operation. `firstCommands`, where it
/// is given, becomes the index of each operation's first command in its region,
/// or of the next one's where it has none.
FailureOr<zrt::Program>
translateToProgram(ModuleOp module,
                   DenseMap<Operation *, size_t> *firstCommands = nullptr);

} // namespace mlir::zero

#endif // ZERO_CONVERSION_TRANSLATE_H
