//===- Translate.h - a planned schedule as a program ----------------------===//
#ifndef ZERO_CONVERSION_TRANSLATE_H
#define ZERO_CONVERSION_TRANSLATE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

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

/// Translates each stage, if the module has the stages into which
/// zero-cut-pipeline has cut a model; otherwise the one program. Functions of
/// stages get names that no other stage has.
FailureOr<std::vector<zrt::Program>> translateStages(ModuleOp module);

/// The modules of the stages, in their order; the module itself where it is
/// none of stages.
SmallVector<ModuleOp> listStages(ModuleOp module);

/// Whether the module has several stages.
bool isCutIntoStages(ModuleOp module);

/// All functions of the stages, in one module.
OwningOpRef<ModuleOp> joinFunctions(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_CONVERSION_TRANSLATE_H
