// What operations left behind, one after the other: hashes, to compare two
// runs of the same ones, and where values were not finite.
#ifndef ZERO_RUNTIME_SELFCHECK_OPERATIONTRACE_H
#define ZERO_RUNTIME_SELFCHECK_OPERATIONTRACE_H

#include "engine/Backend.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zrt {

/// An element that is inf or NaN, of a result of an operation.
struct NonFiniteValue {
  int32_t micro = 0; ///< micro-batch
  size_t result = 0;
  uint64_t element = 0;
  bool isNan = false;
};

struct TracedOperation {
  const Command *command = nullptr; ///< a kernel, or a wait for a collective
  uint64_t hash = 0;
  /// The sum of the squares of its results that are floats; with `looks`.
  double squares = 0;
  std::optional<NonFiniteValue> nonFinite;
};

/// The trace of one rank's operations.
class OperationTrace {
public:
  /// Both are borrowed.
  OperationTrace(const Program &program, Backend &backend);

  /// Begins a trace of the commands that run from now on, and ends it. Without
  /// `looks` it has hashes only, which take a tenth of the time.
  void begin(bool looks);
  std::vector<TracedOperation> end();

  /// Sets the operations whose results are not finite in a run with a finite
  /// loss, such as masks: they are not reported.
  void setUsual(const std::vector<TracedOperation> &operations);
  /// The first operation that left a value that is not finite, and is not
  /// usual; null: none. A NaN goes before infinities, which may be meant.
  const TracedOperation *
  findNonFinite(const std::vector<TracedOperation> &operations) const;

  /// "nn.linear 'h.0.fc1' at gpt.mlir:3:1".
  std::string describe(const TracedOperation &operation) const;
  /// The type of a result of a kernel, or of what a wait has received.
  TensorType typeOf(const TracedOperation &operation, size_t result) const;

private:
  void add(const Command &command);
  void read(const BufferRef &buffer, DataType type, size_t result,
            TracedOperation &operation);
  void look(const std::vector<double> &values, size_t result, uint64_t first,
            TracedOperation &operation) const;
  const Command &named(const Command &command) const;

  const Program &program;
  Backend &backend;
  std::map<uint32_t, const Command *> starts; ///< of collectives, by ticket
  std::set<const Command *> usual;
  bool looks = false;
  std::vector<TracedOperation> operations;
};

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_OPERATIONTRACE_H
