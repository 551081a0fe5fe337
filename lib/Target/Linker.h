// Who links, and with which arguments.
#ifndef ZERO_LIB_TARGET_LINKER_H
#define ZERO_LIB_TARGET_LINKER_H

#include "zero/Target/Target.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace mlir::zero {

/// A C++ compiler; or, where there is none, a linker with the files that begin
/// and end what a compiler links, which the build has beside the runtime.
class Linker {
public:
  enum class Output { Executable, Shared };

  /// The one that `options` and the machine have, or nothing and `error`.
  static std::optional<Linker> find(const LinkOptions &options,
                                    std::string &error);

  const std::string &program() const { return path; }

  /// The command that links `words` to `output`: files and options as a C++
  /// compiler takes them, `@file` for a file of them, where <CFGDIR> is the
  /// file's folder. Nothing and `error` where a file is missing.
  std::optional<SmallVector<std::string>> command(Output kind,
                                                  ArrayRef<std::string> words,
                                                  StringRef output,
                                                  std::string &error) const;

private:
  Linker(std::string path, bool isCompiler)
      : path(std::move(path)), isCompiler(isCompiler) {}

  std::string path;
  /// What a compiler calls to link; empty: the one of its choice.
  std::string calledLinker;
  bool isCompiler;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_LINKER_H
