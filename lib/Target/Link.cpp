//===- Link.cpp - object and runtime to an executable ---------------------===//

#include "zero/Target/Target.h"

#include "Embed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
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

/// A runtime in a folder, and the features of a CPU that it uses.
struct Runtime {
  std::string link;
  SmallVector<std::string> features;
};

/// The runtimes `name`.link and `name`.ARCH.link of `folder`, the first of them
/// first. One that has no file of its features beside it is an error.
SmallVector<Runtime> findRuntimes(StringRef folder, StringRef name,
                                  std::string &error) {
  namespace path = llvm::sys::path;
  SmallVector<std::string> found;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end;
       file != end && !code; file.increment(code)) {
    StringRef rest = path::filename(file->path());
    if (rest.consume_front(name) && rest.consume_back(".link") &&
        (rest.empty() || rest.starts_with(".")))
      found.push_back(file->path());
  }
  llvm::sort(found, [](StringRef a, StringRef b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
  });
  SmallVector<Runtime> runtimes;
  for (const std::string &link : found) {
    SmallString<256> features(link);
    path::replace_extension(features, "features");
    auto text = llvm::MemoryBuffer::getFile(features, /*IsText=*/true);
    if (!text) {
      error = "cannot read '" + features.str().str() +
              "', what the runtime beside it wants of a CPU: " +
              text.getError().message() + "; build the runtime again";
      return {};
    }
    SmallVector<StringRef> names;
    llvm::SplitString((*text)->getBuffer(), names);
    runtimes.push_back({link, {names.begin(), names.end()}});
  }
  return runtimes;
}

/// Of `runtimes` the one that uses most of `available`, the features of a CPU,
/// and nothing else; the first of several, null where there is none.
const Runtime *chooseRuntime(ArrayRef<Runtime> runtimes, StringRef available) {
  SmallVector<StringRef> names;
  llvm::SplitString(available, names);
  llvm::StringSet<> has;
  has.insert(names.begin(), names.end());
  const Runtime *best = nullptr;
  for (const Runtime &runtime : runtimes)
    if (llvm::all_of(runtime.features,
                     [&](StringRef name) { return has.contains(name); }) &&
        (!best || runtime.features.size() > best->features.size()))
      best = &runtime;
  return best;
}

/// The response file of the runtime, or nothing and `error`.
std::string findRuntime(const LinkOptions &options, std::string &error) {
  std::string wanted = options.runtime;
  if (wanted.empty())
    wanted = environment("ZERO_RUNTIME_LINK");
  if (!wanted.empty()) {
    if (llvm::sys::fs::exists(wanted))
      return wanted;
    error = "no runtime to link with: '" + wanted + "' does not exist";
    return "";
  }
  static int anchor;
  std::string tool = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  SmallString<256> folder(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(tool)));
  llvm::sys::path::append(folder, "lib");
  TargetOptions target;
  target.cpu = options.cpu;
  auto machine = createHostMachine(target, error);
  if (!machine)
    return "";
  auto runtimes = findRuntimes(folder, options.runtimeName, error);
  if (!error.empty())
    return "";
  if (const Runtime *runtime = chooseRuntime(runtimes, cpuFeaturesOf(*machine)))
    return runtime->link;
  error = runtimes.empty()
              ? "no runtime to link with: '" + std::string(folder) +
                    "' has no " + options.runtimeName +
                    ".link; build or install the runtime, or name its link "
                    "file with ZERO_RUNTIME_LINK"
              : "no runtime for the CPU '" + machine->getTargetCPU().str() +
                    "': each of those in '" + std::string(folder) +
                    "' uses more than it has; build one for it with "
                    "ZERO_PORTABLE_ARCHS, or name a newer CPU with --cpu";
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
