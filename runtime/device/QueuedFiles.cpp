#include "device/QueuedFiles.h"

#include "engine/Executor.h"

using namespace zrt;

void QueuedFiles::Transfer::run() noexcept {
  {
    std::lock_guard<std::mutex> lock(owner->mutex);
    if (!owner->failure.empty())
      return;
  }
  try {
    if (writes)
      owner->files.startRead(ticket, to, from, bytes);
    else
      owner->files.startWrite(ticket, to, from, bytes);
    owner->files.wait(ticket);
  } catch (const std::exception &error) {
    std::lock_guard<std::mutex> lock(owner->mutex);
    if (owner->failure.empty())
      owner->failure = command + ": " + error.what();
  }
}

void QueuedFiles::enqueue(Device::Queue queue, uint32_t ticket, void *to,
                          const void *from, size_t bytes) {
  Transfer &call = calls[{ticket, to, from}];
  call.owner = this;
  call.ticket = ticket;
  call.to = to;
  call.from = from;
  call.bytes = bytes;
  call.command = Executor::describeRunning();
  call.writes = files.holds(from);
  call.memory = call.writes ? to : const_cast<void *>(from);
  device.callHost(call, queue);
}

void QueuedFiles::check() {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failure.empty())
    throw FileError(failure);
}
