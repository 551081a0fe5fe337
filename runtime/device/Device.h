// The calls of a device that the runtime makes, behind one interface: CUDA's,
// and in tests a simulated device's, which records and checks them.
#ifndef ZERO_RUNTIME_DEVICE_DEVICE_H
#define ZERO_RUNTIME_DEVICE_DEVICE_H

#include "state/Arenas.h"

#include <cstddef>
#include <memory>
#include <string>

namespace zrt {

/// Work of the host between that of a device. It calls nothing of the device.
class HostCall {
public:
  virtual ~HostCall();
  virtual void run() noexcept = 0;

  /// The bytes of pinned memory that it touches, and whether it writes them.
  void *memory = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

/// One device, as the calling thread sees it. Work goes to queues: that of one
/// queue runs in order, that of two side by side. Handles are the device's own.
/// Everything throws std::runtime_error with the call's name and the device's
/// text where a call fails.
class Device : public Memory {
public:
  struct QueueTag;
  struct EventTag;
  struct GraphTag;
  using Queue = QueueTag *;
  using Event = EventTag *;
  using Graph = GraphTag *;

  /// For people: "NVIDIA H200, 132 multiprocessors".
  virtual std::string describe() const = 0;
  /// Bytes of its memory that are in use, by whatever process.
  virtual uint64_t bytesInUse() = 0;

  /// Pinned host memory, for copies that the host need not wait for.
  virtual void *allocatePinned(size_t bytes) = 0;
  virtual void releasePinned(void *address) = 0;

  /// A queue of high priority goes first where both have work.
  virtual Queue makeQueue(bool highPriority) = 0;
  virtual void destroy(Queue queue) = 0;
  virtual Event makeEvent() = 0;
  /// An event that knows when it was done.
  virtual Event makeTimer() = 0;
  /// Seconds between two timers, both done.
  virtual double elapsed(Event from, Event to) = 0;
  virtual void destroy(Event event) = 0;

  /// Queued: between any two places, of the device or pinned.
  virtual void copy(void *to, const void *from, size_t bytes, Queue queue) = 0;
  /// Queued: the host runs `call`, which must outlive the queue's work and the
  /// graphs that hold it.
  virtual void callHost(HostCall &call, Queue queue) = 0;
  /// `event` is then done when all that `queue` holds now is.
  virtual void record(Event event, Queue queue) = 0;
  /// Makes work that `queue` gets from now on wait for `event` as last
  /// recorded.
  virtual void wait(Queue queue, Event event) = 0;
  /// The host waits.
  virtual void synchronize(Queue queue) = 0;
  virtual void synchronize(Event event) = 0;
  /// The host looks, and does not wait.
  virtual bool isDone(Event event) = 0;

  /// Captures a graph: work that `queue`, and queues that wait for its events,
  /// get until `endCapture` becomes part of the graph and does not run. All of
  /// them must be joined to it by then.
  virtual void beginCapture(Queue queue) = 0;
  virtual Graph endCapture(Queue queue) = 0;
  /// Drops what was captured, after an error: the queues work again.
  virtual void abandonCapture(Queue queue) noexcept = 0;
  virtual void launch(Graph graph, Queue queue) = 0;
  virtual void destroy(Graph graph) = 0;

  /// A range in a profile, around what the host queues; they nest.
  virtual void beginRange(const char *name) = 0;
  virtual void endRange() = 0;
};

/// Arrays of handles that go with their device.
class Events {
public:
  explicit Events(Device &device) : device(device) {}
  ~Events();
  Events(const Events &) = delete;
  Events &operator=(const Events &) = delete;
  /// An event that nobody has; `give` it back once its wait is queued.
  Device::Event take();
  void give(Device::Event event) { free.push_back(event); }

private:
  Device &device;
  std::vector<Device::Event> all, free;
};

/// The queues of a program's streams. Collectives' queues have high
/// priority: compute waits for their results.
class Queues {
public:
  explicit Queues(Device &device);
  ~Queues();
  Queues(const Queues &) = delete;
  Queues &operator=(const Queues &) = delete;
  Device::Queue operator[](Stream stream) const {
    return queues[static_cast<size_t>(stream)];
  }

private:
  Device &device;
  std::array<Device::Queue, kCountOf<Stream>> queues = {};
};

/// Pinned memory.
class Pinned {
public:
  Pinned(Device &device, size_t bytes)
      : device(device), address(device.allocatePinned(bytes)) {}
  ~Pinned() { device.releasePinned(address); }
  Pinned(const Pinned &) = delete;
  Pinned &operator=(const Pinned &) = delete;
  char *data() const { return static_cast<char *>(address); }

private:
  Device &device;
  void *address;
};

/// Pinned memory for arenas: kernels of the device reach it through the link.
class PinnedMemory final : public Memory {
public:
  explicit PinnedMemory(Device &device) : device(device) {}
  void *allocate(uint64_t bytes, const char *what) override;
  void release(void *address) override { device.releasePinned(address); }
  void write(void *to, const void *from, size_t bytes) override {
    device.write(to, from, bytes);
  }
  void read(void *to, const void *from, size_t bytes) override {
    device.read(to, from, bytes);
  }

private:
  Device &device;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_DEVICE_H
