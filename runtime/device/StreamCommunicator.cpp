#include "device/StreamCommunicator.h"

#include <utility>

using namespace zrt;

CollectiveQueue::~CollectiveQueue() = default;

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

void StreamCommunicator::enqueue(Stream stream, Collective kind,
                                 Reduction reduction,
                                 const std::vector<Transfer> &parts) {
  times.beginOn(queues[stream]);
  library.enqueue(stream, queues[stream], kind, reduction, parts);
  times.endOn(queues[stream]);
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
    pending.push_back(nullptr);
  }
  const Ticket ticket = freeTickets.back();
  freeTickets.pop_back();
  const Device::Queue queue = queues[stream];
  if (stream == Stream::Compute) {
    enqueue(stream, kind, reduction, parts);
    return ticket;
  }
  const Device::Event ready = events.take(), done = events.take();
  device.record(ready, queues[Stream::Compute]);
  device.wait(queue, ready);
  events.give(ready);
  enqueue(stream, kind, reduction, parts);
  device.record(done, queue);
  pending[ticket] = done;
  return ticket;
}

void StreamCommunicator::wait(Ticket ticket) {
  if (const Device::Event done = pending[ticket]) {
    device.wait(queues[Stream::Compute], done);
    events.give(done);
    pending[ticket] = nullptr;
  }
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
