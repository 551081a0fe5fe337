//===- TemporaryFiles.cpp - names that nothing has yet --------------------===//

#include "zero/Target/TemporaryFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using mlir::zero::findFreePath;

SmallString<128> mlir::zero::findFreePath(StringRef stem) {
  for (;;) {
    SmallString<16> drawn;
    sys::fs::createUniquePath("%%%%%%%%", drawn, /*MakeAbsolute=*/false);
    SmallString<128> path(stem);
    path += drawn;
    if (!sys::fs::exists(path))
      return path;
  }
}

/// Draws names until `make` finds none of them taken.
static LogicalResult
makeTemporary(StringRef kind, StringRef name, SmallVectorImpl<char> &path,
              std::string &error,
              function_ref<std::error_code(const Twine &)> make) {
  SmallString<128> stem;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, stem);
  sys::path::append(stem, name + "-");
  for (;;) {
    SmallString<128> found = findFreePath(stem);
    std::error_code code = make(found);
    if (code == std::errc::file_exists)
      continue;
    path.assign(found.begin(), found.end());
    if (!code)
      return success();
    error = ("cannot make a temporary " + kind + " '" + found +
             "': " + code.message() + "; TMPDIR names another place")
                .str();
    return failure();
  }
}

LogicalResult mlir::zero::makeTemporaryFile(StringRef name,
                                            SmallVectorImpl<char> &path,
                                            std::string &error) {
  return makeTemporary("file", name, path, error, [](const Twine &found) {
    int file = -1;
    std::error_code code = sys::fs::openFileForWrite(
        found, file, sys::fs::CD_CreateNew, sys::fs::OF_None, 0600);
    if (!code)
      sys::fs::closeFile(file);
    return code;
  });
}

LogicalResult mlir::zero::makeTemporaryFolder(StringRef name,
                                              SmallVectorImpl<char> &path,
                                              std::string &error) {
  return makeTemporary("folder", name, path, error, [](const Twine &found) {
    return sys::fs::create_directory(found, /*IgnoreExisting=*/false,
                                     sys::fs::owner_all);
  });
}
