//===- Input.h - what the tools read ----------------------------*- C++ -*-===//

#ifndef ZERO_TOOLS_INPUT_H
#define ZERO_TOOLS_INPUT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::zero {

/// The MLIR file `path`, '-' for standard input. Null and one sentence in
/// `error` where it cannot be read, or begins with what
/// no parser takes: a byte-order mark, or deeper nesting than it can go.
std::unique_ptr<llvm::MemoryBuffer> openModel(llvm::StringRef path,
                                              std::string &error);

} // namespace mlir::zero

#endif // ZERO_TOOLS_INPUT_H
