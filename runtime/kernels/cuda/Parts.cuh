// Sums that are computed in parts, which are joined in order: the parts follow
// from the shape alone, so sums are bitwise equal in every run.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_PARTS_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_PARTS_CUH

#include "kernels/cuda/Device.cuh"

#include <cmath>

namespace zrt::cuda {

template <typename Join> __device__ inline float identityOf();
template <> __device__ inline float identityOf<Sum>() { return 0; }
template <> __device__ inline float identityOf<Largest>() { return -INFINITY; }

/// Loads that are under way at once.
inline constexpr int kLoads = 8;

/// Joins `load(t)` for t of begin, begin + step, ... below end: the i-th into
/// sum i % kLoads, and then the sums in order.
template <typename Join, typename Index, typename Load>
__device__ __forceinline__ float joinOf(Index begin, Index end, Index step,
                                        Load load) {
  float totals[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i)
    totals[i] = identityOf<Join>();
  Index t = begin;
  for (; t + (kLoads - 1) * step < end; t += kLoads * step) {
    float values[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      values[i] = load(t + Index(i) * step);
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      totals[i] = Join::join(totals[i], values[i]);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i)
    if (t + Index(i) * step < end)
      totals[i] = Join::join(totals[i], load(t + Index(i) * step));
  float total = totals[0];
#pragma unroll
  for (int i = 1; i < kLoads; ++i)
    total = Join::join(total, totals[i]);
  return total;
}

/// Columns of parts that a block joins, and the threads of a column.
inline constexpr int kJoined = 32, kSlices = 16;

/// Joins `parts` [count][columns] over `count`, in blocks of
/// dim3(kJoined, kSlices), and calls `store(column, total)`.
template <typename Join, typename Store>
__device__ __forceinline__ void joinParts(const float *parts, int count,
                                          int64_t columns, Store store) {
  __shared__ float slices[kSlices][kJoined];
  const int column = threadIdx.x, slice = threadIdx.y;
  // All threads of a block take the same rounds.
  for (int64_t base = int64_t(blockIdx.x) * kJoined; base < columns;
       base += int64_t(gridDim.x) * kJoined) {
    const int64_t i = base + column;
    if (i < columns)
      slices[slice][column] =
          joinOf<Join>(slice, count, kSlices, [=](int part) {
            return parts[int64_t(part) * columns + i];
          });
    __syncthreads();
    if (slice == 0 && i < columns) {
      float total = slices[0][column];
      for (int other = 1; other < kSlices; ++other)
        total = Join::join(total, slices[other][column]);
      store(i, total);
    }
    __syncthreads();
  }
}

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_PARTS_CUH
