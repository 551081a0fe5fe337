// A command with all that it takes to run it.
#ifndef ZERO_RUNTIME_ENGINE_EXECUTORACTION_H
#define ZERO_RUNTIME_ENGINE_EXECUTORACTION_H

#include "engine/Executor.h"

namespace zrt {

struct Executor::Action {
  const Command *command = nullptr;
  Kernel *kernel = nullptr;
  Communicator *communicator = nullptr; ///< of a start
  std::vector<void *> buffers;
  std::vector<Transfer> transfers;
  Reduction reduction = Reduction::Sum;
  uint64_t elements = 0, bytes = 0;
  /// Of a plain copy that runs beside other work: its bytes, and the queue that
  /// does it; null if the kernel copies.
  uint64_t copied = 0;
  SideCopies *copies = nullptr;
  /// A wait whose start is in another region, which may not have run yet.
  bool mayBeIdle = false;
  /// A start of `apply` whose wait is in the next update.
  bool mayBePostponed = false;
  std::string name; ///< for the record; empty where there is none
};

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_EXECUTORACTION_H
