// Tokens, positions, masks.
#include "kernels/cuda/Indices.cuh"
#include "kernels/cuda/Wide.cuh"

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
                                EmbeddingTable table, int64_t words, Word *to,
                                Control *control) {
  const Word *rows = static_cast<const Word *>(table.rowsAt);
  const int64_t first = table.first ? *table.first : 0;
  for (int64_t t = blockIdx.x; t < tokens; t += gridDim.x) {
    const int32_t id = ids[t];
    const int64_t row = id - first;
    const bool known = id >= 0 && id < table.entries;
    const bool isHere = known && row >= 0 && row < table.rows;
    if (!known && threadIdx.x == 0)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    for (int64_t i = threadIdx.x; i < words; i += blockDim.x)
      to[t * words + i] = isHere ? rows[row * words + i] : Word();
  }
}

__global__ void numberKernel(int32_t *numbers, int64_t count) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    numbers[i] = int32_t(i);
}

/// Tokens that one block adds, in order. Rows with more are cut into chunks,
/// from their first token on, which other blocks take and one joins: however
/// often a token occurs, no block adds more than these. A warp looks at as
/// many.
constexpr int kChunk = 32;
/// Threads of a row, and of the rows that join chunks.
constexpr int kRowThreads = 128, kJoinColumns = 32, kJoinRows = 8;
/// Loads under way at once.
constexpr int kTokensAtOnce = 4;

/// The tokens of rows [firstRow, firstRow + entries) behind `first`, sorted by
/// id.
struct SortedTokens {
  const int32_t *ids, *order;
  int64_t count, firstRow, entries;
  const int32_t *first; ///< null: 0

  __device__ int64_t rowOf(int32_t id) const {
    return id - firstRow - (first ? *first : 0);
  }
  __device__ bool isHere(int32_t id) const {
    const int64_t row = rowOf(id);
    return row >= 0 && row < entries;
  }
  __device__ bool isFirst(int64_t i) const {
    return i == 0 || ids[i - 1] != ids[i];
  }
  /// Whether the row of token `i` has another one, a whole chunk further.
  __device__ bool goesOn(int64_t i) const {
    return i + kChunk < count && ids[i + kChunk] == ids[i];
  }
  /// Whether a chunk begins at token `i`.
  __device__ bool beginsChunk(int64_t i) const {
    if (isFirst(i))
      return true;
    if (i < kChunk || ids[i - kChunk] != ids[i])
      return false;
    return (i - lowerBound(ids, i, ids[i])) % kChunk == 0;
  }
  /// Tokens of the row of token `i` from there on, up to `most`.
  __device__ int64_t countFrom(int64_t i, int64_t most) const {
    const int64_t rest = count - i < most ? count - i : most;
    return lowerBound(ids + i, rest, int64_t(ids[i]) + 1);
  }
};

/// Where chunks that are not alone put their sums: rows of whole vectors. Of
/// `kChunk` tokens in a row, at most one begins a row that has several chunks,
/// and at most one a later chunk of such a row.
struct ChunkSums {
  float *sums;
  int64_t stride;

  __host__ __device__ static int64_t strideOf(int64_t width) {
    return (width + 7) / 8 * 8;
  }
  static int64_t rowsFor(int64_t tokens) {
    return 2 * ((tokens + kChunk - 1) / kChunk);
  }
  __device__ float *rowOf(int64_t token, bool isFirst) const {
    return sums + (2 * (token / kChunk) + (isFirst ? 1 : 0)) * stride;
  }
};

