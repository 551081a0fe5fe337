// When each command of an update ran on a device, by timing events.
#ifndef ZERO_RUNTIME_DEVICE_COMMANDTIMES_H
#define ZERO_RUNTIME_DEVICE_COMMANDTIMES_H

#include "device/Device.h"
#include "engine/Executor.h"

namespace zrt {

/// An event at the begin and one at the end of each command, on the queue that
/// runs it. Costs nothing while nobody asks.
class CommandTimes {
public:
  /// All are borrowed. Without a program no command copies beside kernels.
  CommandTimes(Device &device, const Queues &queues,
               const Program *program = nullptr)
      : device(device), queues(queues), program(program) {}
  ~CommandTimes();
  CommandTimes(const CommandTimes &) = delete;
  CommandTimes &operator=(const CommandTimes &) = delete;

  /// An empty one ends it.
  void setCommandHook(Executor::CommandHook replacement) {
    hook = std::move(replacement);
  }
  bool isOn() const { return static_cast<bool>(hook); }

  /// Times count from here; the device must have nothing to do.
  void beginUpdate();
  /// The executor's mark: before a command, and with null after it.
  void mark(const Command *command);
  /// Around what a collective, or a copy beside kernels, puts on `queue`.
  void beginOn(Device::Queue queue);
  void endOn(Device::Queue queue);
  /// Calls the hook for every command since `beginUpdate`, in order; all of
  /// them must be done.
  void report();

private:
  struct Row {
    const Command *command;
    Device::Event begin, end;
  };
  Device::Event take();
  bool isOnCompute(const Command &command) const;

  Device &device;
  const Queues &queues;
  const Program *program;
  Executor::CommandHook hook;
  std::vector<Device::Event> timers; ///< of all updates, used again
  size_t used = 0;
  std::vector<Row> rows;
  const Command *current = nullptr;
  Device::Event origin = nullptr;
  int64_t hostOrigin = 0; ///< on the steady clock, in nanoseconds
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_COMMANDTIMES_H
