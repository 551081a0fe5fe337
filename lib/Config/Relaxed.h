//===- Relaxed.h - JSON with the freedoms of Hjson --------------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_RELAXED_H
#define ZERO_LIB_CONFIG_RELAXED_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zero {

/// A text as JSON.
struct StrictJson {
  std::string text;
  /// Where the text is no JSON, what may be the reason; empty: nothing that is
  /// known here. And the line that it is about.
  std::string hint;
  unsigned hintLine = 0;
};

/// `text` as JSON, where it has comments (`//`, `#`, `/* */`), a comma after
/// the last element, none at the end of a line, keys without quotes, strings in
/// single quotes, strings without quotes, which go to the end of their line, or
/// no braces around all of it, as files that DeepSpeed reads may. Everything
/// stays in its line, and JSON as it is.
StrictJson toStrictJson(llvm::StringRef text);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_RELAXED_H