/// A block looks at sorted tokens, and adds the chunks that begin there. A row
/// of the table with one chunk is then done.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    embeddingChunkKernel(SortedTokens tokens, int width, bool whole,
                         const T *dy, const T *init, T *to, ChunkSums chunks) {
  for (int64_t i = blockIdx.x; i < tokens.count; i += gridDim.x) {
    const int32_t id = tokens.ids[i];
    if (!tokens.isHere(id) || !tokens.beginsChunk(i))
      continue;
    const int count = int(tokens.countFrom(i, kChunk));
    const bool isFirst = tokens.isFirst(i);
    const bool isAlone = isFirst && !tokens.goesOn(i);
    const int32_t *order = tokens.order + i;
    const int64_t row = tokens.rowOf(id) * width;
    for (int c = int(threadIdx.x) * kWide<T>; c < width;
         c += kRowThreads * kWide<T>) {
      const int lanes = wideCount<T>(c, width);
      float sum[kWide<T>] = {};
      if (isAlone && init)
        loadWide(init + row, c, lanes, whole, sum);
      for (int t = 0; t < count; t += kTokensAtOnce) {
        Wide<T> loaded[kTokensAtOnce];
#pragma unroll
        for (int k = 0; k < kTokensAtOnce; ++k)
          if (t + k < count)
            loaded[k] =
                loadWide(dy + int64_t(order[t + k]) * width, c, lanes, whole);
#pragma unroll
        for (int k = 0; k < kTokensAtOnce; ++k)
          if (t + k < count)
#pragma unroll
            for (int lane = 0; lane < kWide<T>; ++lane)
              sum[lane] += toFloat(loaded[k].lanes[lane]);
      }
      if (isAlone)
        storeWide(to + row, c, lanes, whole, sum);
      else
#pragma unroll
        for (int part = 0; part < kWide<T>; part += kWide<float>)
          storeWide(chunks.rowOf(i, isFirst), c + part, kWide<float>, true,
                    sum + part);
    }
  }
}

/// Joins the chunks of the row that begins among tokens
/// [kChunk * blockIdx.x, ...) and has several, of which there is one at most.
template <typename T>
__global__ void __launch_bounds__(kJoinColumns *kJoinRows)
    embeddingJoinKernel(SortedTokens tokens, int width, const T *init, T *to,
                        ChunkSums chunks) {
  constexpr int lanes = kWide<float>;
  __shared__ int64_t begin;
  __shared__ float totals[kJoinRows][lanes][kJoinColumns];
  if (threadIdx.x == 0 && threadIdx.y == 0)
    begin = -1;
  __syncthreads();
  const int64_t mine = int64_t(blockIdx.x) * kChunk + threadIdx.x;
  if (threadIdx.y == 0 && mine < tokens.count &&
      tokens.isHere(tokens.ids[mine]) && tokens.isFirst(mine) &&
      tokens.goesOn(mine))
    begin = mine;
  __syncthreads();
  if (begin < 0)
    return;
  const int64_t first = begin;
  const int count =
      int((tokens.countFrom(first, tokens.count) + kChunk - 1) / kChunk);
  const int64_t row = tokens.rowOf(tokens.ids[first]) * width;
  const int c = int(blockIdx.y * kJoinColumns + threadIdx.x) * lanes;
  float total[lanes] = {};
  if (c < width)
#pragma unroll 4
    for (int k = int(threadIdx.y); k < count; k += kJoinRows) {
      float part[lanes];
      loadWide(chunks.rowOf(first + int64_t(k) * kChunk, k == 0), c, lanes,
               true, part);
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane)
        total[lane] += part[lane];
    }
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane)
    totals[threadIdx.y][lane][threadIdx.x] = total[lane];
  __syncthreads();
  for (int lane = int(threadIdx.y); lane < lanes && c + lane < width;
       lane += kJoinRows) {
    float sum = init ? toFloat(init[row + c + lane]) : 0.0f;
    for (int k = 0; k < kJoinRows; ++k)
      sum += totals[k][lane][threadIdx.x];
    to[row + c + lane] = fromFloat<T>(sum);
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

/// A thread turns as many pairs of a head as a vector has elements. They are
/// two vectors: of first and of second elements, or of neighbours.
template <typename T, bool interleaved>
__global__ void __launch_bounds__(kThreads)
    rotaryKernel(RotaryArguments a, int pairs, bool whole) {
  const T *x = static_cast<const T *>(a.x);
  T *y = static_cast<T *>(a.y);
  constexpr int lanes = kWide<T>;
  const int vectors = (pairs + lanes - 1) / lanes;
  const int64_t total = a.batches * a.positions * a.heads * vectors;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t head = i / vectors, token = head / a.heads;
    const int64_t b = token / a.positions, t = token % a.positions,
                  h = head % a.heads;
    const int pair = int(i % vectors) * lanes;
    const int count = wideCount<T>(pair, pairs);
    const int64_t angle = t * pairs + pair;
    float c[lanes], s[lanes], values[2 * lanes], turned[2 * lanes];
    loadLanes<lanes>(a.cosines, angle, count, whole, c);
    loadLanes<lanes>(a.sines, angle, count, whole, s);
    const int at = interleaved ? 2 * pair : pair;
    const int next = at + (interleaved ? lanes : pairs);
    const T *from = x + a.from.at(b, t, h);
    T *to = y + a.to.at(b, t, h);
    const int first = interleaved ? wideCount<T>(0, 2 * count) : count;
    const int second = interleaved ? 2 * count - first : count;
    loadWide(from, at, first, whole, values);
    loadWide(from, next, second, whole, values + lanes);
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) {
      const int one = interleaved ? 2 * lane : lane;
      const int other = interleaved ? one + 1 : lane + lanes;
      const float p = values[one], q = values[other];
      turned[one] = fmaf(p, c[lane], -(q * s[lane]));
      turned[other] = fmaf(p, s[lane], q * c[lane]);
    }
    storeWide(to, at, first, whole, turned);
    storeWide(to, next, second, whole, turned + lanes);
  }
}

