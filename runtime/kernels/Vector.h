// Sixteen f32 lanes at a time, whatever the element type in memory: for all
// kernels of the host.
//
// Each function treats its lanes alike and spells out every fused multiply-add,
// so an element is bitwise equal in a whole vector and in a tail. Sums run in
// sixteen fixed lanes that are then added pairwise: their order follows from
// the row's length alone. Everything is inlined and nothing is taken from the
// standard library: files are compiled for different processors, and the linker
// must not choose one's copy for another.
#ifndef ZERO_RUNTIME_KERNELS_VECTOR_H
#define ZERO_RUNTIME_KERNELS_VECTOR_H

#include "program/Float16.h"

#include <cstring>

namespace zrt::host {

inline constexpr int kLanes = 16;

typedef float Vector __attribute__((ext_vector_type(16)));
typedef int32_t IntVector __attribute__((ext_vector_type(16)));
typedef uint32_t WordVector __attribute__((ext_vector_type(16)));
typedef uint16_t ShortVector __attribute__((ext_vector_type(16)));
typedef _Float16 HalfVector __attribute__((ext_vector_type(16)));

ZERO_INLINE Vector splat(float value) { return value; }

ZERO_INLINE WordVector wordsOf(Vector value) {
  return __builtin_bit_cast(WordVector, value);
}
ZERO_INLINE Vector vectorOf(WordVector bits) {
  return __builtin_bit_cast(Vector, bits);
}

/// a * b + c with one rounding.
ZERO_INLINE Vector fma(Vector a, Vector b, Vector c) {
  return __builtin_elementwise_fma(a, b, c);
}

/// `a` where a > b, else `b`; `b` where a lane is NaN.
ZERO_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

ZERO_INLINE Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
ZERO_INLINE Vector load(const BFloat16 *from) {
  ShortVector bits;
  std::memcpy(&bits, from, sizeof(bits));
  return vectorOf(__builtin_convertvector(bits, WordVector) << 16);
}
ZERO_INLINE Vector load(const Float16 *from) {
  HalfVector half;
  std::memcpy(&half, from, sizeof(half));
  return __builtin_convertvector(half, Vector);
}

ZERO_INLINE void store(float *to, Vector value) {
  std::memcpy(to, &value, sizeof(value));
}
/// The upper halves of `rounded`; quiet NaNs where `bits` are NaNs.
ZERO_INLINE WordVector upperHalves(WordVector rounded, WordVector bits) {
  WordVector quiet = bits | 0x400000u;
  return ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16;
}
/// The bits of `value` rounded to bf16.
ZERO_INLINE WordVector bfloat16Bits(Vector value) {
  WordVector bits = wordsOf(value);
  return upperHalves(bits + 0x7fffu + ((bits >> 16) & 1u), bits);
}
ZERO_INLINE void store(BFloat16 *to, Vector value) {
  ShortVector narrow =
      __builtin_convertvector(bfloat16Bits(value), ShortVector);
  std::memcpy(to, &narrow, sizeof(narrow));
}
ZERO_INLINE void store(Float16 *to, Vector value) {
  HalfVector half = __builtin_convertvector(value, HalfVector);
  std::memcpy(to, &half, sizeof(half));
}

/// The first `count` < 16 elements; the other lanes are `rest`.
template <typename T>
ZERO_INLINE Vector loadPart(const T *from, int64_t count, T rest = T{}) {
  T buffer[kLanes];
  for (T &element : buffer)
    element = rest;
  std::memcpy(buffer, from, count * sizeof(T));
  return load(buffer);
}
template <typename T>
ZERO_INLINE void storePart(T *to, Vector value, int64_t count) {
  T buffer[kLanes];
  store(buffer, value);
  std::memcpy(to, buffer, count * sizeof(T));
}

/// A position in a row: sixteen lanes, or fewer at its end.
struct Lanes {
  int64_t at;
  int64_t count;

