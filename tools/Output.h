//===- Output.h - what the tools write --------------------------*- C++ -*-===//

#ifndef ZERO_TOOLS_OUTPUT_H
#define ZERO_TOOLS_OUTPUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace llvm::json {
class OStream;
} // namespace llvm::json
namespace llvm::cl {
class SubCommand;
} // namespace llvm::cl

namespace mlir::zero {

/// From here on, what `tool` cannot write to standard output is one error with
/// exit code 1, and a reader that closes its pipe is none; the limit on the
/// size of files is an error of a write, no signal. `tool` outlives the
/// process.
void checkStandardOutput(const char *tool);

/// Writes "<tool>: error: <message>" to standard error.
LogicalResult fail(const llvm::Twine &message);

/// Writes `bytes` to the file `path`, '-' for standard output. Returns why that
/// fails, in one sentence, or "".
std::string writeBytes(StringRef path, StringRef bytes);

/// Fails where `path` cannot be written; leaves what is there.
LogicalResult checkWritable(StringRef path);

/// Writes `text` to `path`.
LogicalResult writeTextFile(StringRef path, StringRef text);

/// Writes to `path` what `write` writes as JSON, and a newline; `indent` spaces
/// a level.
LogicalResult
writeJsonFile(StringRef path,
              llvm::function_ref<void(llvm::json::OStream &)> write,
              unsigned indent = 1);

/// Fails where an option of the command line that has one value was given more
/// than once: of the program, or of `command` of it.
LogicalResult checkRepeated(llvm::cl::SubCommand &command);

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