/// The words of elements `position` to `position` + 3 of a sample. Of a part
/// they may be those of two counters.
template <bool isPartial>
__device__ void drawWords(int64_t position, uint32_t id, uint64_t sample,
                          uint64_t seed, uint32_t (&words)[kWords]) {
  uint32_t random[kWords] = {uint32_t(position / kWords), id, uint32_t(sample),
                             uint32_t(sample >> 32)};
  philox(random, seed);
  const int shift = isPartial ? int(position % kWords) : 0;
  uint32_t next[kWords] = {uint32_t(position / kWords) + 1, id,
                           uint32_t(sample), uint32_t(sample >> 32)};
  if (shift)
    philox(next, seed);
  // Indices that are known when compiling keep all words in registers.
#pragma unroll
  for (int lane = 0; lane < kWords; ++lane) {
    words[lane] = random[lane];
#pragma unroll
    for (int skipped = 1; skipped < kWords; ++skipped)
      if (shift == skipped)
        words[lane] = lane + skipped < kWords
                          ? random[(lane + skipped) % kWords]
                          : next[(lane + skipped) % kWords];
  }
}

/// A counter makes four elements, and a thread a vector of a run.
template <typename T, bool isPartial>
__global__ void __launch_bounds__(kThreads)
    dropoutKernel(DropoutArguments a, bool whole) {
  constexpr int lanes = kWide<T>;
  const T *x = static_cast<const T *>(a.x);
  T *y = static_cast<T *>(a.y);
  const uint64_t firstSample = firstSampleOf(a.draws);
  const bool identity = a.draws.control->evaluating != 0;
  const uint64_t seed = a.draws.control->seed;
  const int64_t vectors = (a.run + lanes - 1) / lanes;
  const int64_t total = a.draws.samples * a.runs * vectors;
  const int64_t first = isPartial ? *a.first * a.inner : 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = i / vectors, element = i % vectors * lanes;
    const int64_t rest = a.run - element;
    const int count = int(rest < lanes ? rest : lanes);
    const int64_t at = row * a.run + element;
    Wide<T> values = loadWide(x, at, count, whole);
    if (!identity) {
      const uint64_t sample =
          firstSample + uint64_t(isPartial ? row / a.runs : row);
      const int64_t position =
          (isPartial ? row % a.runs * a.stride + first : 0) + element;
#pragma unroll
      for (int part = 0; part < lanes; part += kWords) {
        uint32_t random[kWords];
        drawWords<isPartial>(position + part, a.draws.id, sample, seed, random);
#pragma unroll
        for (int lane = 0; lane < kWords; ++lane) {
          T &value = values.lanes[part + lane];
          // A dropped element is 0 even where it is infinite.
          value = fromFloat<T>(random[lane] >= a.draws.threshold
                                   ? toFloat(value) * a.draws.scale
                                   : 0.0f);
        }
      }
    }
    storeWide(y, at, count, whole, values);
  }
}

} // namespace

