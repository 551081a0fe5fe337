//===- Link.cpp - object and runtime to an executable ---------------------===//

#include "zero/Target/Target.h"

#include "CopyLibraries.h"
#include "FindRuntime.h"
#include "Linker.h"
#include "RunProgram.h"

#include "zero/Target/TemporaryFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace mlir;
using namespace mlir::zero;

/// Runs `command` and says in `error` what it prints if it fails.
static LogicalResult runLinker(ArrayRef<std::string> command,
                               std::string &error) {
  std::string printed;
  if (succeeded(runProgram(command, printed)))
    return success();
  error = "'" + command.front() + "' could not link: " + printed;
  return failure();
}

/// Links by `link` what then takes the place of `output`: as a whole, or not at
/// all. A linker that succeeds without a result is an error.
static LogicalResult
linkTo(StringRef output, StringRef compiler, std::string &error,
       llvm::function_ref<LogicalResult(StringRef path)> link) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (!fs::status(output, status) && !fs::is_regular_file(status))
    return link(output); // a device
  const SmallString<128> path = findFreePath((output + ".partial-").str());
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

/// Links `words` to `output` by what `options` and the machine have.
static LogicalResult link(Linker::Output kind, ArrayRef<std::string> words,
                          StringRef output, const LinkOptions &options,
                          std::string &error) {
  std::optional<Linker> linker = Linker::find(options, error);
  if (!linker)
    return failure();
  return linkTo(output, linker->program(), error, [&](StringRef path) {
    auto command = linker->command(kind, words, path, error);
    return command ? runLinker(*command, error) : failure();
  });
}

/// Links `object` and the runtime.
static LogicalResult linkWithRuntime(Linker::Output kind, StringRef object,
                                     StringRef output,
                                     const LinkOptions &options,
                                     std::string &error) {
  std::string runtime = findRuntime(options, error);
  if (runtime.empty())
    return failure();
  SmallVector<std::string> words = {object.str()};
  if (!options.files.empty()) {
    words.push_back("-Wl,--whole-archive");
    llvm::append_range(words, options.files);
    words.push_back("-Wl,--no-whole-archive");
  }
  if (!options.libraries.empty())
    llvm::append_range(words, searchLibrariesIn(options.libraries, output));
  words.push_back("@" + runtime);
  if (failed(link(kind, words, output, options, error)))
    return failure();
  return options.libraries.empty()
             ? success()
             : copyLibraries(output, options.libraries, error);
}

LogicalResult mlir::zero::checkLink(const LinkOptions &options,
                                    std::string &error) {
  return success(!findRuntime(options, error).empty() &&
                 Linker::find(options, error));
}

LogicalResult mlir::zero::linkExecutable(StringRef object, StringRef output,
                                         const LinkOptions &options,
                                         std::string &error) {
  return linkWithRuntime(Linker::Output::Executable, object, output, options,
                         error);
}

LogicalResult mlir::zero::linkShared(StringRef object, StringRef output,
                                     const LinkOptions &options,
                                     std::string &error) {
  return linkWithRuntime(Linker::Output::Shared, object, output, options,
                         error);
}

LogicalResult mlir::zero::linkProgram(StringRef object, StringRef output,
                                      const LinkOptions &options,
                                      std::string &error) {
  return link(Linker::Output::Shared, {object.str(), "-lm"}, output, options,
              error);
}
