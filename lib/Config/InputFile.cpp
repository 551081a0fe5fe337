//===- InputFile.cpp - What is a file to read -----------------------------===//

#include "zero/Config/InputFile.h"

#include "llvm/Support/FileSystem.h"

using llvm::StringRef;
using llvm::sys::fs::file_type;

std::string mlir::zero::findWhyNotFile(StringRef path) {
  llvm::sys::fs::file_status status;
  const bool isOpen = path == "-" || path == "/dev/stdin" ||
                      path.starts_with("/dev/fd/") ||
                      path.starts_with("/proc/");
  if (isOpen || llvm::sys::fs::status(path, status))
    return "";
  const char *kind = nullptr;
  switch (status.type()) {
  case file_type::fifo_file:
    kind = "a pipe";
    break;
  case file_type::socket_file:
    kind = "a socket";
    break;
  case file_type::character_file:
  case file_type::block_file:
    kind = "a device";
    break;
  case file_type::directory_file:
    kind = "a folder";
    break;
  default:
    return "";
  }
  return std::string("found ") + kind + ", wanted a regular file";
}
