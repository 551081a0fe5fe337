// What uniform numbers are of a generator's words, on hosts and devices.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_UNIFORMDRAWS_H
#define ZERO_RUNTIME_KERNELS_SHAPES_UNIFORMDRAWS_H

#include "program/DataType.h"

#include <cstdint>

#ifdef __CUDACC__
#define ZRT_ANYWHERE __host__ __device__
#else
#define ZRT_ANYWHERE
#endif

namespace zrt {

/// Binary digits of a float type, of which a draw makes at most 24.
constexpr int digitsOf(DataType type) {
  return type == DataType::BF16 ? 8 : type == DataType::F16 ? 11 : 24;
}

// A copy for each file: host kernels are compiled for several processors.

/// From 0 to below 1: the upper `bits` of the word, over 2^bits. A type with
/// that many digits has each of these numbers, and none is rounded to 1.
ZRT_ANYWHERE static inline float shareOf(uint32_t word, int bits) {
  return static_cast<float>(word >> (32 - bits)) /
         static_cast<float>(1u << bits);
}

/// From 0 to `below` - 1, each as likely as any other to within below / 2^32.
ZRT_ANYWHERE static inline int32_t integerOf(uint32_t word, uint32_t below) {
  return static_cast<int32_t>((static_cast<uint64_t>(word) * below) >> 32);
}

} // namespace zrt

#undef ZRT_ANYWHERE

#endif // ZERO_RUNTIME_KERNELS_SHAPES_UNIFORMDRAWS_H
