// Rows of groups, whose offsets a device reads.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_GROUPOFFSETS_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_GROUPOFFSETS_CUH

#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/GroupedProducts.h"

namespace zrt::cuda {

// Rows [begin, end) of group `e`, the last of which is what no group has.
__device__ inline int64_t beginOf(const int32_t *offsets, int64_t e) {
  return e ? offsets[e - 1] : 0;
}
__device__ inline int64_t endOf(const GroupedShape &s, const int32_t *offsets,
                                int64_t e) {
  return e < s.groups ? offsets[e] : s.rows;
}

/// The first of a group's slots for tiles of `rows` rows, if each group has one
/// more than whole tiles fit before its end: as many as it may need, wherever
/// it begins.
__device__ inline int64_t slotOf(int64_t begin, int64_t e, int rows) {
  return begin / rows + e;
}

/// The group that has `slot`; the same in all threads, all of which call it.
/// -1, and a note in `control`, where any offsets do not cut the rows: then
/// groups might have rows in common.
__device__ inline int64_t groupOf(const GroupedShape &s, const int32_t *offsets,
                                  int64_t slot, int rows, Control *control) {
  // A wrong one counts more than the numbers of all groups together, and of
  // right ones one has the slot.
  constexpr int64_t wrong = int64_t(1) << 32;
  int64_t found = 0;
  for (int64_t e = threadIdx.x; e <= s.groups; e += blockDim.x) {
    const int64_t begin = beginOf(offsets, e), end = endOf(s, offsets, e);
    if (end < begin || end > s.rows)
      found += wrong;
    else if (slot >= slotOf(begin, e, rows) && slot <= slotOf(end, e, rows))
      found += e;
  }
  found = overBlock<Sum>(found, int64_t(0));
  if (found < wrong)
    return found;
  if (threadIdx.x == 0)
    atomicExch(&control->outOfRange, 1); // other blocks may do so too
  return -1;
}

/// Whether all offsets cut the rows, with the same note where they do not.
__device__ inline bool haveRows(const GroupedShape &s, const int32_t *offsets,
                                Control *control) {
  return groupOf(s, offsets, /*slot=*/-1, /*rows=*/1, control) >= 0;
}

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_GROUPOFFSETS_CUH
