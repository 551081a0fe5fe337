// Collectives that are queued on a device, as a communicator of the executor.
#ifndef ZERO_RUNTIME_DEVICE_STREAMCOMMUNICATOR_H
#define ZERO_RUNTIME_DEVICE_STREAMCOMMUNICATOR_H

#include "communicator/Communicator.h"
#include "device/CommandTimes.h"

#include <map>
#include <optional>
#include <tuple>

namespace zrt {

/// A library of collectives over device memory: NCCL, or copies through the
/// host.
class CollectiveQueue {
public:
  virtual ~CollectiveQueue();
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Whether a graph may hold its operations.
  virtual bool isCapturable() const = 0;
  /// Throws std::invalid_argument where an operation is none that it does.
  virtual void admit(Collective kind, Reduction reduction,
                     const std::vector<Transfer> &parts) const = 0;
  /// `stream` chooses the channel: all ranks use the same for one operation.
  virtual void enqueue(Stream stream, Device::Queue queue, Collective kind,
                       Reduction reduction,
                       const std::vector<Transfer> &parts) = 0;
  /// The stream on whose queue the collectives of `stream` run.
  virtual Stream queueOf(Stream stream) const { return stream; }
  /// Begins to send or to receive one message on `queue`, which has those of
  /// its other rank, direction and lane alone; the number by which
  /// `finishMessage` knows it.
  virtual uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                                  const Transfer &message) = 0;
  /// Does what is left of a message, before anything waits for `queue` behind
  /// it.
  virtual void finishMessage(uint64_t number);
  /// Throws CommunicationError where an operation failed on any rank, as far
  /// as is known here.
  virtual void check() = 0;
  /// A queue of the same library over this rank's group `group` of `mesh`. All
  /// ranks make the same groups in the same order, and none outlives this.
  virtual std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &mesh,
                                                     uint32_t group) = 0;
  /// Ends everything that is queued here, groups included. The ranks'
  /// communicator in host memory tells the others, with the reason.
  virtual void abort() = 0;
  /// Memory of the library's own for what its operations read and write; all
  /// ranks take and release the same, in the same order. Null: the device's is
  /// as good.
  virtual Memory *memory() { return nullptr; }
  /// For people: "NCCL 2.28.9".
  virtual std::string describe() const = 0;
};

/// A start waits, on its queue, for what compute holds by then; a wait makes
/// compute wait for the start. The host waits for neither. Collectives have the
/// queue of their stream. Messages between two ranks have one for each other
/// rank, direction and lane: a rank that is slow to take one keeps nothing
/// else.
class StreamCommunicator final : public Communicator {
public:
  /// All are borrowed.
  StreamCommunicator(Device &device, const Queues &queues,
                     CollectiveQueue &library, CommandTimes &times);
  ~StreamCommunicator() override;

  int rank() const override { return library.rank(); }
  int ranks() const override { return library.ranks(); }
  Ticket start(Collective kind, Reduction reduction,
               const std::vector<Transfer> &parts) override;
  Ticket startOn(Stream stream, Collective kind, Reduction reduction,
                 const std::vector<Transfer> &parts) override;
  void wait(Ticket ticket) override;
  void forget(Ticket ticket) override;
  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override;
  void abort(const std::string &reason) override;
  std::unique_ptr<Communicator> makeGroup(const Mesh &mesh,
                                          uint32_t group) override;

  /// Devices have no use for these: the ranks' communicator in host memory
  /// does them, and `makeGroup` makes the
  /// mesh's groups. Both throw std::logic_error.
  void barrier() override;
  std::unique_ptr<Communicator> split(int color, int key) override;

private:
  StreamCommunicator(const StreamCommunicator &parent,
                     std::unique_ptr<CollectiveQueue> group);
  /// The other rank, whether it receives, and the lane.
  using Way = std::tuple<int, bool, uint32_t>;
  struct Pending {
    /// When the operation is done. Null: it ran on compute, or its wait is
    /// queued.
    Device::Event done = nullptr;
    std::optional<uint64_t> message;
  };

  Device::Queue queueFor(Stream stream, Collective kind,
                         const std::vector<Transfer> &parts);
  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction, const std::vector<Transfer> &parts,
               Pending &operation);

  Device &device;
  const Queues &queues;
  std::unique_ptr<CollectiveQueue> owned; ///< a group's
  CollectiveQueue &library;
  CommandTimes &times;
  Events events;
  std::map<Way, Device::Queue> ways;
  std::vector<Pending> pending; ///< by ticket
  std::vector<Ticket> freeTickets;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_STREAMCOMMUNICATOR_H
