#include "device/Device.h"

#include <cstring>
#include <stdexcept>

using namespace zrt;

HostCall::~HostCall() = default;

void *PinnedMemory::allocate(uint64_t bytes, const char *what) {
  try {
    return std::memset(device.allocatePinned(bytes), 0, bytes);
  } catch (const std::exception &error) {
    throw std::runtime_error(std::string(what) + ": cannot have " +
                             std::to_string(bytes) +
                             " bytes of pinned memory: " + error.what());
  }
}

Events::~Events() {
  for (Device::Event event : all)
    device.destroy(event);
}

Device::Event Events::take() {
  if (free.empty()) {
    all.push_back(device.makeEvent());
    return all.back();
  }
  const Device::Event event = free.back();
  free.pop_back();
  return event;
}

Queues::Queues(Device &device) : device(device) {
  for (Stream stream : kCasesOf<Stream>)
    queues[static_cast<size_t>(stream)] =
        device.makeQueue(stream != Stream::Compute);
}

Queues::~Queues() {
  for (Device::Queue queue : queues)
    if (queue)
      device.destroy(queue);
}