void zrt::cuda::embedding(const int32_t *ids, int64_t tokens,
                          const EmbeddingTable &table, void *to,
                          Control *control, cudaStream_t stream) {
  if (tokens == 0)
    return;
  auto run = [&](auto word) {
    using Word = decltype(word);
    embeddingKernel<<<blocksFor(tokens, 1), 128, 0, stream>>>(
        ids, tokens, table, table.rowBytes / int64_t(sizeof(Word)),
        static_cast<Word *>(to), control);
  };
  const uint64_t common = reinterpret_cast<uintptr_t>(table.rowsAt) |
                          reinterpret_cast<uintptr_t>(to) |
                          uint64_t(table.rowBytes);
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
  return 3 * padded(count * sizeof(int32_t)) + padded(sortBytes(count));
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

size_t zrt::cuda::embeddingGradWorkspace(int64_t tokens, int64_t width) {
  return stableOrderWorkspace(tokens) + ChunkSums::rowsFor(tokens) *
                                            ChunkSums::strideOf(width) *
                                            sizeof(float);
}

void zrt::cuda::embeddingGrad(DataType type, const void *dy, const int32_t *ids,
                              int64_t tokens, int64_t firstRow,
                              const int32_t *first, int64_t entries,
                              int64_t width, const void *init, void *to,
                              void *workspace, cudaStream_t stream) {
  if (entries * width == 0)
    return;
  // Rows without tokens stay as they are from here on.
  const size_t bytes = size_t(entries * width) * sizeOf(type);
  if (!init)
    checkSort(cudaMemsetAsync(to, 0, bytes, stream));
  else if (init != to)
    checkSort(
        cudaMemcpyAsync(to, init, bytes, cudaMemcpyDeviceToDevice, stream));
  if (tokens == 0)
    return;
  const StableOrder order = stableOrder(ids, tokens, workspace, stream);
  const SortedTokens sorted = {order.keys, order.order, tokens,
                               firstRow,   entries,     first};
  const ChunkSums chunks = {
      reinterpret_cast<float *>(static_cast<char *>(workspace) +
                                stableOrderWorkspace(tokens)),
      ChunkSums::strideOf(width)};
  constexpr int64_t columns = kJoinColumns * kWide<float>;
  const dim3 joins(unsigned((tokens + kChunk - 1) / kChunk),
                   unsigned((width + columns - 1) / columns));
  withType(type, [&](auto element) {
    using T = decltype(element);
    const T *from = static_cast<const T *>(init);
    T *result = static_cast<T *>(to);
    embeddingChunkKernel<<<blocksFor(tokens, 1), kRowThreads, 0, stream>>>(
        sorted, widthOf(width), haveWideRows<T>(width, dy, init, to),
        static_cast<const T *>(dy), from, result, chunks);
    if (tokens > kChunk)
      embeddingJoinKernel<<<joins, dim3(kJoinColumns, kJoinRows), 0, stream>>>(
          sorted, widthOf(width), from, result, chunks);
  });
  checkLaunch("embedding_grad");
}

void zrt::cuda::rotary(const RotaryArguments &a, cudaStream_t stream) {
  const int64_t rows = a.batches * a.positions * a.heads;
  if (rows * a.pairs == 0)
    return;
  withType(a.type, [&](auto element) {
    using T = decltype(element);
    const int64_t vectors = (a.pairs + kWide<T> - 1) / kWide<T>;
    auto *kernel =
        a.interleaved ? rotaryKernel<T, true> : rotaryKernel<T, false>;
    kernel<<<blocksFor(rows * vectors, kThreads), kThreads, 0, stream>>>(
        a, widthOf(a.pairs),
        haveWideRows<T>(a.pairs, a.x, a.y, a.cosines, a.sines));
  });
  checkLaunch("rotary");
}

void zrt::cuda::dropout(const DropoutArguments &arguments,
                        cudaStream_t stream) {
  const int64_t rows = arguments.draws.samples * arguments.runs;
  if (rows * arguments.run == 0)
    return;
  withType(arguments.type, [&](auto element) {
    using T = decltype(element);
    const int64_t vectors = (arguments.run + kWide<T> - 1) / kWide<T>;
    auto *kernel =
        arguments.first ? dropoutKernel<T, true> : dropoutKernel<T, false>;
    kernel<<<blocksFor(rows * vectors, kThreads), kThreads, 0, stream>>>(
        arguments, haveWideRows<T>(arguments.run, arguments.x, arguments.y));
  });
  checkLaunch("dropout");
}
