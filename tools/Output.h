//===- Output.h - what the tools write --------------------------*- C++ -*-===//

#ifndef ZERO_TOOLS_OUTPUT_H
#define ZERO_TOOLS_OUTPUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zero {

/// From here on, what `tool` cannot write to standard output is one error with
/// exit code 1, and a reader that closes its pipe is none; the limit on the
/// size of files is an error of a write, no signal. `tool` outlives the
/// process.
void checkStandardOutput(const char *tool);

/// Writes `bytes` to the file `path`, '-' for standard output. Returns why that
/// fails, in one sentence, or "".
std::string writeBytes(StringRef path, StringRef bytes);

/// A file and what messages call it.
struct NamedFile {
  const char *name;
  StringRef path;
};

/// Why one of `outputs` cannot be: it is one of `inputs` or another output, by
/// whatever name; or "". Empty paths and '-' are none.
std::string findReplaced(ArrayRef<NamedFile> outputs,
                         ArrayRef<NamedFile> inputs);

} // namespace mlir::zero

#endif // ZERO_TOOLS_OUTPUT_H
