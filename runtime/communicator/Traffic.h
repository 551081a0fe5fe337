// What a collective costs in elements, for counters and reports.
#ifndef ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H
#define ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H

#include "communicator/Communicator.h"

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
  switch (kind) {
  case Collective::AllReduce: // every slice to its owner, the own one to all
    return 2 * (n - 1) * count;
  case Collective::ReduceScatter:
  case Collective::AllGather:
    return n * (n - 1) * count;
  case Collective::Broadcast:
    return rank == root ? n * (n - 1) * count : 0;
  case Collective::Reduce:
    return rank == root ? 0 : n * count;
  }
  return 0;
}

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_TRAFFIC_H
