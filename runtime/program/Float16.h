// The 16-bit floats as bits, and their conversions to and from f32.
//
// Every conversion to 16 bits rounds to nearest, ties to even, keeps
// subnormals and infinities, and makes NaNs quiet. The bits do not depend on
// the machine: hardware conversion is used only where it gives the same ones.
#ifndef ZERO_RUNTIME_PROGRAM_FLOAT16_H
#define ZERO_RUNTIME_PROGRAM_FLOAT16_H

#include <cstddef>
#include <cstdint>
#include <cstring>

// Inlined always: translation units are compiled for different processors, and
// the linker must not choose one's copy for another.
#define ZERO_INLINE inline __attribute__((always_inline))

namespace zrt {

ZERO_INLINE uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

ZERO_INLINE float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// bf16 to f32; exact.
ZERO_INLINE float bf16ToF32(uint16_t value) {
  return floatOf(uint32_t(value) << 16);
}

/// f32 to bf16, nearest even.
ZERO_INLINE uint16_t f32ToBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet
                                                                  : rounded);
}

/// f16 to f32 by integer arithmetic; exact, and without branches, so that
/// loops of it vectorise on every processor.
ZERO_INLINE float f16ToF32Portable(uint16_t value) {
  uint32_t sign = uint32_t(value & 0x8000u) << 16;
  uint32_t magnitude = uint32_t(value & 0x7fffu) << 13;
  uint32_t exponent = magnitude & 0x0f800000u;
  uint32_t normal = magnitude + 0x38000000u;
  uint32_t nan = magnitude > 0x0f800000u ? 0x400000u : 0;
  uint32_t infinite = (magnitude + 0x70000000u) | nan;
  // A subnormal is the fraction below 2^-14: subtract that from a normal one.
  uint32_t subnormal =
      bitsOf(floatOf(magnitude + 0x38800000u) - floatOf(0x38800000u));
  uint32_t result = exponent == 0x0f800000u ? infinite
                    : exponent == 0         ? subnormal
                                            : normal;
  return floatOf(result | sign);
}

/// f32 to f16 by integer arithmetic, nearest even; without branches.
ZERO_INLINE uint16_t f32ToF16Portable(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t normal =
      (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Adding 0.5 moves a subnormal's last bit to the f32's; the adder rounds.
  uint32_t subnormal = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  uint32_t result = magnitude > 0x7f800000u    ? nan
                    : magnitude >= 0x47800000u ? 0x7c00u
                                               : finite;
  return static_cast<uint16_t>(result | sign);
}

#if defined(__FLT16_MAX__)
/// The processor's own conversions: for code compiled for F16C or better.
ZERO_INLINE float f16ToF32Native(uint16_t value) {
  _Float16 half;
  std::memcpy(&half, &value, sizeof(half));
  return static_cast<float>(half);
}

ZERO_INLINE uint16_t f32ToF16Native(float value) {
  _Float16 half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}
#endif

/// f16 to f32; exact.
ZERO_INLINE float f16ToF32(uint16_t value) {
#if defined(__F16C__) && defined(__FLT16_MAX__)
  return f16ToF32Native(value);
#else
  return f16ToF32Portable(value);
#endif
}

/// f32 to f16, nearest even.
ZERO_INLINE uint16_t f32ToF16(float value) {
#if defined(__F16C__) && defined(__FLT16_MAX__)
  return f32ToF16Native(value);
#else
  return f32ToF16Portable(value);
#endif
}

/// bfloat16, as it is in memory, files and messages: the upper half of an f32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE binary16, as it is in memory, files and messages.
struct Float16 {
  uint16_t bits;
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2,
              "16-bit types are stored as they are in files and messages");

ZERO_INLINE float toFloat(float value) { return value; }
ZERO_INLINE float toFloat(BFloat16 value) { return bf16ToF32(value.bits); }
ZERO_INLINE float toFloat(Float16 value) { return f16ToF32(value.bits); }

/// `value` as a T: float, BFloat16 or Float16.
template <typename T> T fromFloat(float value);
template <> ZERO_INLINE float fromFloat<float>(float value) { return value; }
template <> ZERO_INLINE BFloat16 fromFloat<BFloat16>(float value) {
  return BFloat16{f32ToBf16(value)};
}
template <> ZERO_INLINE Float16 fromFloat<Float16>(float value) {
  return Float16{f32ToF16(value)};
}

/// to[i] = from[i] for `count` elements, with the widest vectors that this
/// processor has; the ranges do not overlap.
void convertToFloat(const float *from, float *to, size_t count);
void convertToFloat(const BFloat16 *from, float *to, size_t count);
void convertToFloat(const Float16 *from, float *to, size_t count);

/// to[i] = from[i], rounded, for `count` elements; no overlap.
void convertFromFloat(const float *from, float *to, size_t count);
void convertFromFloat(const float *from, BFloat16 *to, size_t count);
void convertFromFloat(const float *from, Float16 *to, size_t count);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_FLOAT16_H
