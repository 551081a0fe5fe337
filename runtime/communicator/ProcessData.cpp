#include "communicator/ProcessData.h"

#include "communicator/Reduce.h"

#include <algorithm>
#include <cstring>

namespace zrt::processes {
namespace {

// Messages between two ranks with one tag arrive in order, and all ranks run
// the operations of a communicator in one order: no tag needs a number.
enum Tag { kSliceTag = 2, kResultTag = 3, kWholeTag = 4 };

/// MPI counts bytes in an int; smaller messages also show progress.
constexpr uint64_t kMessageBytes = 256u << 20;
/// Chunks of a reduction: together about this much, each within these bounds.
constexpr size_t kBufferBytes = 16 << 20;
constexpr size_t kLargestChunk = 1 << 20;
constexpr size_t kSmallestChunk = 64 << 10;
/// Bounds the requests of a chunk when parts are tiny.
constexpr size_t kSegmentsPerChunk = 64;
constexpr size_t kAlignment = 64;

size_t chunkBytesFor(int ranks) {
  size_t even =
      kBufferBytes / (2 * static_cast<size_t>(ranks)) / kAlignment * kAlignment;
  return std::clamp(even, kSmallestChunk, kLargestChunk);
}

const char *at(const void *base, uint64_t element, const Transfer &part) {
  return static_cast<const char *>(base) + element * sizeOf(part.type);
}
char *at(void *base, uint64_t element, const Transfer &part) {
  return static_cast<char *>(base) + element * sizeOf(part.type);
}

} // namespace

DataMover::DataMover(Wire &wire)
    : rank_(wire.rank()), ranks_(wire.ranks()),
      chunkBytes_(chunkBytesFor(ranks_)), sends(wire.makeRequests()),
      receives(wire.makeRequests()), sources_(ranks_) {}

void DataMover::send(const void *from, uint64_t bytes, int peer, int tag) {
  for (uint64_t begin = 0; begin < bytes; begin += kMessageBytes) {
    sends->send(static_cast<const char *>(from) + begin,
                std::min(kMessageBytes, bytes - begin), peer, tag);
    sendPeers.push_back(peer);
  }
}

void DataMover::receive(void *to, uint64_t bytes, int peer, int tag) {
  for (uint64_t begin = 0; begin < bytes; begin += kMessageBytes) {
    receives->receive(static_cast<char *>(to) + begin,
                      std::min(kMessageBytes, bytes - begin), peer, tag);
    receivePeers.push_back(peer);
  }
}

std::vector<int> DataMover::awaited() const {
  std::set<int> peers;
  for (size_t i = 0; i < sendPeers.size(); ++i)
    if (!sends->isComplete(i))
      peers.insert(sendPeers[i]);
  for (size_t i = 0; i < receivePeers.size(); ++i)
    if (!receives->isComplete(i))
      peers.insert(receivePeers[i]);
  return {peers.begin(), peers.end()};
}

void DataMover::begin(Collective kind, Reduction reduction,
                      const std::vector<Transfer> &parts) {
  kind_ = kind;
  reduction_ = reduction;
  parts_ = &parts;
  nextPart_ = 0;
  nextElement_ = 0;
  slot_ = 0;
  segments_[0].clear();
  segments_[1].clear();
  if (receivesFromEach(kind)) {
    beginGather();
  } else if (kind == Collective::Broadcast) {
    beginBroadcast();
  } else if (isReducing(kind) && !parts.empty()) {
    if (buffer_.empty()) {
      buffer_.resize(2 * ranks_ * chunkBytes_ + kAlignment);
      size_t misaligned =
          reinterpret_cast<uintptr_t>(buffer_.data()) % kAlignment;
      aligned_ = buffer_.data() + (kAlignment - misaligned) % kAlignment;
    }
    if (nextChunk(segments_[0]))
      exchange(segments_[0], 0);
  }
  progress();
}

bool DataMover::progress() {
  bool moved = false;
  while (!done()) {
    moved |= receives->poll();
    moved |= sends->poll();
    if (sends->active() + receives->active())
      return moved;
    receives->clear();
    sends->clear();
    receivePeers.clear();
    sendPeers.clear();
    step();
    moved = true;
  }
  return moved;
}

/// Everything that was posted has arrived: adds it up, and posts what is next.
void DataMover::step() {
  std::vector<Segment> &arrived = segments_[slot_];
  std::vector<Segment> &next = segments_[1 - slot_];
  next.clear();
  if (arrived.empty()) {
    parts_ = nullptr;
    return;
  }
  // First, so that peers can send while this rank adds.
  if (nextChunk(next))
    exchange(next, 1 - slot_);
  reduce(arrived, slot_);
  if (kind_ == Collective::AllReduce)
    publish(arrived);
  arrived.clear();
  slot_ = 1 - slot_;
}

void DataMover::cancel() {
  receives->cancel();
  receivePeers.clear();
  sends->cancel();
  sendPeers.clear();
  parts_ = nullptr;
}

/// Every rank sends the same to all, or its own part to each.
void DataMover::beginGather() {
  for (const Transfer &part : *parts_) {
    uint64_t bytes = part.count * sizeOf(part.type);
    auto partFor = [&](int rank) {
      return at(part.send, sendsToEach(kind_) ? rank * part.count : 0, part);
    };
    for (int distance = 1; distance < ranks_; ++distance) {
      int from = (rank_ + ranks_ - distance) % ranks_;
      receive(at(part.receive, from * part.count, part), bytes, from,
              kWholeTag);
    }
    for (int distance = 1; distance < ranks_; ++distance) {
      int to = (rank_ + distance) % ranks_;
      send(partFor(to), bytes, to, kWholeTag);
    }
    char *own = at(part.receive, rank_ * part.count, part);
    if (own != partFor(rank_) && bytes)
      std::memcpy(own, partFor(rank_), bytes);
  }
}

void DataMover::beginBroadcast() {
  for (const Transfer &part : *parts_) {
    uint64_t bytes = part.count * sizeOf(part.type);
    if (part.root != rank_) {
      receive(part.receive, bytes, part.root, kWholeTag);
      continue;
    }
    for (int distance = 1; distance < ranks_; ++distance)
      send(part.send, bytes, (rank_ + distance) % ranks_, kWholeTag);
    if (part.receive != part.send && bytes)
      std::memcpy(part.receive, part.send, bytes);
  }
}

/// Which elements of the send buffer `owner` reduces.
DataMover::Slice DataMover::sliceOf(const Transfer &part, int owner) const {
  const uint64_t index = static_cast<uint64_t>(owner),
                 n = static_cast<uint64_t>(ranks_);
  if (kind_ == Collective::ReduceScatter)
    return {index * part.count, part.count};
  if (kind_ == Collective::Reduce)
    return {0, owner == part.root ? part.count : 0};
  // All-reduce: the first owners have the elements that n does not divide.
  uint64_t each = part.count / n, rest = part.count % n;
  return {index * each + std::min(index, rest), each + (index < rest)};
}

/// The segment's elements in `owner`'s slice, as elements of the send buffer.
DataMover::Slice DataMover::clip(const Segment &segment, int owner) const {
  Slice slice = sliceOf((*parts_)[segment.part], owner);
  uint64_t begin = std::min(segment.begin, slice.count);
  uint64_t end = std::min(segment.begin + segment.count, slice.count);
  return {slice.begin + begin, end - begin};
}

/// Cuts the next chunk from the longest slices, so that all ranks cut alike.
bool DataMover::nextChunk(std::vector<Segment> &segments) {
  size_t offset = 0;
  while (nextPart_ < parts_->size() && segments.size() < kSegmentsPerChunk) {
    const Transfer &part = (*parts_)[nextPart_];
    int longest = kind_ == Collective::Reduce ? part.root : 0;
    uint64_t room = (chunkBytes_ - offset) / sizeOf(part.type);
    uint64_t left = sliceOf(part, longest).count - nextElement_;
    uint64_t count = std::min(room, left);
    if (count) {
      segments.push_back({nextPart_, nextElement_, count, offset});
      offset += (count * sizeOf(part.type) + kAlignment - 1) / kAlignment *
                kAlignment;
      nextElement_ += count;
    }
    if (count < left)
      break;
    ++nextPart_;
    nextElement_ = 0;
  }
  return !segments.empty();
}

/// Every owner's elements go to the owner.
void DataMover::exchange(const std::vector<Segment> &segments, int slot) {
  for (const Segment &segment : segments) {
    const Transfer &part = (*parts_)[segment.part];
    uint64_t bytes = clip(segment, rank_).count * sizeOf(part.type);
    for (int distance = 1; distance < ranks_; ++distance) {
      int from = (rank_ + ranks_ - distance) % ranks_;
      receive(chunk(slot, from) + segment.offset, bytes, from, kSliceTag);
    }
  }
  for (const Segment &segment : segments) {
    const Transfer &part = (*parts_)[segment.part];
    for (int distance = 1; distance < ranks_; ++distance) {
      int owner = (rank_ + distance) % ranks_;
      Slice slice = clip(segment, owner);
      send(at(part.send, slice.begin, part), slice.count * sizeOf(part.type),
           owner, kSliceTag);
    }
  }
}

void DataMover::reduce(const std::vector<Segment> &segments, int slot) {
  for (const Segment &segment : segments) {
    const Transfer &part = (*parts_)[segment.part];
    Slice slice = clip(segment, rank_);
    if (!slice.count)
      continue;
    for (int peer = 0; peer < ranks_; ++peer)
      sources_[peer] = peer == rank_ ? at(part.send, slice.begin, part)
                                     : chunk(slot, peer) + segment.offset;
    // A reduce-scatter's result is the slice alone.
    uint64_t place =
        kind_ == Collective::ReduceScatter ? segment.begin : slice.begin;
    reduceInOrder(reduction_, part.type, sources_.data(), ranks_,
                  at(part.receive, place, part), slice.count);
  }
}

/// Every owner's result goes to everyone.
void DataMover::publish(const std::vector<Segment> &segments) {
  for (const Segment &segment : segments) {
    const Transfer &part = (*parts_)[segment.part];
    for (int distance = 1; distance < ranks_; ++distance) {
      int from = (rank_ + ranks_ - distance) % ranks_;
      Slice slice = clip(segment, from);
      receive(at(part.receive, slice.begin, part),
              slice.count * sizeOf(part.type), from, kResultTag);
    }
  }
  for (const Segment &segment : segments) {
    const Transfer &part = (*parts_)[segment.part];
    Slice slice = clip(segment, rank_);
    for (int distance = 1; distance < ranks_; ++distance)
      send(at(part.receive, slice.begin, part), slice.count * sizeOf(part.type),
           (rank_ + distance) % ranks_, kResultTag);
  }
}

} // namespace zrt::processes
