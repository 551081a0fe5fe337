// Tokens, positions, masks.
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

/// A block copies rows, in words of `Word`.
template <typename Word>
__global__ void embeddingKernel(const int32_t *ids, int64_t tokens,
                                const Word *table, int64_t entries,
                                int64_t words, Word *to, Control *control) {
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const int32_t id = ids[t];
    const bool known = id >= 0 && id < entries;
    if (!known && threadIdx.x == 0)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    for (int64_t i = threadIdx.x; i < words; i += blockDim.x)
      to[t * words + i] = known ? table[id * words + i] : Word();
  }
}

__global__ void numberKernel(int32_t *numbers, int64_t count) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    numbers[i] = int32_t(i);
}

/// A block adds up the tokens of a row of the table, in token order.
template <typename T>
__global__ void embeddingGradKernel(const T *dy, const int32_t *ids,
                                    const int32_t *order, int64_t tokens,
                                    int64_t firstRow, int64_t entries,
                                    int64_t width, const T *init, T *to) {
  __shared__ int64_t begin, end;
  for (int64_t v = blockIdx.x; v < entries; v += gridDim.x) {
    if (threadIdx.x == 0) {
      begin = lowerBound(ids, tokens, firstRow + v);
      end = lowerBound(ids, tokens, firstRow + v + 1);
    }
    __syncthreads();
    for (int64_t c = threadIdx.x; c < width; c += blockDim.x) {
      float sum = init ? toFloat(init[v * width + c]) : 0.0f;
      for (int64_t i = begin; i < end; ++i)
        sum += toFloat(dy[order[i] * width + c]);
      to[v * width + c] = fromFloat<T>(sum);
    }
    __syncthreads();
  }
}

constexpr size_t padded(size_t bytes) { return (bytes + 255) / 256 * 256; }

void checkSort(cudaError_t status) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string("sorting ids: ") +
                             cudaGetErrorString(status));
}

size_t sortBytes(int64_t tokens) {
  size_t bytes = 0;
  const int32_t *in = nullptr;
  int32_t *out = nullptr;
  checkSort(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out,
                                            int(tokens)));
  return bytes;
}

//===----------------------------------------------------------------------===//
// Rotary and dropout
//===----------------------------------------------------------------------===//

template <typename T>
__global__ void rotaryKernel(const T *x, T *y, int64_t rows, int64_t positions,
                             int64_t heads, int64_t pairs, bool interleaved,
                             const float *cosines, const float *sines) {
  const int64_t total = rows * heads * pairs;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t pair = i % pairs, head = i / pairs;
    const int64_t position = head / heads % positions;
    const int64_t first = head * 2 * pairs + (interleaved ? 2 * pair : pair);
    const int64_t second = first + (interleaved ? 1 : pairs);
    const float c = cosines[position * pairs + pair];
    const float s = sines[position * pairs + pair];
    const float a = toFloat(x[first]), b = toFloat(x[second]);
    y[first] = fromFloat<T>(fmaf(a, c, -(b * s)));
    y[second] = fromFloat<T>(fmaf(a, s, b * c));
  }
}

/// A thread makes the four elements of a counter.
template <typename T> __global__ void dropoutKernel(DropoutArguments a) {
  const T *x = static_cast<const T *>(a.x);
  T *y = static_cast<T *>(a.y);
  const uint64_t firstSample =
      (a.control->batch * a.ranks + a.rank) * a.samples;
  const bool identity = a.control->evaluating != 0;
  const uint64_t seed = a.control->seed;
  const int64_t counters = (a.elements + 3) / 4;
  const int64_t total = a.samples * counters;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t sample = i / counters, counter = i % counters;
    const uint64_t global = firstSample + sample;
    uint32_t words[4] = {uint32_t(counter), a.id, uint32_t(global),
                         uint32_t(global >> 32)};
    philox(words, seed);
#pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      const int64_t element = counter * 4 + lane;
      if (element >= a.elements)
        break;
      const int64_t at = sample * a.elements + element;
      if (identity)
        y[at] = x[at];
      else // A dropped element is 0 even where it is infinite.
        y[at] = fromFloat<T>(
            words[lane] >= a.threshold ? toFloat(x[at]) * a.scale : 0.0f);
    }
  }
}

} // namespace

