// CUB's sort of pairs by keys: stable, with keys and values apart. The
// workspace is used, so that one that is too small, or lies wrongly, is seen.
#ifndef ZERO_TEST_DEVICE_BENCH_CUB_DEVICE_RADIX_SORT_CUH
#define ZERO_TEST_DEVICE_BENCH_CUB_DEVICE_RADIX_SORT_CUH

#include <cuda_runtime_api.h>

namespace cub {

struct DeviceRadixSort {
  /// With no `workspace`, only says how many bytes it wants.
  static cudaError_t SortPairs(void *workspace, size_t &bytes,
                               const int32_t *keys, int32_t *sortedKeys,
                               const int32_t *values, int32_t *sortedValues,
                               int count, int beginBit = 0, int endBit = 32,
                               cudaStream_t stream = nullptr);
};

} // namespace cub

#endif // ZERO_TEST_DEVICE_BENCH_CUB_DEVICE_RADIX_SORT_CUH
