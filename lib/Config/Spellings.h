//===- Spellings.h - Keys as DeepSpeed reads them ---------------*- C++ -*-===//
#ifndef ZERO_LIB_CONFIG_SPELLINGS_H
#define ZERO_LIB_CONFIG_SPELLINGS_H

#include "KeyLines.h"

#include "llvm/Support/JSON.h"

#include <string>

namespace mlir::zero {

/// Gives keys that DeepSpeed knows by two names the one of the table, in `root`
/// and in `lines`. A key that is there under both counts as repeated.
void useOwnSpellings(llvm::json::Object &root, KeyLines &lines);

/// The same of the path of one key.
std::string toOwnSpelling(llvm::StringRef path);

} // namespace mlir::zero

#endif // ZERO_LIB_CONFIG_SPELLINGS_H
