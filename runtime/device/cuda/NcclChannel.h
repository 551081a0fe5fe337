// One NCCL communicator that does not block the host, and how its calls fail.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNEL_H
#define ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNEL_H

#include "communicator/Communicator.h"

#include <nccl.h>

#include <array>
#include <vector>

namespace zrt::nccl {

/// The version of the library that was loaded: 22809 is 2.28.9.
int versionCode();

/// Throws std::invalid_argument where NCCL has no such elements.
ncclDataType_t typeOf(DataType type);

/// Throws CommunicationError with NCCL's text where `status` is an error.
/// ncclInProgress is none.
void check(ncclResult_t status, const char *call);

/// The calls of a thread between construction and `end` are one group. Where an
/// error is thrown in between, the group ends too: a thread whose group stays
/// open queues nothing any more.
class CallGroup {
public:
  CallGroup() { check(ncclGroupStart(), "ncclGroupStart"); }
  ~CallGroup() {
    if (isOpen)
      ncclGroupEnd();
  }
  CallGroup(const CallGroup &) = delete;
  CallGroup &operator=(const CallGroup &) = delete;
  void end() {
    isOpen = false;
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

private:
  bool isOpen = true;
};

class Channel {
public:
  bool isOpen() const { return handle != nullptr; }
  ncclComm_t comm() const { return handle; }
  /// The sum of what was multiplied by `prescaleOf` the ranks.
  /// \pre isPrescaled(type).
  ncclRedOp_t prescaledSum(DataType type) const {
    return prescaled[static_cast<size_t>(type)];
  }
  /// Whether there are prescaled sums of `type`.
  static bool isPrescaled(DataType type);

  /// Joins `ranks`, over which the id travels, and which it borrows. What waits
  /// for other ranks is an error after `timeoutSeconds`; 0: never.
  void connect(Communicator &ranks, double timeoutSeconds);
  /// Joins this rank of `ranks` to `peer`, which makes the same call; the one
  /// that sends is the first of the two.
  void connectTwo(Communicator &ranks, int peer, bool isSender,
                  double timeoutSeconds);
  /// Splits `all`, which is open: ranks of one `color` are joined, ordered by
  /// `key`. Every rank of `all` calls it. `ranks` is their communicator in host
  /// memory, and is borrowed.
  void split(const Channel &all, int color, int key, Communicator &ranks);
  /// Waits until NCCL has taken what it was given, as long as no peer fails,
  /// and for `seconds` at most; 0: as long as anything may take.
  void settle(double seconds = 0) const;
  /// Throws CommunicationError where an operation failed.
  void checkOperations() const;
  /// Ends what is queued, and the communicators, in one group: NCCL would wait
  /// in one of them for what another still does on the device.
  static void abort(const std::vector<Channel *> &channels) noexcept;
  /// Waits for what is queued, and ends the communicator. False where that
  /// fails: it is then open still.
  bool close() noexcept;

private:
  void join(const ncclUniqueId &id, int ranks, int rank);
  void makePrescaledSums();

  ncclComm_t handle = nullptr;
  /// By type; only those of `isPrescaled` are used.
  std::array<ncclRedOp_t, kCountOf<DataType>> prescaled;
  Communicator *host = nullptr; ///< of `connect`
  double timeoutSeconds = 0;
};

} // namespace zrt::nccl

#endif // ZERO_RUNTIME_DEVICE_CUDA_NCCLCHANNEL_H
