//===- Persistence.h - parameters that stay whole ---------------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_PERSISTENCE_H
#define ZERO_ANALYSIS_PERSISTENCE_H

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zero {

/// The parameters of which each rank keeps a whole copy beside its slice, among
/// those for which `isSharded` holds. As with DeepSpeed, in declaration order:
/// each has at most `most` elements, and all have at most `mostTogether`.
llvm::SetVector<StringAttr>
getPersistentParameters(ModuleOp module, int64_t most, int64_t mostTogether,
                        function_ref<bool(ParameterOp)> isSharded);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PERSISTENCE_H
