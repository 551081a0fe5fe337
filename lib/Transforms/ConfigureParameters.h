//===- ConfigureParameters.h - what a configuration says by name *- C++ -*-===//
#ifndef ZERO_TRANSFORMS_CONFIGUREPARAMETERS_H
#define ZERO_TRANSFORMS_CONFIGUREPARAMETERS_H

#include "zero/Config/Config.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::zero {

/// Writes what `zero.sharding` says of dimensions to the parameters that its
/// patterns name. Emits an error where a pattern names no parameter, or two say
/// different things of one.
LogicalResult writeSharding(ModuleOp module, const TrainConfig &config);

/// Puts the parameters that the patterns of `zero.parameter_groups` name into
/// these groups, wherever the model has them. The errors are the same.
LogicalResult writeGroups(ModuleOp module, const TrainConfig &config);

} // namespace mlir::zero

#endif // ZERO_TRANSFORMS_CONFIGUREPARAMETERS_H
