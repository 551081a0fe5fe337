//===- Relaxed.h - JSON with the freedoms of Hjson --------------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_RELAXED_H
#define ZERO_LIB_CONFIG_RELAXED_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zero {

/// `text` as JSON, where it has comments (`//`, `#`, `/* */`), a comma after
/// the last element, none at the end of a line, or keys without quotes, as
/// files that DeepSpeed reads may. Everything stays in its line, and JSON as it
/// is.
std::string toStrictJson(llvm::StringRef text);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_RELAXED_H
