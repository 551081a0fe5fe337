#include "data/Permutation.h"

using namespace zrt;

namespace {

/// Bits of each half of the Feistel network: the least for which both halves
/// together cover [0, count), so that the walk below takes 4 rounds at most on
/// average.
int halfBits(uint64_t count) {
  int bits = 1;
  while (bits < 32 && (count - 1) >> (2 * bits) != 0)
    ++bits;
  return bits;
}

constexpr int kRounds = 6;

} // namespace

uint64_t zrt::mixBits(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t zrt::permute(uint64_t index, uint64_t count, uint64_t key) {
  if (count < 2)
    return 0;
  const int bits = halfBits(count);
  const uint64_t mask = (uint64_t(1) << bits) - 1;
  uint64_t value = index;
  // A Feistel network permutes [0, 4^bits); walking its cycle until it is
  // inside again permutes [0, count).
  do {
    uint64_t left = value >> bits, right = value & mask;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t next =
          left ^ (mixBits(key + uint64_t(round), right) & mask);
      left = right;
      right = next;
    }
    value = (left << bits) | right;
  } while (value >= count);
  return value;
}
