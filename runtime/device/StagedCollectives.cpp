#include "device/StagedCollectives.h"

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

void LocalCollectives::enqueue(Stream, Device::Queue queue, Collective,
                               Reduction, const std::vector<Transfer> &parts) {
  for (const Transfer &part : parts)
    if (part.send != part.receive && part.count)
      device.copy(part.receive, part.send, part.count * sizeOf(part.type),
                  queue);
}
