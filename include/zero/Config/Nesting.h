//===- Nesting.h - How deep a text is nested --------------------*- C++ -*-===//

#ifndef ZERO_CONFIG_NESTING_H
#define ZERO_CONFIG_NESTING_H

#include "program/Nesting.h"

#include "llvm/ADT/StringRef.h"

namespace mlir::zero {

/// Many more levels than the keys of a configuration or a machine have, or the
/// operations of a model. Parsers call themselves for each level.
inline constexpr size_t kMostJsonNesting = zrt::kMostJsonNesting,
                        kMostModelNesting = 1000;

/// The line, from 1, where more than `most` brackets of any kind are open at
/// once, outside of strings and comments; 0 where that never is. For JSON and
/// MLIR; the text need not be either.
unsigned findDeepNesting(llvm::StringRef text, size_t most);

/// Whether `text` begins with a byte-order mark, which editors add and parsers
/// of JSON and MLIR refuse without a word that helps.
inline bool hasByteOrderMark(llvm::StringRef text) {
  return text.starts_with("\xEF\xBB\xBF");
}
inline constexpr const char *kByteOrderMark =
    "begins with a byte-order mark; save it as UTF-8 without one";

} // namespace mlir::zero

#endif // ZERO_CONFIG_NESTING_H
