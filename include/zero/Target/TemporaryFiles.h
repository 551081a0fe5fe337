//===- TemporaryFiles.h - names that nothing has yet ------------*- C++ -*-===//
//
// LLVM draws a digit for each '%' of a whole path. Folders may have that
// character in their names: here only what is drawn has it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TARGET_TEMPORARYFILES_H
#define ZERO_TARGET_TEMPORARYFILES_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"

#include <system_error>

namespace mlir::zero {

/// `stem` with a suffix, at which nothing is.
llvm::SmallString<128> findFreePath(llvm::StringRef stem);

/// Makes an empty file in the folder of temporary files. `path` is the name
/// that was tried, also where that fails.
std::error_code makeTemporaryFile(llvm::StringRef name,
                                  llvm::SmallVectorImpl<char> &path);

/// Makes a folder there.
std::error_code makeTemporaryFolder(llvm::StringRef name,
                                    llvm::SmallVectorImpl<char> &path);

} // namespace mlir::zero

#endif // ZERO_TARGET_TEMPORARYFILES_H
