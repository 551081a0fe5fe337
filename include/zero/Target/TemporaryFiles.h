//===- TemporaryFiles.h - names that nothing has yet ------------*- C++ -*-===//
//
// LLVM draws a digit for each '%' of a whole path. Folders may have that
// character in their names: here only what is drawn has it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TARGET_TEMPORARYFILES_H
#define ZERO_TARGET_TEMPORARYFILES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zero {

/// `stem` with a suffix, at which nothing is.
llvm::SmallString<128> findFreePath(llvm::StringRef stem);

/// Makes an empty file in the folder of temporary files. `error` says why it
/// cannot be.
LogicalResult makeTemporaryFile(llvm::StringRef name,
                                llvm::SmallVectorImpl<char> &path,
                                std::string &error);

/// Makes an empty folder in the folder of temporary files; `error` says why it
/// cannot be.
LogicalResult makeTemporaryFolder(llvm::StringRef name,
                                  llvm::SmallVectorImpl<char> &path,
                                  std::string &error);

} // namespace mlir::zero

#endif // ZERO_TARGET_TEMPORARYFILES_H
