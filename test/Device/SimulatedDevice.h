// A simulated device: it does the work on the host, in the order of the
// calls, records every call, and refuses what would be wrong on a real one.
//
// Each queue has a clock. Events carry clocks from queue to queue, and from a
// queue to the host. Two accesses to the same bytes, one of them a write, must
// be ordered by these clocks, whatever order they happened to run in. Bytes
// must lie inside one allocation. A graph runs on queues of its own, which know
// only what its launch waited for, and must have joined them when it ends.
#ifndef ZERO_TEST_DEVICE_SIMULATEDDEVICE_H
#define ZERO_TEST_DEVICE_SIMULATEDDEVICE_H

#include "device/StreamCommunicator.h"
#include "engine/Executor.h"

#include <functional>
#include <list>
#include <map>
#include <stdexcept>

namespace zrt::test {

/// A call that no device would survive.
class Misuse : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

/// Bytes that an operation reads or writes.
struct Access {
  const void *address;
  size_t bytes;
  bool writes;
};

/// What was called, for tests to look at.
struct CallCounts {
  int64_t copies = 0, kernels = 0, collectives = 0, parts = 0, records = 0,
          waits = 0, captures = 0, launches = 0, ranges = 0, hostWaits = 0,
          messages = 0, timers = 0, registered = 0, hostCalls = 0;
};

class SimulatedDevice final : public Device {
public:
  /// Where it does not execute, it records and checks only: memory that nobody
  /// touches costs nothing.
  explicit SimulatedDevice(bool executes = true);
  ~SimulatedDevice() override;

  std::string describe() const override { return "simulated device"; }
  uint64_t bytesInUse() override;
  void *allocate(uint64_t bytes, const char *what) override;
  void release(void *address) override;
  void write(void *to, const void *from, size_t bytes) override;
  void read(void *to, const void *from, size_t bytes) override;
  void *allocatePinned(size_t bytes) override;
  void releasePinned(void *address) override;
  Queue makeQueue(bool highPriority) override;
  void destroy(Queue queue) override;
  Event makeEvent() override;
  Event makeTimer() override;
  double elapsed(Event from, Event to) override;
  void destroy(Event event) override;
  void copy(void *to, const void *from, size_t bytes, Queue queue) override;
  void callHost(HostCall &call, Queue queue) override;
  void record(Event event, Queue queue) override;
  void wait(Queue queue, Event event) override;
  void synchronize(Queue queue) override;
  void synchronize(Event event) override;
  bool isDone(Event event) override;
  void beginCapture(Queue queue) override;
  Graph endCapture(Queue queue) override;
  void abandonCapture(Queue queue) noexcept override;
  void launch(Graph graph, Queue queue) override;
  void destroy(Graph graph) override;
  void beginRange(const char *name) override;
  void endRange() override;

  /// Queues `body`, which touches `accesses`. `what` is for messages.
  void run(Queue queue, const std::string &what, std::vector<Access> accesses,
           std::function<void()> body);

  CallCounts counts;
  const bool executes;
  /// Operations of a capture after which it fails; negative: none does.
  int64_t captureLimit = -1;
  /// The most pinned memory that can be had at once.
  size_t pinnedLimit = SIZE_MAX;

  struct Operation; ///< of a graph

private:
  /// By queue, the last of its operations that is known to be done.
  using Clock = std::vector<int64_t>;
  struct Memory;

  void perform(const Operation &operation, int queue);
  void touch(const Access &access, int queue, const std::string &what);
  void requireInside(const void *address, size_t bytes,
                     const std::string &what) const;
  void add(Operation operation, Queue queue);
  int newClock();
  static void join(Clock &to, const Clock &from);

  std::unique_ptr<Memory> memory;
  std::vector<Clock> clocks; ///< by queue, the graphs' own included
  Clock host;
  Graph capturing = nullptr;
  int depth = 0;
};

/// Runs collectives of simulated devices, whose ranks are threads. They know
/// the memory that was taken from here, and where any was, refuse other.
class SimulatedCollectives final : public CollectiveQueue, private Memory {
public:
  SimulatedCollectives(SimulatedDevice &device, Communicator &host)
      : device(device), host(host) {}
  /// A group's, which knows what `parent` does.
  SimulatedCollectives(const SimulatedCollectives &parent,
                       std::unique_ptr<Communicator> group)
      : parent(&parent), device(parent.device), owned(std::move(group)),
        host(*owned), sent(parent.sent) {}
  int rank() const override { return host.rank(); }
  int ranks() const override { return host.ranks(); }
  bool isCapturable() const override { return true; }
  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override;
  void enqueue(Stream stream, Device::Queue queue, Collective kind,
               Reduction reduction,
               const std::vector<Transfer> &parts) override;
  uint64_t enqueueMessage(Device::Queue queue, Collective kind,
                          const Transfer &message) override;
  std::unique_ptr<CollectiveQueue> makeGroup(const Mesh &mesh,
                                             uint32_t group) override;
  void check() override;
  void abort() override { ++*aborts; }
  Memory *memory() override { return this; }
  std::string describe() const override { return "simulated collectives"; }

  std::shared_ptr<int> aborts = std::make_shared<int>(0);

private:
  void *allocate(uint64_t bytes, const char *what) override;
  void release(void *address) override;
  void write(void *to, const void *from, size_t bytes) override {
    device.write(to, from, bytes);
  }
  void read(void *to, const void *from, size_t bytes) override {
    device.read(to, from, bytes);
  }
  void requireKnown(const void *address, size_t bytes) const;

  /// What was sent by this rank, which others may not have taken.
  struct Sent {
    Communicator *host = nullptr;
    Communicator::Ticket ticket = 0;
    std::string bytes;
  };

  std::map<const char *, uint64_t> known; ///< by begin
  const SimulatedCollectives *parent = nullptr;
  SimulatedDevice &device;
  std::unique_ptr<Communicator> owned;
  Communicator &host;
  /// Of all groups.
  std::shared_ptr<std::list<Sent>> sent = std::make_shared<std::list<Sent>>();
};

/// Host kernels, queued on `queue` of `device`; where that does not execute,
/// nothing stands for them.
KernelMaker simulatedKernels(SimulatedDevice &device, Device::Queue queue);

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_SIMULATEDDEVICE_H
