// Philox4x32-10 of sixteen counters at once (Salmon, Moraes, Dror and Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", 2011).
#ifndef ZERO_RUNTIME_KERNELS_HOST_PHILOX_H
#define ZERO_RUNTIME_KERNELS_HOST_PHILOX_H

#include "kernels/Vector.h"

namespace zrt::host {

typedef uint64_t LongVector __attribute__((vector_size(128)));

inline void philox(WordVector *x, uint64_t key) {
  uint32_t low = static_cast<uint32_t>(key);
  uint32_t high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    LongVector a = __builtin_convertvector(x[0], LongVector) * 0xD2511F53u;
    LongVector b = __builtin_convertvector(x[2], LongVector) * 0xCD9E8D57u;
    x[0] = __builtin_convertvector(b >> 32, WordVector) ^ x[1] ^ low;
    x[1] = __builtin_convertvector(b, WordVector);
    x[2] = __builtin_convertvector(a >> 32, WordVector) ^ x[3] ^ high;
    x[3] = __builtin_convertvector(a, WordVector);
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
  }
}

/// The words of the counters from {counter, id, sample low, sample high} on,
/// one a lane: words[j] holds those of elements 4 * (counter + lane) + j.
inline void drawWords(uint64_t seed, uint64_t sample, uint32_t id,
                      uint32_t counter, WordVector *words) {
  WordVector lanes;
  for (int lane = 0; lane < kLanes; ++lane)
    lanes[lane] = lane;
  words[0] = lanes + counter;
  words[1] = WordVector{} + id;
  words[2] = WordVector{} + static_cast<uint32_t>(sample);
  words[3] = WordVector{} + static_cast<uint32_t>(sample >> 32);
  philox(words, seed);
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_PHILOX_H
