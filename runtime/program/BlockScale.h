// The scale of a block of quantized elements, bitwise equal in kernels of all
// processors and in readers of saved weights.
#ifndef ZERO_RUNTIME_PROGRAM_BLOCKSCALE_H
#define ZERO_RUNTIME_PROGRAM_BLOCKSCALE_H

#include <cfloat>
#include <cstdint>
#include <cstring>

// A copy for each file: host kernels are compiled for several instruction sets.
#ifdef __CUDACC__
#define ZRT_SCALE static inline __host__ __device__
#else
#define ZRT_SCALE static inline
#endif

namespace zrt {

/// The bits of |x|: as integers in the order of |x|, with NaNs last.
ZRT_SCALE uint32_t magnitudeOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7fffffffu;
}

ZRT_SCALE float floatOfBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// The scale of a block whose largest magnitude has these bits, for integers of
/// at most `most`: NaN where that is NaN or infinite, so that what comes back
/// is NaN as well. Of others all comes back finite: where the rounded quotient
/// is too large, the one below.
ZRT_SCALE float scaleFor(uint32_t magnitude, int64_t most) {
  constexpr uint32_t kInfinity = 0x7f800000u, kNaN = 0x7fc00000u;
  if (magnitude >= kInfinity)
    return floatOfBits(kNaN);
  const float quotient = floatOfBits(magnitude) / float(most);
  const float scale = quotient > FLT_MIN ? quotient : FLT_MIN;
  return magnitudeOf(scale * float(most)) < kInfinity
             ? scale
             : floatOfBits(magnitudeOf(scale) - 1);
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_BLOCKSCALE_H
