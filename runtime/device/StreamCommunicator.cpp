#include "device/StreamCommunicator.h"

#include "program/Collective.h"

#include <utility>

using namespace zrt;

CollectiveQueue::~CollectiveQueue() = default;

void CollectiveQueue::finishMessage(uint64_t) {}

StreamCommunicator::StreamCommunicator(Device &device, const Queues &queues,
                                       CollectiveQueue &library,
                                       CommandTimes &times)
    : device(device), queues(queues), library(library), times(times),
      events(device) {}

StreamCommunicator::StreamCommunicator(const StreamCommunicator &parent,
                                       std::unique_ptr<CollectiveQueue> group)
    : device(parent.device), queues(parent.queues), owned(std::move(group)),
      library(*owned), times(parent.times), events(parent.device) {}

std::unique_ptr<Communicator> StreamCommunicator::makeGroup(const Mesh &mesh,
                                                            uint32_t group) {
  return std::unique_ptr<Communicator>(
      new StreamCommunicator(*this, library.makeGroup(mesh, group)));
}

StreamCommunicator::~StreamCommunicator() {
  for (const auto &[way, queue] : ways)
    device.destroy(queue);
}

Device::Queue StreamCommunicator::queueFor(Stream stream, Collective kind,
                                           const std::vector<Transfer> &parts) {
  if (!isBetweenTwo(kind))
    return queues[library.queueOf(stream)];
  Device::Queue &queue =
      ways[{parts.front().root, kind == Collective::Send, parts.front().lane}];
  if (!queue)
    queue = device.makeQueue(/*highPriority=*/true);
  return queue;
}

void StreamCommunicator::enqueue(Stream stream, Device::Queue queue,
                                 Collective kind, Reduction reduction,
                                 const std::vector<Transfer> &parts,
                                 Pending &operation) {
  times.beginOn(queue);
  if (isBetweenTwo(kind))
    operation.message = library.enqueueMessage(queue, kind, parts.front());
  else
    library.enqueue(stream, queue, kind, reduction, parts);
  times.endOn(queue);
}

Communicator::Ticket
StreamCommunicator::start(Collective kind, Reduction reduction,
                          const std::vector<Transfer> &parts) {
  return startOn(Stream::Compute, kind, reduction, parts);
}

Communicator::Ticket
StreamCommunicator::startOn(Stream stream, Collective kind, Reduction reduction,
                            const std::vector<Transfer> &parts) {
  if (freeTickets.empty()) {
    freeTickets.push_back(pending.size());
    pending.emplace_back();
  }
  const Ticket ticket = freeTickets.back();
  freeTickets.pop_back();
  const Device::Queue queue = queueFor(stream, kind, parts);
  Pending &operation = pending[ticket];
  if (queue == queues[Stream::Compute]) {
    enqueue(stream, queue, kind, reduction, parts, operation);
    return ticket;
  }
  const Device::Event ready = events.take(), done = events.take();
  device.record(ready, queues[Stream::Compute]);
  device.wait(queue, ready);
  events.give(ready);
  enqueue(stream, queue, kind, reduction, parts, operation);
  device.record(done, queue);
  operation.done = done;
  return ticket;
}

void StreamCommunicator::wait(Ticket ticket) {
  const Pending operation = std::exchange(pending[ticket], {});
  if (operation.message)
    library.finishMessage(*operation.message);
  if (operation.done) {
    device.wait(queues[Stream::Compute], operation.done);
    events.give(operation.done);
  }
  freeTickets.push_back(ticket);
}

void StreamCommunicator::forget(Ticket ticket) {
  const Pending operation = std::exchange(pending[ticket], {});
  if (operation.done)
    events.give(operation.done);
  freeTickets.push_back(ticket);
}

void StreamCommunicator::admit(Collective kind, Reduction reduction,
                               const std::vector<Transfer> &parts) const {
  library.admit(kind, reduction, parts);
}

void StreamCommunicator::abort(const std::string &) { library.abort(); }

void StreamCommunicator::barrier() {
  throw std::logic_error("a device's communicator has no barrier");
}

std::unique_ptr<Communicator> StreamCommunicator::split(int, int) {
  throw std::logic_error("a device's communicator is not split");
}