  /// Lanes past the end are zero.
  template <typename T> ZERO_INLINE Vector load(const T *row) const {
    return count == kLanes ? host::load(row + at) : loadPart(row + at, count);
  }
  template <typename T> ZERO_INLINE void store(T *row, Vector value) const {
    count == kLanes ? host::store(row + at, value)
                    : storePart(row + at, value, count);
  }
  /// `value`, and `rest` in the lanes past the end.
  ZERO_INLINE Vector fill(Vector value, float rest) const {
    if (count != kLanes)
      for (int64_t i = count; i < kLanes; ++i)
        value[i] = rest;
    return value;
  }
};

/// Calls `body(lanes)` along elements [begin, end) of a row.
template <typename Body>
ZERO_INLINE void forEachVector(int64_t begin, int64_t end, Body body) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    body(Lanes{i, kLanes});
  if (i < end)
    body(Lanes{i, end - i});
}

/// Calls `body(lanes)` along a row of `count` elements.
template <typename Body>
ZERO_INLINE void forEachVector(int64_t count, Body body) {
  forEachVector(0, count, body);
}

/// The sum of the lanes, pairwise.
ZERO_INLINE float sumOf(Vector v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = kLanes / 2; width; width /= 2)
    for (int i = 0; i < width; ++i)
      lanes[i] += lanes[i + width];
  return lanes[0];
}

/// The largest lane; a NaN in any lane may be passed over.
ZERO_INLINE float maximumOf(Vector v) {
  float lanes[kLanes];
  store(lanes, v);
  for (int width = kLanes / 2; width; width /= 2)
    for (int i = 0; i < width; ++i)
      lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
  return lanes[0];
}

/// to[j * toStride + i] = from[i * fromStride + j] for i, j < 16.
ZERO_INLINE void transposeTile(const float *from, int64_t fromStride, float *to,
                               int64_t toStride) {
  Vector rows[kLanes], next[kLanes];
  for (int i = 0; i < kLanes; ++i)
    rows[i] = load(from + i * fromStride);
  // Interleaving row i with row i + 8, four times, brings each element home.
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < kLanes / 2; ++i) {
      next[2 * i] =
          __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3,
                                  19, 4, 20, 5, 21, 6, 22, 7, 23);
      next[2 * i + 1] =
          __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26,
                                  11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < kLanes; ++i)
      rows[i] = next[i];
  }
  for (int i = 0; i < kLanes; ++i)
    store(to + i * toStride, rows[i]);
}

/// e^x within 1.5 ulp; subnormal results, infinities and NaN as in <cmath>.
ZERO_INLINE Vector exponential(Vector x) {
  x = x < -104.0f ? splat(-104.0f) : x;
  x = x > 89.0f ? splat(89.0f) : x;
  // x = n ln 2 + r with |r| <= ln 2 / 2; adding 1.5 * 2^23 rounds to integer.
  const Vector shift = splat(12582912.0f);
  Vector shifted = fma(x, splat(1.44269504088896341f), shift);
  Vector n = shifted - shift;
  Vector r = fma(n, splat(-0.693145751953125f), x);
  r = fma(n, splat(-1.42860682030941723e-6f), r);
  Vector p = splat(1.9841270e-4f);
  p = fma(p, r, splat(1.3888889e-3f));
  p = fma(p, r, splat(8.3333333e-3f));
  p = fma(p, r, splat(4.1666667e-2f));
  p = fma(p, r, splat(1.6666667e-1f));
  p = fma(p, r, splat(0.5f));
  p = fma(p, r * r, r) + 1.0f;
  // 2^n in two factors, each a normal number.
  IntVector exponent = __builtin_bit_cast(IntVector, shifted) - 0x4b400000;
  IntVector half = exponent >> 1;
  IntVector first = (half + 127) << 23;
  IntVector second = (exponent - half + 127) << 23;
  return p * __builtin_bit_cast(Vector, first) *
         __builtin_bit_cast(Vector, second);
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_VECTOR_H
