#include "communicator/ProcessMail.h"

#include <algorithm>
#include <set>

namespace zrt::processes {
namespace {

constexpr int kFirstTag = 5; ///< two of each lane, behind those of data
int headerTag(const Transfer &transfer) {
  return kFirstTag + 2 * int(transfer.lane);
}
int bytesTag(const Transfer &transfer) { return headerTag(transfer) + 1; }
constexpr uint64_t kMessageBytes = uint64_t(1) << 30; ///< MPI counts by int

} // namespace

void Mail::start(uint64_t ticket, bool isSend, const Transfer &transfer) {
  started_.push_back(std::make_unique<Started>());
  Started &started = *started_.back();
  started.ticket = ticket;
  started.isSend = isSend;
  started.peer = transfer.root;
  started.transfer = transfer;
  started.headers = wire.makeRequests();
  started.bytes = wire.makeRequests();
  if (!isSend)
    return started.headers->receive(&started.header, sizeof(Header),
                                    started.peer, headerTag(transfer));
  started.header = {transfer.count, uint64_t(transfer.type)};
  started.headers->send(&started.header, sizeof(Header), started.peer,
                        headerTag(transfer));
  moveBytes(started);
}

void Mail::moveBytes(Started &started) {
  started.hasBytes = true;
  const Transfer &transfer = started.transfer;
  const uint64_t all = transfer.count * sizeOf(transfer.type);
  for (uint64_t begin = 0; begin < all; begin += kMessageBytes) {
    const uint64_t size = std::min(kMessageBytes, all - begin);
    if (started.isSend)
      started.bytes->send(static_cast<const char *>(transfer.send) + begin,
                          size, started.peer, bytesTag(transfer));
    else
      started.bytes->receive(static_cast<char *>(transfer.receive) + begin,
                             size, started.peer, bytesTag(transfer));
  }
}

/// Bytes of several messages of one rank and lane arrive in the order in which
/// their receives are made.
bool Mail::progress(std::string &error) {
  bool moved = false;
  std::set<std::pair<int, uint32_t>> blocked;
  for (auto &entry : started_) {
    Started &started = *entry;
    moved |= started.headers->poll();
    moved |= started.bytes->poll();
    if (started.hasBytes)
      continue;
    const std::pair lane(started.peer, started.transfer.lane);
    if (started.headers->active() || blocked.count(lane)) {
      blocked.insert(lane);
      continue;
    }
    if (started.header.count != started.transfer.count ||
        started.header.type != uint64_t(started.transfer.type)) {
      error = describe(started.ticket) + ": the other rank sends " +
              std::to_string(started.header.count) + " x " +
              (started.header.type < uint64_t(kCountOf<DataType>)
                   ? nameOf(kCasesOf<DataType>[started.header.type])
                   : "an unknown type");
      return moved;
    }
    moveBytes(started);
    moved = true;
  }
  return moved;
}

Mail::Started *Mail::find(uint64_t ticket) const {
  for (const auto &started : started_)
    if (started->ticket == ticket)
      return started.get();
  return nullptr;
}

bool Mail::isDone(uint64_t ticket) const {
  const Started &started = *find(ticket);
  return started.hasBytes && !started.headers->active() &&
         !started.bytes->active();
}

void Mail::forget(uint64_t ticket) {
  started_.erase(
      std::find_if(started_.begin(), started_.end(), [&](const auto &started) {
        return started->ticket == ticket;
      }));
}

std::string Mail::describe(uint64_t ticket) const {
  const Started &started = *find(ticket);
  return std::string(started.isSend ? "a send of " : "a receive of ") +
         std::to_string(started.transfer.count) + " x " +
         nameOf(started.transfer.type) + (started.isSend ? " to" : " from") +
         " rank " + std::to_string(started.peer);
}

void Mail::cancel() {
  for (auto &started : started_)
    for (Requests *requests : {started->headers.get(), started->bytes.get()})
      requests->cancel();
  started_.clear();
}

} // namespace zrt::processes
