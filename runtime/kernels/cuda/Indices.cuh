// What device code shares about positions: where keys lie among sorted ones,
// and the words that numbers are drawn from.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_INDICES_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_INDICES_CUH

#include "kernels/cuda/Launchers.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace zrt::cuda {

/// The first place in sorted `ids` that holds `value` or more.
__device__ inline int64_t lowerBound(const int32_t *ids, int64_t count,
                                     int64_t value) {
  int64_t begin = 0;
  while (count > 0) {
    const int64_t half = count / 2;
    if (ids[begin + half] < value) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return begin;
}

/// Philox4x32-10, bitwise equal to the host's.
__device__ inline void philox(uint32_t *x, uint64_t key) {
  uint32_t low = uint32_t(key), high = uint32_t(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(0xD2511F53u) * x[0];
    const uint64_t b = uint64_t(0xCD9E8D57u) * x[2];
    x[0] = uint32_t(b >> 32) ^ x[1] ^ low;
    x[1] = uint32_t(b);
    x[2] = uint32_t(a >> 32) ^ x[3] ^ high;
    x[3] = uint32_t(a);
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
}

constexpr int kWords = 4; // of a counter

/// The global number of the micro-batch's first sample.
__device__ inline uint64_t firstSampleOf(const Draws &draws) {
  return (draws.control->batch * draws.ranks + draws.rank) * draws.samples;
}

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_INDICES_CUH
