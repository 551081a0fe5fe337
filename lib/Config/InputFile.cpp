//===- InputFile.cpp - What is a file to read -----------------------------===//

#include "zero/Config/InputFile.h"

#include "program/FileKind.h"

using llvm::StringRef;

std::string mlir::zero::findWhyNotFile(StringRef path) {
  struct stat status = {};
  const bool isOpen = path == "-" || path == "/dev/stdin" ||
                      path.starts_with("/dev/fd/") ||
                      path.starts_with("/proc/");
  if (isOpen || ::stat(path.str().c_str(), &status) != 0)
    return "";
  return zrt::whyNotRegular(status.st_mode);
}
