//===- KeyLines.h - Where the keys of a JSON text stand ---------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_KEYLINES_H
#define ZERO_LIB_CONFIG_KEYLINES_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir::zero {

/// Lines and columns, from 1, of all keys of objects that are not inside
/// arrays.
struct KeyLines {
  /// By path with dots; the first one where a key is there twice.
  llvm::StringMap<unsigned> lines;
  /// By path, of the same key as `lines`.
  llvm::StringMap<unsigned> columns;
  /// The number of each key in the text, by path.
  llvm::StringMap<unsigned> order;
  /// Keys that an object has a second time: path and line.
  std::vector<std::pair<std::string, unsigned>> repeated;
};

/// Finds the keys of `text`, which must be JSON that a parser accepted. The
/// parser itself keeps no places.
KeyLines findKeyLines(llvm::StringRef text);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_KEYLINES_H
