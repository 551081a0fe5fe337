// Bounds of settings and of what kernels take, which the configuration, the
// dialect and the runtime each check.
#ifndef ZERO_RUNTIME_PROGRAM_BOUNDS_H
#define ZERO_RUNTIME_PROGRAM_BOUNDS_H

#include <cstdint>

namespace zrt {

/// Most ranks, most micro-batches of an update and most samples of a
/// micro-batch: they travel in 32 bits.
inline constexpr int64_t kMostCount = INT32_MAX;

/// Bytes of one read or write of a file of states: a multiple of the block of a
/// disk, and not too many for a call of the system.
inline constexpr int64_t kDiskBlock = 4096, kMostFileBlock = int64_t(1) << 30;
constexpr bool isFileBlock(int64_t bytes) {
  return bytes >= kDiskBlock && bytes % kDiskBlock == 0 &&
         bytes <= kMostFileBlock;
}

/// Most reads and writes of a rank that are in flight together.
inline constexpr int64_t kMostInFlight = 4096;

/// Most dimensions of what a kernel of a GPU moves or reduces.
inline constexpr int kMostDims = 8;

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_BOUNDS_H
