// What the ranks of a communicator do together once all of them are there.
#ifndef ZERO_TEST_DEVICE_BENCH_MEETING_H
#define ZERO_TEST_DEVICE_BENCH_MEETING_H

#include "include/nccl.h"

#include <map>
#include <vector>

namespace zrt::bench {

/// A call that the ranks make together, as one rank made it.
struct Part {
  enum Kind {
    AllReduce,
    ReduceScatter,
    AllGather,
    Broadcast,
    Reduce,
    Send,
    Recv
  };
  Kind kind;
  const char *send;
  char *receive;
  size_t count;
  ncclDataType_t type;
  float factor;
  int root; ///< of a send or a receive, the other side
};

size_t bytesOf(ncclDataType_t type);

/// Does the calls of all ranks, by rank. Where they do not belong together,
/// notes that a device would hang.
void performAll(const std::map<int, std::vector<Part>> &calls);

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_MEETING_H
