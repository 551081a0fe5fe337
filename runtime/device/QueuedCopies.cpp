#include "device/QueuedCopies.h"

using namespace zrt;

void QueuedWork::start(uint32_t ticket, Stream stream, void *to,
                       const void *from, size_t bytes) {
  const Device::Queue queue = queues[stream];
  const Device::Event ready = events.take();
  device.record(ready, queues[Stream::Compute]);
  device.wait(queue, ready);
  events.give(ready);
  times.beginOn(queue);
  enqueue(queue, ticket, to, from, bytes);
  times.endOn(queue);
  Device::Event &done = pending[ticket];
  if (!done)
    done = events.take();
  device.record(done, queue);
}

void QueuedWork::forget() {
  for (const auto &[ticket, done] : pending)
    events.give(done);
  pending.clear();
}

void QueuedWork::wait(uint32_t ticket) {
  const auto found = pending.find(ticket);
  if (found == pending.end())
    return;
  device.wait(queues[Stream::Compute], found->second);
  events.give(found->second);
  pending.erase(found);
}
