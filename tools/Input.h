//===- Input.h - what the tools read ----------------------------*- C++ -*-===//

#ifndef ZERO_TOOLS_INPUT_H
#define ZERO_TOOLS_INPUT_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::zero {

/// The MLIR file `path`, '-' for standard input. Null and one sentence in
/// `error` where it cannot be read, or is not
/// for the parser: bytecode, a byte-order mark, or deeper nesting than it can
/// go.
std::unique_ptr<llvm::MemoryBuffer> openModel(llvm::StringRef path,
                                              std::string &error);

/// Has diagnostics of `context` that are about a file as a whole, such as an
/// option that does not suit the model, printed as `FILE: error: ...`, and
/// those about none, such as an option that cannot be read, as `error: ...`:
/// MLIR would place them in line 0. Called after the handler of all the others
/// is there.
void printWholeFileDiagnostics(MLIRContext &context);

} // namespace mlir::zero

#endif // ZERO_TOOLS_INPUT_H
