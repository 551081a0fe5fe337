// Collectives of device memory that go through the host, and those of one rank.
#ifndef ZERO_RUNTIME_DEVICE_STAGEDCOLLECTIVES_H
#define ZERO_RUNTIME_DEVICE_STAGEDCOLLECTIVES_H

#include "device/StreamCommunicator.h"

namespace zrt {

/// Copies to pinned memory, runs the operation there, and copies back. The
/// host waits for each, so no graph holds them; sums are the host's, in rank
/// order. A message is in pinned memory of its own until it is finished, since
/// ranks that send to each other would wait for ever. For ranks that share a
/// device, and as a reference.
class StagedCollectives final : public CollectiveQueue {
public:
  /// Both are borrowed.
  StagedCollectives(Device &device, Communicator &host);

  int rank() const override { return host.rank(); }
  int ranks() const override { return host.ranks(); }
  bool isCapturable() const override { return false; }
  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override;
  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override;
  uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                          const Transfer &message) override;
  void finishMessage(uint64_t number) override;
  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &mesh,
                                             uint32_t group) override;
  void check() override { host.checkPeers(); }
  /// Nothing is queued that waits for a peer.
  void abort() override {}
  std::string describe() const override {
    return "collectives through the host";
  }

private:
  StagedCollectives(Device &device, std::unique_ptr<Communicator> group);
  char *reserve(size_t bytes);

  /// A message that was begun.
  struct Message {
    Device::Queue queue = nullptr;
    Transfer transfer; ///< on the device
    Communicator::Ticket ticket = 0;
    std::unique_ptr<Pinned> memory;
    size_t bytes = 0; ///< of the memory
    bool isSend = false, isRunning = false;
  };
  Message &beginMessage(size_t bytes);

  Device &device;
  std::unique_ptr<Communicator> owned; ///< a group's
  Communicator &host;
  std::unique_ptr<Pinned> memory;
  size_t size = 0;
  std::vector<Message> messages; ///< by number; their memory is used again
};

/// One rank alone: an operation is a copy, and nothing where it is in place.
class LocalCollectives final : public CollectiveQueue {
public:
  explicit LocalCollectives(Device &device) : device(device) {}

  int rank() const override { return 0; }
  int ranks() const override { return 1; }
  bool isCapturable() const override { return true; }
  void admit(Collective, Reduction,
             const std::vector<Transfer> &) const override {}
  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override;
  /// A rank alone has nobody to send to.
  uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                          const Transfer &message) override;
  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &, uint32_t) override {
    return std::make_unique<LocalCollectives>(device);
  }
  void check() override {}
  void abort() override {}
  std::string describe() const override { return "one rank"; }

private:
  Device &device;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_STAGEDCOLLECTIVES_H
