// Which fault is to happen, where and when: KIND@RANK:STEP:OP.
#ifndef ZERO_RUNTIME_INJECTION_FAULTSPEC_H
#define ZERO_RUNTIME_INJECTION_FAULTSPEC_H

#include <cstdint>
#include <string>
#include <vector>

namespace zrt {

enum class FaultKind : uint32_t {
  Kill,    ///< the process ends by SIGKILL
  Stop,    ///< the rank does nothing more
  Delay,   ///< the rank is late by so many seconds
  Alloc,   ///< memory cannot be allocated
  Skip,    ///< the operation is left out
  Double,  ///< it is done twice
  Reorder, ///< it changes places with what the rank starts next
  Payload, ///< it is started with an element less
  Flip,    ///< a bit changes in what it has computed, sends or writes
  Wire,    ///< a bit changes in what is received
  Eio,     ///< it fails with EIO
  Enospc,  ///< it fails with ENOSPC
  Short,   ///< fewer bytes are moved than asked for
  Torn     ///< half of the bytes are written, and all are reported
};

/// Operations that faults are of, as bits.
enum OperationClass : uint32_t {
  kKernelOperation = 1,
  kMeetingOperation = 2, ///< what ranks start together, sends and receives
  kWaitOperation = 4,
  kFileReadOperation = 8, ///< of a state in a file
  kFileWriteOperation = 16,
  kCheckpointOperation = 32, ///< a write to a file of a checkpoint
  kStateOperation = 64       ///< none: a state, between two updates
};

struct FaultSpec {
  FaultKind kind = FaultKind::Kill;
  /// Seconds of a delay; which bit of all changes, from 1 on, or 0: one in the
  /// middle that weighs much.
  double value = 0;
  int rank = 0;
  uint64_t step = 0; ///< the update; 0: before the first
  /// The name of an operation, such as "nn.linear" or "all-gather", or of one
  /// of the classes.
  std::string operation;
  uint64_t index = 1; ///< which of the step, of those with that name
  std::string text;   ///< as it was given
};

/// Reads "delay=0.5@1:3:all-gather.2". Throws std::invalid_argument with one
/// sentence. Whether the program has such an operation is not known here.
FaultSpec parseFault(const std::string &text);

/// The classes that a kind may be of.
uint32_t classesOf(FaultKind kind);
/// "kill, stop, ..": the kinds of a class, or of all of them.
std::string listFaultKinds(uint32_t classes);
/// Names that operations have besides those of their kinds.
std::vector<std::string> namesOfClasses();
/// The class with the name; 0: none has it.
uint32_t classNamed(const std::string &name);

} // namespace zrt

#endif // ZERO_RUNTIME_INJECTION_FAULTSPEC_H
