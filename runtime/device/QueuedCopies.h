// Copies between the host's and the device's memory, on queues of their own.
#ifndef ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H
#define ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H

#include "device/CommandTimes.h"

#include <map>

namespace zrt {

/// A start waits, on its stream, for what compute holds by then; a wait makes
/// compute wait for the copies. The host waits for neither.
class QueuedCopies final : public SideCopies {
public:
  /// All are borrowed.
  QueuedCopies(Device &device, const Queues &queues, CommandTimes &times)
      : device(device), queues(queues), times(times), events(device) {}

  void start(uint32_t ticket, Stream stream, void *to, const void *from,
             size_t bytes) override;
  void wait(uint32_t ticket) override;

private:
  Device &device;
  const Queues &queues;
  CommandTimes &times;
  Events events;
  /// By ticket: done with its last copy.
  std::map<uint32_t, Device::Event> pending;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_QUEUEDCOPIES_H
