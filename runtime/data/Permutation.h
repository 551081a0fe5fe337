// Counter-based randomness: every value is a function of its arguments.
#ifndef ZERO_RUNTIME_DATA_PERMUTATION_H
#define ZERO_RUNTIME_DATA_PERMUTATION_H

#include <cstdint>

namespace zrt {

/// 64 well mixed bits of `a` and `b` (SplitMix64's finaliser over both).
uint64_t mixBits(uint64_t a, uint64_t b);

/// The image of `index` under the pseudo-random permutation `key` of [0,
/// count). A bijection for each key; needs `index < count`.
uint64_t permute(uint64_t index, uint64_t count, uint64_t key);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_PERMUTATION_H
