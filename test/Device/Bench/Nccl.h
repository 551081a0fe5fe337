// What tests ask of the model of NCCL, besides its own calls.
#ifndef ZERO_TEST_DEVICE_BENCH_NCCL_MODEL_H
#define ZERO_TEST_DEVICE_BENCH_NCCL_MODEL_H

#include "include/nccl.h"

#include <cstdint>

namespace zrt::bench {

/// Groups that this thread has begun and not ended.
int openGroups();

/// What this thread has launched: calls of a group on one communicator and
/// stream are one launch.
int64_t countCollectives();

/// What becomes of the windows of a rank.
enum class Windows { Come, Fail, NeverCome };
void setWindows(int rank, Windows windows);

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_NCCL_MODEL_H
