//===- Nesting.h - How deep a text is nested --------------------*- C++ -*-===//

#ifndef ZERO_CONFIG_NESTING_H
#define ZERO_CONFIG_NESTING_H

#include "program/Nesting.h"

#include "llvm/ADT/StringRef.h"

namespace mlir::zero {

using zrt::findDeepNesting;
using zrt::kMostJsonNesting;

/// Many more levels than the operations of a model have. Parsers call
/// themselves for each level.
inline constexpr size_t kMostModelNesting = 1000;

/// Whether `text` begins with a byte-order mark, which editors add and parsers
/// of JSON and MLIR refuse without a word that helps.
inline bool hasByteOrderMark(llvm::StringRef text) {
  return text.starts_with("\xEF\xBB\xBF");
}
inline constexpr const char *kByteOrderMark =
    "begins with a byte-order mark; save it as UTF-8 without one";

} // namespace mlir::zero

#endif // ZERO_CONFIG_NESTING_H
