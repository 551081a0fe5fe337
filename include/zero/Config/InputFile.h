//===- InputFile.h - What is a file to read ---------------------*- C++ -*-===//

#ifndef ZERO_CONFIG_INPUTFILE_H
#define ZERO_CONFIG_INPUTFILE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zero {

/// Why `path` is not opened, or "": to open a pipe may wait for ever, and a
/// device may never end. What the process has open already, such as /dev/stdin,
/// is opened, and so is '-'. What does not exist is for its reader to report.
std::string findWhyNotFile(llvm::StringRef path);

} // namespace mlir::zero

#endif // ZERO_CONFIG_INPUTFILE_H
