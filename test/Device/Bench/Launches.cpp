// What the bench launches: kernels that the host's compiler compiled, and a
// sort.
#include "Runtime.h"

#include "Block.h"

#include "include/cub/device/device_radix_sort.cuh"
#include "include/cuda_runtime.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

using namespace zrt::bench;

void Launch::queue(std::shared_ptr<const Code> code) const {
  const Extent blocks{grid.x, grid.y, grid.z},
      threads{block.x, block.y, block.z};
  queueAtOnce(stream, [=, bytes = sharedBytes] {
    noteLaunch();
    runGrid(blocks, threads, bytes, *code);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  *properties = {"model of a device", 8, 0, kMultiprocessors};
  return cudaSuccess;
}

cudaError_t cub::DeviceRadixSort::SortPairs(
    void *workspace, size_t &bytes, const int32_t *keys, int32_t *sortedKeys,
    const int32_t *values, int32_t *sortedValues, int count, int beginBit,
    int endBit, cudaStream_t stream) {
  // An odd number, which CUB asks for as well: 1 for a short list.
  const size_t wanted = size_t(count) * 2 * sizeof(int32_t) + 513;
  if (!workspace) {
    bytes = wanted;
    return cudaSuccess;
  }
  const size_t list = size_t(count) * sizeof(int32_t);
  for (const void *each :
       {static_cast<const void *>(keys), static_cast<const void *>(sortedKeys),
        static_cast<const void *>(values),
        static_cast<const void *>(sortedValues)})
    if (!isAllocated(each, list))
      return failed(cudaErrorInvalidValue);
  if (bytes < wanted || !isAllocated(workspace, wanted) || beginBit != 0 ||
      endBit != 32)
    return failed(cudaErrorInvalidValue);
  queueAtOnce(stream, [=] {
    std::memset(workspace, 0xcd, wanted);
    std::vector<int> order(size_t(count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
    });
    for (int i = 0; i < count; ++i) {
      sortedKeys[i] = keys[order[size_t(i)]];
      sortedValues[i] = values[order[size_t(i)]];
    }
  });
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *, const void *, void *, void *,
                                unsigned, void *, void *, unsigned) {
  return failed(cudaErrorSymbolNotFound);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