void zrt::cuda::embedding(const int32_t *ids, int64_t tokens, const void *table,
                          int64_t entries, int64_t rowBytes, void *to,
                          Control *control, cudaStream_t stream) {
  if (tokens == 0)
    return;
  auto run = [&](auto word) {
    using Word = decltype(word);
    embeddingKernel<<<blocksFor(tokens, 1), 128, 0, stream>>>(
        ids, tokens, static_cast<const Word *>(table), entries,
        rowBytes / int64_t(sizeof(Word)), static_cast<Word *>(to), control);
  };
  const uint64_t common = reinterpret_cast<uintptr_t>(table) |
                          reinterpret_cast<uintptr_t>(to) | uint64_t(rowBytes);
  if (common % sizeof(uint4) == 0)
    run(uint4());
  else if (common % 4 == 0)
    run(uint32_t());
  else if (common % 2 == 0)
    run(uint16_t());
  else
    run(uint8_t());
  checkLaunch("embedding");
}

size_t zrt::cuda::stableOrderWorkspace(int64_t count) {
  return 3 * padded(count * sizeof(int32_t)) + sortBytes(count);
}

StableOrder zrt::cuda::stableOrder(const int32_t *keys, int64_t count,
                                   void *workspace, cudaStream_t stream) {
  char *memory = static_cast<char *>(workspace);
  const size_t list = padded(count * sizeof(int32_t));
  auto *numbers = reinterpret_cast<int32_t *>(memory);
  auto *sorted = reinterpret_cast<int32_t *>(memory + list);
  auto *order = reinterpret_cast<int32_t *>(memory + 2 * list);
  if (count) {
    numberKernel<<<blocksFor(count, kThreads), kThreads, 0, stream>>>(numbers,
                                                                      count);
    // The sort is stable: equal keys stay in order.
    size_t bytes = sortBytes(count);
    checkSort(cub::DeviceRadixSort::SortPairs(memory + 3 * list, bytes, keys,
                                              sorted, numbers, order,
                                              int(count), 0, 32, stream));
  }
  return {sorted, order};
}

size_t zrt::cuda::embeddingGradWorkspace(int64_t tokens) {
  return stableOrderWorkspace(tokens);
}

void zrt::cuda::embeddingGrad(DataType type, const void *dy, const int32_t *ids,
                              int64_t tokens, int64_t firstRow, int64_t entries,
                              int64_t width, const void *init, void *to,
                              void *workspace, cudaStream_t stream) {
  if (entries * width == 0)
    return;
  const StableOrder tokensOf = stableOrder(ids, tokens, workspace, stream);
  withType(type, [&](auto element) {
    using T = decltype(element);
    embeddingGradKernel<<<blocksFor(entries, 1), 128, 0, stream>>>(
        static_cast<const T *>(dy), tokensOf.keys, tokensOf.order, tokens,
        firstRow, entries, width, static_cast<const T *>(init),
        static_cast<T *>(to));
  });
  checkLaunch("embedding_grad");
}

void zrt::cuda::rotary(DataType type, bool interleaved, const void *x, void *y,
                       int64_t rows, int64_t positions, int64_t heads,
                       int64_t pairs, const float *cosines, const float *sines,
                       cudaStream_t stream) {
  const int64_t total = rows * heads * pairs;
  if (total == 0)
    return;
  withType(type, [&](auto element) {
    using T = decltype(element);
    rotaryKernel<<<blocksFor(total, kThreads), kThreads, 0, stream>>>(
        static_cast<const T *>(x), static_cast<T *>(y), rows, positions, heads,
        pairs, interleaved, cosines, sines);
  });
  checkLaunch("rotary");
}

void zrt::cuda::dropout(const DropoutArguments &arguments,
                        cudaStream_t stream) {
  const int64_t total = arguments.samples * ((arguments.elements + 3) / 4);
  if (total == 0)
    return;
  withType(arguments.type, [&](auto element) {
    dropoutKernel<decltype(element)>
        <<<blocksFor(total, kThreads), kThreads, 0, stream>>>(arguments);
  });
  checkLaunch("dropout");
}
