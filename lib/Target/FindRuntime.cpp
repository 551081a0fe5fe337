//===- FindRuntime.cpp - the runtime for a CPU ----------------------------===//

#include "FindRuntime.h"

#include "Embed.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdlib>

using namespace mlir;
using namespace mlir::zero;

namespace {

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

} // namespace

std::string mlir::zero::runtimeFolder() {
  namespace path = llvm::sys::path;
  static int anchor;
  std::string tool = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  SmallString<256> folder(path::parent_path(path::parent_path(tool)));
  path::append(folder, "lib", "zero");
  return std::string(folder);
}

std::string mlir::zero::findRuntime(const LinkOptions &options,
                                    std::string &error) {
  std::string wanted = options.runtime;
  const char *variable = std::getenv("ZERO_RUNTIME_LINK");
  if (wanted.empty() && variable)
    wanted = variable;
  if (!wanted.empty()) {
    if (llvm::sys::fs::exists(wanted))
      return wanted;
    error = "no runtime to link with: '" + wanted + "' does not exist";
    return "";
  }
  std::string folder = runtimeFolder();
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
              ? "no runtime to link with: '" + folder + "' has no " +
                    options.runtimeName +
                    ".link; build or install the runtime, or name its link "
                    "file with ZERO_RUNTIME_LINK"
              : "no runtime for the CPU '" + machine->getTargetCPU().str() +
                    "': each of those in '" + folder +
                    "' uses more than it has; build one for it with "
                    "ZERO_PORTABLE_ARCHS, or name a newer CPU with --cpu";
  return "";
}
