//===- Linker.cpp - a compiler or a linker, and its command ---------------===//

#include "Linker.h"

#include "FindRuntime.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <array>
#include <cstdlib>

using namespace mlir;
using namespace mlir::zero;

using Words = SmallVector<std::string>;

static constexpr std::array<StringRef, 4> kCompilers = {"clang++-22", "clang++",
                                                        "c++", "g++"};
static constexpr std::array<StringRef, 3> kLinkers = {"ld.lld-22", "ld.lld",
                                                      "ld"};

static std::string findFirst(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return "";
}

/// The path of a file that only linking without a compiler needs.
static std::string startFile(StringRef name) {
  SmallString<256> path(runtimeFolder());
  llvm::sys::path::append(path, name);
  return std::string(path);
}

std::optional<Linker> Linker::find(const LinkOptions &options,
                                   std::string &error) {
  std::string wanted = options.compiler;
  const char *variable = std::getenv("ZERO_CXX");
  if (wanted.empty() && variable)
    wanted = variable;
  if (!wanted.empty()) {
    std::string path = findFirst({wanted});
    if (!path.empty())
      return Linker(path, /*isCompiler=*/true);
    error = "no C++ compiler to link with: found none of " + wanted +
            "; install one or name it with ZERO_CXX";
    return std::nullopt;
  }
  if (std::string path = findFirst(kCompilers); !path.empty()) {
    Linker found(path, /*isCompiler=*/true);
    // clang would call ld, which takes as long as all else of a compilation.
    if (StringRef(path).ends_with(kCompilers.front()))
      found.calledLinker = findFirst(ArrayRef(kLinkers).drop_back());
    return found;
  }
  const std::string compilers = llvm::join(kCompilers, ", ");
  if (!llvm::sys::fs::exists(startFile("end.link"))) {
    error = "no C++ compiler to link with: found none of " + compilers +
            "; install one or name it with ZERO_CXX";
    return std::nullopt;
  }
  if (std::string path = findFirst(kLinkers); !path.empty())
    return Linker(path, /*isCompiler=*/false);
  error = "nothing to link with: found neither a linker (" +
          llvm::join(kLinkers, ", ") + ") nor a C++ compiler (" + compilers +
          ") on the path; install one, such as the package binutils, which has "
          "ld";
  return std::nullopt;
}

/// Appends `words` with the contents of files that they name by `@`.
static LogicalResult expand(ArrayRef<std::string> words, Words &result,
                            std::string &error) {
  for (const std::string &word : words) {
    StringRef file = word;
    if (!file.consume_front("@")) {
      result.push_back(word);
      continue;
    }
    llvm::BumpPtrAllocator memory;
    SmallVector<const char *> read;
    llvm::cl::ExpansionContext context(memory, llvm::cl::tokenizeConfigFile);
    if (llvm::Error failed = context.readConfigFile(file, read)) {
      error = "cannot read '" + file.str() +
              "', what to link with: " + llvm::toString(std::move(failed));
      return failure();
    }
    result.append(read.begin(), read.end());
  }
  return success();
}

/// Checks that the libraries are there, for a message that says what to do.
static LogicalResult checkFiles(ArrayRef<std::string> words,
                                std::string &error) {
  for (StringRef word : words)
    if (llvm::sys::path::is_absolute(word) && !llvm::sys::fs::exists(word)) {
      error = "cannot link with '" + word.str() +
              "', which the runtime needs: there is no such file; install the "
              "package that has it, or build zero on this machine";
      return failure();
    }
  return success();
}

/// Appends, for a linker, what `word` says to a compiler.
static void appendForLinker(StringRef word, Words &result) {
  // The C library has all of these, and comes at the end.
  if (word == "-pthread" || word == "-lm" || word == "-ldl" || word == "-lrt")
    return;
  if (!word.consume_front("-Wl,"))
    return result.push_back(word.str());
  SmallVector<StringRef> parts;
  word.split(parts, ',');
  for (StringRef part : parts)
    result.push_back(part.str());
}

std::optional<SmallVector<std::string>>
Linker::command(Output kind, ArrayRef<std::string> words, StringRef output,
                std::string &error) const {
  const bool isShared = kind == Output::Shared;
  Words expanded, result = {path};
  if (failed(expand(words, expanded, error)) ||
      failed(checkFiles(expanded, error)))
    return std::nullopt;
  if (isCompiler) {
    if (!calledLinker.empty())
      result.push_back("--ld-path=" + calledLinker);
    if (isShared)
      result.push_back("-shared");
    result.append(expanded);
  } else {
    const char *begin =
        isShared ? "begin-shared.link" : "begin-executable.link";
    if (failed(expand("@" + startFile(begin), result, error)))
      return std::nullopt;
    for (StringRef word : expanded)
      appendForLinker(word, result);
    if (failed(expand("@" + startFile("end.link"), result, error)))
      return std::nullopt;
  }
  result.append({"-o", output.str()});
  return result;
}
