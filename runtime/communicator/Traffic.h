// What a collective costs in elements, for counters and reports.
#ifndef ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H
#define ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H

#include "program/Collective.h"

namespace zrt {

/// Elements that `rank` sends for one part, in units of 1/`ranks` of an
/// element: divide by `ranks` for elements. In this unit the figure is whole
/// and, for all but the rooted kinds, the same on every rank. It is that of
/// equal slices, so an all-reduce of a count that `ranks` does not divide
/// sends less than `ranks` elements more or fewer.
///
/// `count` is that of `Transfer`: the whole buffer of an all-reduce, broadcast
/// or reduce, one rank's part of a reduce-scatter or all-gather.
constexpr uint64_t sentElements(Collective kind, uint64_t count, int ranks,
                                int rank = 0, int root = 0) {
  const uint64_t n = static_cast<uint64_t>(ranks);
  if (isBetweenTwo(kind))
    return kind == Collective::Send ? n * count : 0;
  // The root alone sends, or all but the root do.
  if (kind == Collective::Broadcast)
    return rank == root ? n * (n - 1) * count : 0;
  if (kind == Collective::Reduce)
    return rank == root ? 0 : n * count;
  return (n - 1) * sentByGroup(kind, count, ranks);
}

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H
