// The collectives of compiler and runtime.
#ifndef ZERO_RUNTIME_PROGRAM_COLLECTIVE_H
#define ZERO_RUNTIME_PROGRAM_COLLECTIVE_H

#include "program/Enums.h"

#include <cstdint>

namespace zrt {

/// The lanes of messages between two ranks: one for values, one for their
/// gradients.
constexpr uint32_t kLanes = 2;

/// 2^-ceil(log2 `ranks`), the factor of a prescaled sum: the largest power of
/// two with which no sum over `ranks` fp16 values overflows. Multiplying by it
/// is exact but for subnormals, before the sum as after it.
/// \pre ranks >= 1.
constexpr double prescaleOf(int64_t ranks) {
  double factor = 1;
  for (int64_t power = 1; power < ranks; power *= 2)
    factor /= 2;
  return factor;
}

constexpr bool isReducing(Collective kind) {
  return kind == Collective::AllReduce || kind == Collective::ReduceScatter ||
         kind == Collective::Reduce;
}
/// Whether one rank, the root, differs from the others.
constexpr bool isRooted(Collective kind) {
  return kind == Collective::Broadcast || kind == Collective::Reduce;
}

/// Whether two ranks meet, one that sends and one that receives, and no other
/// rank of the group takes part.
constexpr bool isBetweenTwo(Collective kind) {
  return kind == Collective::Send || kind == Collective::Receive;
}
/// Whether the buffer that a rank sends, or receives, has a part of `count`
/// elements for every rank.
constexpr bool sendsToEach(Collective kind) {
  return kind == Collective::ReduceScatter || kind == Collective::AllToAll;
}
constexpr bool receivesFromEach(Collective kind) {
  return kind == Collective::AllGather || kind == Collective::AllToAll;
}
/// Whether what is received may lie in the buffer that is sent.
constexpr bool worksInPlace(Collective kind) {
  return !sendsToEach(kind) || !receivesFromEach(kind);
}
/// Elements that the ranks of a group send together, divided by n - 1.
constexpr uint64_t sentByGroup(Collective kind, uint64_t count, int64_t ranks) {
  if (kind == Collective::AllReduce)
    return 2 * count;
  return sendsToEach(kind) || receivesFromEach(kind) ? count * ranks : count;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_COLLECTIVE_H
