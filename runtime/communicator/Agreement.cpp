#include "communicator/Agreement.h"

#include <algorithm>
#include <numeric>

using namespace zrt;
using namespace zrt::processes;

static constexpr int kAgreementTag = 1;

Agreement::Agreement(Wire &wire)
    : rank(wire.rank()), ranks(wire.ranks()), sends(wire.makeRequests()),
      receives(wire.makeRequests()) {
  if (ranks > kEachOther) {
    for (int distance = 1; distance < ranks; distance *= 2)
      rounds.push_back({distance});
  } else if (ranks > 1) {
    rounds.emplace_back(ranks - 1);
    std::iota(rounds.back().begin(), rounds.back().end(), 1);
  }
  told.resize(rounds.size());
  size_t count = 0;
  for (const std::vector<int> &distances : rounds)
    count += distances.size();
  heard.resize(count);
}

void Agreement::Knowledge::add(const Started &started) {
  if (started.rank < 0)
    return;
  const Started before = first;
  if (first.rank < 0 || started.rank < first.rank)
    first = started;
  // The other one is the first of those that are left.
  Started next;
  for (const Started &each : {before, other, started})
    if (each.rank >= 0 && each.what != first.what &&
        (next.rank < 0 || each.rank < next.rank))
      next = each;
  other = next;
}

void Agreement::begin(const OperationSignature &mine) {
  sends->clear();
  receives->clear();
  known = {};
  known.add({rank, mine});
  round = firstReceive = 0;
  size_t index = 0;
  for (const std::vector<int> &distances : rounds)
    for (int distance : distances)
      receives->receive(&heard[index++], sizeof(Knowledge),
                        peerBefore(distance), kAgreementTag);
  if (!isKnown())
    tell();
}

/// Sends what is known at the begin of the round.
void Agreement::tell() {
  told[round] = known;
  for (int distance : rounds[round])
    sends->send(&told[round], sizeof(Knowledge), peerAfter(distance),
                kAgreementTag);
}

bool Agreement::progress(bool haveAgreedBefore) {
  bool moved = receives->poll();
  moved |= sends->poll();
  while (!isKnown()) {
    const size_t end = firstReceive + rounds[round].size();
    for (size_t index = firstReceive; index < end; ++index)
      if (!receives->isComplete(index))
        return moved;
    if (round + 1 < rounds.size() && !haveAgreedBefore)
      return moved;
    for (; firstReceive < end; ++firstReceive) {
      known.add(heard[firstReceive].first);
      known.add(heard[firstReceive].other);
    }
    moved = true;
    ++round;
    if (!isKnown())
      tell();
  }
  return moved;
}

std::string Agreement::describeDifference() const {
  return known.other.rank < 0
             ? ""
             : describeMismatch(known.first.what, known.first.rank,
                                known.other.what, known.other.rank);
}

std::vector<int> Agreement::awaited() const {
  std::vector<int> peers;
  visitAwaited([&](int peer) { peers.push_back(peer); });
  std::sort(peers.begin(), peers.end());
  return peers;
}

bool Agreement::speaks() const {
  if (!awaitsStarts() || rounds.size() > 1)
    return awaitsStarts();
  for (size_t i = 0; i < rounds[0].size(); ++i)
    if (peerBefore(rounds[0][i]) < rank && receives->isComplete(i))
      return false;
  return true;
}

void Agreement::cancel() {
  receives->cancel();
  sends->cancel();
}
