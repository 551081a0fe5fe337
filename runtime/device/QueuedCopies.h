// Copies beside kernels, on queues of their own.
#ifndef ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H
#define ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H

#include "device/CommandTimes.h"

#include <map>

namespace zrt {

/// A start waits, on its stream, for what compute holds by then; a wait makes
/// compute wait for the copies. The host waits for neither.
class QueuedWork : public SideCopies {
public:
  /// All are borrowed.
  QueuedWork(Device &device, const Queues &queues, CommandTimes &times)
      : device(device), queues(queues), times(times), events(device) {}

  void start(uint32_t ticket, Stream stream, void *to, const void *from,
             size_t bytes) final;
  void wait(uint32_t ticket) final;
  void forget() final;

protected:
  /// Puts the copy itself into `queue`.
  virtual void enqueue(Device::Queue queue, uint32_t ticket, void *to,
                       const void *from, size_t bytes) = 0;

  Device &device;

private:
  const Queues &queues;
  CommandTimes &times;
  Events events;
  /// By ticket: done with its last copy.
  std::map<uint32_t, Device::Event> pending;
};

/// Between the host's pinned memory and the device's.
class QueuedCopies final : public QueuedWork {
public:
  using QueuedWork::QueuedWork;

private:
  void enqueue(Device::Queue queue, uint32_t, void *to, const void *from,
               size_t bytes) override {
    device.copy(to, from, bytes, queue);
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H
