// Sixteen lanes at a time, in clang's vector types.
//
// Included only by Loops.cpp, which is compiled for the host's instruction
// set: everything here is static and nothing is taken from the standard
// library, so that the linker cannot choose this code for another file.
//
// The last, partial vector of a range runs the same code on a zero-filled
// copy. An element's bits hence do not depend on where its range begins or
// ends.
#ifndef ZERO_RUNTIME_KERNELS_OPTIMIZER_VECTOR_H
#define ZERO_RUNTIME_KERNELS_OPTIMIZER_VECTOR_H

#include "program/DataType.h"

#include <stdint.h>

#define ZRT_INLINE static inline __attribute__((always_inline))
#define ZRT_INLINE_BODY __attribute__((always_inline))

namespace {

constexpr int kLanes = 16;

typedef float F32x16 __attribute__((ext_vector_type(16)));
typedef double F64x16 __attribute__((ext_vector_type(16)));
typedef uint32_t U32x16 __attribute__((ext_vector_type(16)));
typedef uint64_t U64x16 __attribute__((ext_vector_type(16)));
typedef int32_t I32x16 __attribute__((ext_vector_type(16)));
typedef uint16_t U16x16 __attribute__((ext_vector_type(16)));
typedef _Float16 F16x16 __attribute__((ext_vector_type(16)));

template <typename To, typename From> ZRT_INLINE To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  return __builtin_bit_cast(To, from);
}

/// The first `count` of sixteen elements at `from`; the others are zero.
template <typename V, typename T>
ZRT_INLINE V loadLanes(const T *from, int count) {
  V value = {};
  __builtin_memcpy(&value, from, count * sizeof(T));
  return value;
}

template <typename V, typename T>
ZRT_INLINE void storeLanes(T *to, V value, int count) {
  __builtin_memcpy(to, &value, count * sizeof(T));
}

/// Lanes that are NaN, as all-ones.
ZRT_INLINE I32x16 isNan(U32x16 bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

ZRT_INLINE U16x16 highHalf(U32x16 rounded, U32x16 original) {
  U32x16 quiet = original | 0x400000u;
  return __builtin_convertvector((isNan(original) ? quiet : rounded) >> 16,
                                 U16x16);
}

/// How each type goes to f32 and back. `fromMaster` is the rounding of a
/// parameter that follows an f32 master, `fromF32` that of everything else.
struct LaneF32 {
  using Element = float;
  ZRT_INLINE_BODY static F32x16 load(const void *from, int64_t i, int count) {
    return loadLanes<F32x16>(static_cast<const float *>(from) + i, count);
  }
  ZRT_INLINE_BODY static void store(void *to, int64_t i, F32x16 value,
                                    int count) {
    storeLanes(static_cast<float *>(to) + i, value, count);
  }
  ZRT_INLINE_BODY static void storeMaster(void *to, int64_t i, F32x16 value,
                                          int count) {
    store(to, i, value, count);
  }
};

struct LaneBf16 {
  using Element = uint16_t;
  ZRT_INLINE_BODY static F32x16 load(const void *from, int64_t i, int count) {
    U16x16 half =
        loadLanes<U16x16>(static_cast<const uint16_t *>(from) + i, count);
    return bitCast<F32x16>(__builtin_convertvector(half, U32x16) << 16);
  }
  /// Nearest, ties to even.
  ZRT_INLINE_BODY static void store(void *to, int64_t i, F32x16 value,
                                    int count) {
    U32x16 bits = bitCast<U32x16>(value);
    U32x16 rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    storeLanes(static_cast<uint16_t *>(to) + i, highHalf(rounded, bits), count);
  }
  /// Nearest, ties away from zero.
  ZRT_INLINE_BODY static void storeMaster(void *to, int64_t i, F32x16 value,
                                          int count) {
    U32x16 bits = bitCast<U32x16>(value);
    storeLanes(static_cast<uint16_t *>(to) + i, highHalf(bits + 0x8000u, bits),
               count);
  }
};

struct LaneF16 {
  using Element = uint16_t;
  ZRT_INLINE_BODY static F32x16 load(const void *from, int64_t i, int count) {
    F16x16 half =
        loadLanes<F16x16>(static_cast<const _Float16 *>(from) + i, count);
    return __builtin_convertvector(half, F32x16);
  }
  ZRT_INLINE_BODY static void store(void *to, int64_t i, F32x16 value,
                                    int count) {
    storeLanes(static_cast<_Float16 *>(to) + i,
               __builtin_convertvector(value, F16x16), count);
  }
  ZRT_INLINE_BODY static void storeMaster(void *to, int64_t i, F32x16 value,
                                          int count) {
    store(to, i, value, count);
  }
};

/// Calls `body(lane)` with the lane type of `type`, one of the three that
/// gradients and parameters have.
template <typename Body>
ZRT_INLINE void withLane(zrt::DataType type, Body body) {
  switch (type) {
  case zrt::DataType::BF16:
    return body(LaneBf16{});
  case zrt::DataType::F16:
    return body(LaneF16{});
  default:
    return body(LaneF32{});
  }
}

/// Calls `body(i, count)` for each vector that begins in [begin, end).
template <typename Body>
ZRT_INLINE void forEachVector(int64_t begin, int64_t end, Body body) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    body(i, kLanes);
  if (i < end)
    body(i, static_cast<int>(end - i));
}

} // namespace

#endif // ZERO_RUNTIME_KERNELS_OPTIMIZER_VECTOR_H
