// The two 16-bit floating-point types and their conversions.
//
// Every conversion to 16 bits rounds to nearest, ties to even, in one step;
// a NaN stays a NaN. The bulk forms give the bits of the scalar ones.
#ifndef ZERO_RUNTIME_PROGRAM_FLOAT16_H
#define ZERO_RUNTIME_PROGRAM_FLOAT16_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt {

/// bfloat16: the upper half of an f32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE binary16.
struct Float16 {
  uint16_t bits;
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2,
              "16-bit types are stored as they are in files and messages");

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline float toFloat(float value) { return value; }

inline float toFloat(BFloat16 value) {
  return floatOf(static_cast<uint32_t>(value.bits) << 16);
}

inline float toFloat(Float16 value) {
  _Float16 half;
  std::memcpy(&half, &value.bits, sizeof(half));
  return static_cast<float>(half);
}

/// `value` as a T: float, BFloat16 or Float16.
template <typename T> T fromFloat(float value);

template <> inline float fromFloat<float>(float value) { return value; }

template <> inline BFloat16 fromFloat<BFloat16>(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
  return BFloat16{static_cast<uint16_t>(isNaN ? quiet : rounded)};
}

template <> inline Float16 fromFloat<Float16>(float value) {
  _Float16 half = static_cast<_Float16>(value);
  Float16 result;
  std::memcpy(&result.bits, &half, sizeof(half));
  return result;
}

/// to[i] = from[i] for `count` elements; the ranges do not overlap.
template <typename T>
inline void convertToFloat(const T *from, float *to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = toFloat(from[i]);
}

/// to[i] = from[i], rounded, for `count` elements; no overlap.
template <typename T>
inline void convertFromFloat(const float *from, T *to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = fromFloat<T>(from[i]);
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_FLOAT16_H
