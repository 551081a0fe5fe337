//===- Imports.h - models that the importer makes, one ahead --------------===//
#ifndef ZERO_PLAN_IMPORTS_H
#define ZERO_PLAN_IMPORTS_H

#include "mlir/Support/LLVM.h"

#include <memory>
#include <string>
#include <sys/types.h>

namespace mlir::zero {

/// A process of zero-import-cached for one model, which takes samples of a
/// micro-batch after each other: the next import is made while the last one is
/// planned, and PyTorch is started once.
class Imports {
public:
  /// Starts the importer beside this program, or else the one on the path, with
  /// `words` behind it.
  static FailureOr<std::unique_ptr<Imports>> start(ArrayRef<std::string> words);
  /// Ends it, with what it has not made yet.
  ~Imports();
  Imports(const Imports &) = delete;
  Imports &operator=(const Imports &) = delete;

  void ask(int64_t samples);
  /// Waits for the first model that was asked for and not taken: its path.
  FailureOr<std::string> take();

private:
  Imports(pid_t process, int channel) : process(process), channel(channel) {}
  LogicalResult explainEnd();

  pid_t process; ///< 0: has ended
  int channel;   ///< its standard input and output
  std::string read;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_IMPORTS_H
