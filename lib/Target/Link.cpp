//===- Link.cpp - object and runtime to an executable ---------------------===//

#include "zero/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::zero;

namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The path of the C++ compiler that links, or nothing and `error`.
std::string findCompiler(const LinkOptions &options, std::string &error) {
  std::string wanted = options.compiler;
  if (wanted.empty())
    wanted = environment("ZERO_CXX");
  SmallVector<StringRef> names;
  if (wanted.empty())
    names = {"clang++-22", "clang++", "c++"};
  else
    names = {wanted};
  for (StringRef name : names)
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  error = "no C++ compiler to link with: found none of " +
          llvm::join(names, ", ") + "; install one or name it with ZERO_CXX";
  return "";
}

/// The response file of the runtime, or nothing and `error`.
std::string findRuntime(const LinkOptions &options, std::string &error) {
  std::string wanted = options.runtime;
  if (wanted.empty())
    wanted = environment("ZERO_RUNTIME_LINK");
  if (wanted.empty()) {
    static int anchor;
    std::string tool = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
    SmallString<256> path(
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(tool)));
    llvm::sys::path::append(path, "lib", options.runtimeName);
    wanted = std::string(path);
  }
  if (llvm::sys::fs::exists(wanted))
    return wanted;
  error = "no runtime to link with: '" + wanted +
          "' does not exist; build or install the runtime, or name its link "
          "file with ZERO_RUNTIME_LINK";
  return "";
}

/// Runs `arguments` and puts what it prints into `error` if it fails.
LogicalResult runLinker(ArrayRef<std::string> arguments, std::string &error) {
  SmallString<128> log;
  if (llvm::sys::fs::createTemporaryFile("zero-link", "log", log)) {
    error = "no temporary file for the linker's messages";
    return failure();
  }
  SmallVector<StringRef> list(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(list.front(), list, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status != 0) {
    error = "'" + arguments.front() + "' could not link: " + message;
    if (auto buffer = llvm::MemoryBuffer::getFile(log))
      error += (*buffer)->getBuffer().rtrim().str();
  }
  llvm::sys::fs::remove(log);
  return success(status == 0);
}

} // namespace

/// Links by `link` what then takes the place of `output`: as a whole, or not at
/// all. A linker that succeeds without a result is an error.
static LogicalResult
linkTo(StringRef output, StringRef compiler, std::string &error,
       llvm::function_ref<LogicalResult(StringRef path)> link) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (!fs::status(output, status) && !fs::is_regular_file(status))
    return link(output); // a device
  SmallString<128> path;
  if (auto code = fs::getPotentiallyUniqueFileName(output + ".partial-%%%%%%%%",
                                                   path)) {
    error = "no temporary file for '" + output.str() + "': " + code.message();
    return failure();
  }
  llvm::FileRemover remover(path);
  if (failed(link(path)))
    return failure();
  uint64_t bytes = 0;
  if (fs::file_size(path, bytes) || bytes == 0) {
    error = "'" + compiler.str() +
            "' ends without an error and without a result; name a C++ "
            "compiler with --cxx or ZERO_CXX";
    return failure();
  }
  if (auto code = fs::rename(path, output)) {
    error = "cannot write '" + output.str() + "': " + code.message();
    return failure();
  }
  remover.releaseFile();
  return success();
}

/// Links `object` and the runtime, with what `kind` asks of the compiler.
static LogicalResult linkWithRuntime(ArrayRef<StringRef> kind, StringRef object,
                                     StringRef output,
                                     const LinkOptions &options,
                                     std::string &error) {
  std::string compiler = findCompiler(options, error);
  if (compiler.empty())
    return failure();
  std::string runtime = findRuntime(options, error);
  if (runtime.empty())
    return failure();
  SmallVector<std::string> arguments = {compiler};
  for (StringRef word : kind)
    arguments.push_back(word.str());
  arguments.push_back(object.str());
  if (!options.files.empty()) {
    arguments.push_back("-Wl,--whole-archive");
    llvm::append_range(arguments, options.files);
    arguments.push_back("-Wl,--no-whole-archive");
  }
  arguments.push_back("@" + runtime);
  return linkTo(output, compiler, error, [&](StringRef path) {
    llvm::append_range(arguments, std::vector<std::string>{"-o", path.str()});
    return runLinker(arguments, error);
  });
}

LogicalResult mlir::zero::linkExecutable(StringRef object, StringRef output,
                                         const LinkOptions &options,
                                         std::string &error) {
  return linkWithRuntime({}, object, output, options, error);
}

LogicalResult mlir::zero::linkShared(StringRef object, StringRef output,
                                     const LinkOptions &options,
                                     std::string &error) {
  return linkWithRuntime({"-shared"}, object, output, options, error);
}

LogicalResult mlir::zero::linkProgram(StringRef object, StringRef output,
                                      const LinkOptions &options,
                                      std::string &error) {
  std::string compiler = findCompiler(options, error);
  if (compiler.empty())
    return failure();
  return linkTo(output, compiler, error, [&](StringRef path) {
    return runLinker(
        {compiler, "-shared", "-o", path.str(), object.str(), "-lm"}, error);
  });
}
