// Rows that the threads of a block walk together, a vector a thread at a time
// and several loads under way.
//
// A vector begins where one of the whole tensor does. Rows whose width is no
// multiple of a vector so have a part of one at either end, whose elements are
// moved one by one, and whole vectors in between. Which elements are in one
// vector, and so the order of a sum, follows from the row's number and the
// width, and not from the tensor's address.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_WIDEROWS_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_WIDEROWS_CUH

#include "kernels/cuda/Wide.cuh"

namespace zrt::cuda {

/// Vectors of a row that a thread has under way at once.
inline constexpr int kInFlight = 4;

/// The first `width` columns of a row.
template <typename T> struct WideRow {
  int width;
  int begin;  ///< the column at which the first vector begins: 0 or below
  bool whole; ///< the tensor's address is aligned to vectors

  /// Of row `r` of a tensor whose rows have `stride` elements.
  static __device__ WideRow of(int64_t r, int64_t stride, int width,
                               bool whole) {
    return {width, -int(r * stride % kWide<T>), whole};
  }

  __device__ bool has(int column) const {
    return unsigned(column) < unsigned(width);
  }
  /// Whether the vector at column i has elements of this row alone.
  __device__ bool isFull(int i) const {
    return i >= 0 && i + kWide<T> <= width;
  }

  /// The vector at column i of `row`; elements that it has not are zero.
  __device__ __forceinline__ Wide<T> load(const T *row, int i) const {
    if (whole && isFull(i))
      return loadWide(row, i, kWide<T>, true);
    Wide<T> wide = {};
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      if (has(i + lane))
        wide.lanes[lane] = row[i + lane];
    return wide;
  }
  /// Rounds and stores those that the row has.
  __device__ __forceinline__ void store(T *row, int i,
                                        const float *from) const {
    if (whole && isFull(i))
      return storeWide(row, i, kWide<T>, true, from);
    const Wide<T> wide = roundWide<T>(from);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      if (has(i + lane))
        row[i + lane] = wide.lanes[lane];
  }

  /// Calls `body(i, vectors)` for this thread's vectors, which begin at columns
  /// i; `vectors` are those of `rows` there, loaded some iterations ahead.
  template <int count, typename Body>
  __device__ __forceinline__ void forEach(const T *const (&rows)[count],
                                          Body body) const {
    const int step = int(blockDim.x) * kWide<T>;
    for (int i = begin + int(threadIdx.x) * kWide<T>; i < width;
         i += kInFlight * step) {
      Wide<T> loaded[kInFlight][count];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
#pragma unroll
        for (int r = 0; r < count; ++r)
          loaded[k][r] = load(rows[r], i + k * step);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k)
        if (i + k * step < width)
          body(i + k * step, loaded[k]);
    }
  }

  /// Sets the columns to zero.
  __device__ __forceinline__ void clear(T *row) const {
    const float zeros[kWide<T>] = {};
    for (int i = begin + int(threadIdx.x) * kWide<T>; i < width;
         i += int(blockDim.x) * kWide<T>)
      store(row, i, zeros);
  }
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_WIDEROWS_CUH
