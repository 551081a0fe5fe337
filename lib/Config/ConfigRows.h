//===- ConfigRows.h - What the rows of the table of keys share --*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_CONFIGROWS_H
#define ZERO_LIB_CONFIG_CONFIGROWS_H

#include "ConfigKeys.h"

namespace mlir::zero {

/// The rows of the block `zero_optimization`, beginning with its own.
llvm::ArrayRef<ConfigKey> getZeroOptimizationKeys();

/// Those of the optimizer and of the schedule of its learning rate.
llvm::ArrayRef<ConfigKey> getOptimizerKeys();

/// Short names, for rows of few lines.
namespace rows {
constexpr KeyState yes = KeyState::Supported;
constexpr KeyState none = KeyState::NoEffect;
constexpr KeyState no = KeyState::Refused;
using T = KeyType;

constexpr const char *kPlanned = "buffers are planned at compile time";
} // namespace rows

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_CONFIGROWS_H
