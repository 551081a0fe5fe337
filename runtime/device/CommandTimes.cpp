#include "device/CommandTimes.h"

#include <chrono>

using namespace zrt;

/// Times of a collective and of a copy beside kernels are those of their own
/// queue, which whoever starts them knows; everything else is compute's.
bool CommandTimes::isOnCompute(const Command &command) const {
  if (command.opcode == Opcode::Kernel)
    return !program || bytesCopiedBeside(*program, command) == 0;
  return command.opcode == Opcode::Wait;
}

CommandTimes::~CommandTimes() {
  for (Device::Event timer : timers)
    device.destroy(timer);
}

Device::Event CommandTimes::take() {
  if (used == timers.size())
    timers.push_back(device.makeTimer());
  return timers[used++];
}

void CommandTimes::beginUpdate() {
  if (!isOn())
    return;
  used = 0;
  rows.clear();
  origin = take();
  // The event is done a little after this and before the host knows it, so no
  // command seems to end after the update that it is part of.
  hostOrigin = std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
                   .count();
  device.record(origin, queues[Stream::Compute]);
  device.synchronize(origin);
}

void CommandTimes::mark(const Command *command) {
  if (!isOn())
    return;
  if (command) {
    current = command;
    if (isOnCompute(*command))
      beginOn(queues[Stream::Compute]);
  } else if (current && isOnCompute(*current)) {
    endOn(queues[Stream::Compute]);
  }
}

void CommandTimes::beginOn(Device::Queue queue) {
  if (!isOn())
    return;
  rows.push_back({current, take(), nullptr});
  device.record(rows.back().begin, queue);
}

void CommandTimes::endOn(Device::Queue queue) {
  if (!isOn())
    return;
  rows.back().end = take();
  device.record(rows.back().end, queue);
}

void CommandTimes::report() {
  if (!isOn())
    return;
  const auto timeOf = [this](Device::Event event) {
    return hostOrigin + int64_t(device.elapsed(origin, event) * 1e9);
  };
  for (const Row &row : rows)
    hook(*row.command, timeOf(row.begin), timeOf(row.end));
}
