// 16 bytes at a time: the most that one thread loads or stores at once, and
// what kernels that are bound by memory move.
//
// Which thread takes which elements, and so the order of a sum, follows from
// the shape alone: where an address is not aligned, the same elements are
// loaded one by one.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_WIDE_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_WIDE_CUH

#include "kernels/cuda/Device.cuh"

#include <cstring>

namespace zrt::cuda {

/// Elements in 16 bytes.
template <typename T>
inline constexpr int kWide = int(sizeof(uint4) / sizeof(T));

/// Neighbours that one thread moves at once.
template <typename T> struct alignas(sizeof(uint4)) Wide {
  T lanes[kWide<T>];
};

/// Whether all of `addresses` may be taken 16 bytes at a time.
template <typename... Addresses> bool areWide(Addresses... addresses) {
  return ((reinterpret_cast<uintptr_t>(addresses) | ...) % sizeof(uint4)) == 0;
}

/// The same of rows of `width` elements that begin there: null addresses are
/// of no buffer.
template <typename T, typename... Addresses>
bool haveWideRows(int64_t width, Addresses... addresses) {
  return width % kWide<T> == 0 && areWide(addresses...);
}

/// The width of rows, whose columns have numbers of 32 bits, those of a
/// thread's next vectors included.
inline int widthOf(int64_t width) {
  if (width > int64_t(1) << 30)
    throw std::invalid_argument("rows of " + std::to_string(width) +
                                " elements; a device takes at most 2^30");
  return int(width);
}

/// How many of the elements from `i` on are below `end`, at most a vector's.
template <typename T> __device__ inline int wideCount(int i, int end) {
  return end - i < kWide<T> ? end - i : kWide<T>;
}

/// Elements [i, i + count) of `from`; the others are zero. `whole`: the vector
/// at `i` is aligned.
template <typename T>
__device__ __forceinline__ Wide<T> loadWide(const T *from, int64_t i, int count,
                                            bool whole) {
  Wide<T> wide = {};
  if (whole && count == kWide<T>) {
    const uint4 words = *reinterpret_cast<const uint4 *>(from + i);
    memcpy(&wide, &words, sizeof(words));
    return wide;
  }
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane)
    if (lane < count)
      wide.lanes[lane] = from[i + lane];
  return wide;
}

template <typename T>
__device__ __forceinline__ void unpack(const Wide<T> &wide, float *to) {
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane)
    to[lane] = toFloat(wide.lanes[lane]);
}

/// Both at once.
template <typename T>
__device__ __forceinline__ void loadWide(const T *from, int64_t i, int count,
                                         bool whole, float *to) {
  unpack(loadWide(from, i, count, whole), to);
}

/// The 4 bytes at word `i`, put together in registers. Of the copy of a struct
/// the compiler makes several stores, so words are stored by name.
template <typename T>
__device__ __forceinline__ uint32_t wordOf(const Wide<T> &wide, int i) {
  if constexpr (sizeof(T) == 4) {
    return __float_as_uint(wide.lanes[i]);
  } else {
    uint16_t low, high;
    memcpy(&low, &wide.lanes[2 * i], sizeof(low));
    memcpy(&high, &wide.lanes[2 * i + 1], sizeof(high));
    return low | uint32_t(high) << 16;
  }
}

template <typename T>
__device__ __forceinline__ Wide<T> roundWide(const float *from) {
  Wide<T> wide;
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane)
    wide.lanes[lane] = fromFloat<T>(from[lane]);
  return wide;
}

/// Stores elements [i, i + count).
template <typename T>
__device__ __forceinline__ void storeWide(T *to, int64_t i, int count,
                                          bool whole, const Wide<T> &wide) {
  if (whole && count == kWide<T>) {
    uint4 words;
    words.x = wordOf(wide, 0);
    words.y = wordOf(wide, 1);
    words.z = wordOf(wide, 2);
    words.w = wordOf(wide, 3);
    __stwb(reinterpret_cast<uint4 *>(to + i), words);
    return;
  }
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane)
    if (lane < count)
      to[i + lane] = wide.lanes[lane];
}

/// Rounds and stores them.
template <typename T>
__device__ __forceinline__ void storeWide(T *to, int64_t i, int count,
                                          bool whole, const float *from) {
  storeWide(to, i, count, whole, roundWide<T>(from));
}

//===----------------------------------------------------------------------===//
// Several vectors: as many elements of every type
//===----------------------------------------------------------------------===//

/// Elements [i, i + count) of `lanes`, which are whole vectors.
template <int lanes, typename T>
__device__ __forceinline__ void loadLanes(const T *from, int64_t i, int count,
                                          bool whole, float *to) {
#pragma unroll
  for (int part = 0; part < lanes; part += kWide<T>)
    loadWide(from, i + part, wideCount<T>(part, count), whole, to + part);
}

template <int lanes, typename T>
__device__ __forceinline__ void storeLanes(T *to, int64_t i, int count,
                                           bool whole, const float *from) {
#pragma unroll
  for (int part = 0; part < lanes; part += kWide<T>)
    storeWide(to, i + part, wideCount<T>(part, count), whole, from + part);
}

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_WIDE_CUH
