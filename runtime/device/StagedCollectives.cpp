#include "device/StagedCollectives.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

using namespace zrt;

namespace {

constexpr size_t kAlignment = 64;

/// A part in pinned memory, in place wherever that is possible: `bytes` in all,
/// of which `part` from `own` on are this rank's. What is received begins
/// `apart` bytes behind what is sent.
struct Place {
  size_t begin = 0, bytes = 0, own = 0, part = 0, apart = 0;
};

Place placeOf(Collective kind, const Transfer &transfer, int rank, int ranks,
              size_t begin) {
  Place place;
  place.begin = begin;
  place.part = transfer.count * sizeOf(transfer.type);
  place.bytes = place.part;
  if (sendsToEach(kind) || receivesFromEach(kind)) {
    place.bytes = place.part * ranks;
    place.own = place.part * rank;
  }
  if (!worksInPlace(kind))
    place.apart = place.bytes;
  return place;
}

size_t endOf(const Place &place) {
  const size_t bytes = place.apart + place.bytes;
  return (place.begin + bytes + kAlignment - 1) / kAlignment * kAlignment;
}

} // namespace

StagedCollectives::StagedCollectives(Device &device, Communicator &host)
    : device(device), host(host) {}

StagedCollectives::StagedCollectives(Device &device,
                                     std::unique_ptr<Communicator> group)
    : device(device), owned(std::move(group)), host(*owned) {}

std::unique_ptr<CollectiveQueue> StagedCollectives::makeGroup(const Mesh &mesh,
                                                              uint32_t group) {
  return std::unique_ptr<CollectiveQueue>(
      new StagedCollectives(device, host.makeGroup(mesh, group)));
}

void StagedCollectives::admit(Collective, Reduction,
                              const std::vector<Transfer> &) const {}

char *StagedCollectives::reserve(size_t bytes) {
  if (bytes > size) {
    memory.reset();
    memory = std::make_unique<Pinned>(device, bytes);
    size = bytes;
  }
  return memory ? memory->data() : nullptr;
}

void StagedCollectives::enqueue(Stream, Device::Queue queue, Collective kind,
                                Reduction reduction,
                                const std::vector<Transfer> &parts) {
  std::vector<Place> places;
  size_t bytes = 0;
  for (const Transfer &part : parts) {
    places.push_back(placeOf(kind, part, rank(), ranks(), bytes));
    bytes = endOf(places.back());
  }
  char *base = reserve(bytes);
  std::vector<Transfer> transfers = parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Place &place = places[i];
    char *all = base + place.begin;
    const bool gathers = receivesFromEach(kind) && !sendsToEach(kind);
    const bool scatters = sendsToEach(kind) && !receivesFromEach(kind);
    device.copy(gathers ? all + place.own : all, parts[i].send,
                gathers ? place.part : place.bytes, queue);
    transfers[i].send = gathers ? all + place.own : all;
    transfers[i].receive = all + (scatters ? place.own : place.apart);
  }
  device.synchronize(queue);
  host.run(kind, reduction, transfers);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (kind == Collective::Reduce && parts[i].root != rank())
      continue;
    const bool scatters = sendsToEach(kind) && !receivesFromEach(kind);
    device.copy(parts[i].receive, transfers[i].receive,
                scatters ? places[i].part : places[i].bytes, queue);
  }
  device.synchronize(queue);
}

/// Memory for a message of `bytes`: that of a finished one, if one had as many.
StagedCollectives::Message &StagedCollectives::beginMessage(size_t bytes) {
  auto found = std::find_if(
      messages.begin(), messages.end(), [&](const Message &message) {
        return !message.isRunning && message.bytes >= bytes;
      });
  if (found == messages.end()) {
    messages.emplace_back();
    found = std::prev(messages.end());
    found->memory = std::make_unique<Pinned>(device, bytes);
    found->bytes = bytes;
  }
  found->isRunning = true;
  return *found;
}

uint64_t StagedCollectives::enqueueMessage(Device::Queue queue, Collective kind,
                                           const Transfer &message) {
  const size_t bytes = message.count * sizeOf(message.type);
  Message &begun = beginMessage(bytes);
  begun.queue = queue;
  begun.transfer = message;
  begun.isSend = kind == Collective::Send;
  Transfer staged = message;
  staged.send = staged.receive = begun.memory->data();
  if (begun.isSend) {
    device.copy(begun.memory->data(), message.send, bytes, queue);
    device.synchronize(queue);
  }
  begun.ticket = host.start(kind, Reduction::Sum, {staged});
  return uint64_t(&begun - messages.data());
}

/// What is received is on the device when this returns: compute waits for what
/// the queue held when the message was begun.
void StagedCollectives::finishMessage(uint64_t number) {
  Message &message = messages[number];
  host.wait(message.ticket);
  if (!message.isSend) {
    device.copy(message.transfer.receive, message.memory->data(),
                message.transfer.count * sizeOf(message.transfer.type),
                message.queue);
    device.synchronize(message.queue);
  }
  message.isRunning = false;
}

uint64_t LocalCollectives::enqueueMessage(Device::Queue, Collective kind,
                                          const Transfer &) {
  throw std::logic_error(std::string(nameOf(kind)) + " of a rank alone");
}

void LocalCollectives::enqueue(Stream, Device::Queue queue, Collective,
                               Reduction, const std::vector<Transfer> &parts) {
  for (const Transfer &part : parts)
    if (part.send != part.receive && part.count)
      device.copy(part.receive, part.send, part.count * sizeOf(part.type),
                  queue);
}
