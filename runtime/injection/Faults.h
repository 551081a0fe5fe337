// The faults of one rank, and what they do to operations.
#ifndef ZERO_RUNTIME_INJECTION_FAULTS_H
#define ZERO_RUNTIME_INJECTION_FAULTS_H

#include "injection/FaultSpec.h"

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>

namespace zrt {

/// The fault to inject into an operation.
struct InjectedFault {
  FaultKind kind = FaultKind::Kill;
  uint64_t bit = 0; ///< for `flipBit`
  bool operator==(FaultKind other) const { return kind == other; }
  bool operator!=(FaultKind other) const { return kind != other; }
};

/// Counts the operations of a rank. Any thread may call anything.
class Faults {
public:
  using Say = std::function<void(const std::string &what)>;

  /// Takes those of `all` that are of `rank`, which is a process by itself, or
  /// a thread of one. `say` is told of each that happens.
  Faults(const std::vector<FaultSpec> &all, int rank, bool isProcess, Say say);

  void setStep(uint64_t step);

  /// An operation comes, of that class and name. Where a fault is due that is
  /// the same to all of them, does it: ends, stops or delays the rank, or
  /// throws std::bad_alloc. Another one is returned, for the caller to do.
  /// It is of the current step, unless `ofStep` says otherwise.
  std::optional<InjectedFault> next(OperationClass which,
                                    const std::string &name,
                                    std::optional<uint64_t> ofStep = {});

  /// Says more of a fault that has happened.
  void tell(const std::string &what) const { say(what); }
  /// Faults that have not happened.
  std::vector<std::string> missing() const;

private:
  struct Due {
    FaultSpec spec;
    uint64_t seen = 0;
    bool done = false;
  };
  void perform(const FaultSpec &fault) const;

  const bool isProcess;
  const Say say;
  mutable std::mutex mutex;
  uint64_t step = 0;
  std::vector<Due> faults;
};

/// Changes bit `bit` - 1 of all of them, modulo their number; 0: one in the
/// middle that weighs much in any float.
void flipBit(void *data, size_t bytes, uint64_t bit = 0);

} // namespace zrt

#endif // ZERO_RUNTIME_INJECTION_FAULTS_H
