// Messages between two ranks by NCCL.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_NCCLMESSAGES_H
#define ZERO_RUNTIME_DEVICE_CUDA_NCCLMESSAGES_H

#include "device/Device.h"
#include "device/cuda/NcclChannel.h"

#include <map>
#include <tuple>

namespace zrt::nccl {

/// The messages of one group of a mesh. Those from one rank to another on one
/// lane have a communicator of these two: operations of one communicator run
/// one after the other, and a rank that is slow to receive keeps nothing else.
class Messages {
public:
  /// `host` has the group's ranks; both are borrowed.
  Messages(const Program &program, uint32_t group, Communicator &host,
           Device &device);
  ~Messages();
  Messages(const Messages &) = delete;
  Messages &operator=(const Messages &) = delete;

  /// Whether `program` has a message in `group`.
  static bool areIn(const Program &program, uint32_t group);

  /// Joins this rank to those that the commands of the program send to and
  /// receive from. All ranks of the group call it; what waits for others is an
  /// error after `timeoutSeconds`; 0: never. Channels that are open then are
  /// listed, also where it throws.
  void connect(double timeoutSeconds);

  /// Sends or receives `message` on `queue`.
  void enqueue(Device::Queue queue, Collective kind,
               const Transfer &message) const;
  void checkOperations() const;
  /// Adds the communicators that are open to `to`.
  void listOpen(std::vector<Channel *> &to);

private:
  /// The ranks of the group from and to which messages go, and their lane.
  using Way = std::tuple<int, int, uint32_t>;
  Way wayOf(Collective kind, const Transfer &message) const;
  void connect(const Way &way, Channel &channel, double timeoutSeconds);

  Communicator &host;
  Device &device;
  std::map<Way, Channel> channels;
  /// Of the first messages, which mean nothing.
  Device::Queue queue = nullptr;
  void *first = nullptr;
};

} // namespace zrt::nccl

#endif // ZERO_RUNTIME_DEVICE_CUDA_NCCLMESSAGES_H
