//===- Options.h - Options in place of keys ---------------------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_OPTIONS_H
#define ZERO_LIB_CONFIG_OPTIONS_H

#include "Validate.h"

namespace mlir::zero {

/// The option for any key: its value is `KEY=VALUE;KEY=VALUE`.
inline constexpr llvm::StringRef kSetOption = "set";

/// Puts the values of `options`, names with values as text, into `root` as if
/// the file gave them. What is not of its type, and has no key that is checked
/// later, is reported. Those that no key stands for are in the result, by name.
llvm::StringMap<llvm::json::Value>
mergeOptions(llvm::ArrayRef<std::pair<std::string, std::string>> options,
             llvm::json::Object &root, Reporter &reporter);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_OPTIONS_H
