// Data that moves, and sums over any dimensions.
#include "kernels/cuda/Parts.cuh"
#include "kernels/cuda/Wide.cuh"

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// Elements up to which their numbers have 32 bits: divisions are then cheap.
/// A step of a whole grid further still fits.
constexpr int64_t kMostNarrow = int64_t(1) << 31;

/// Where element `rest` of the first `dims` dimensions lies. The outermost
/// index is what remains: one dimension takes no division.
template <typename Index>
__device__ __forceinline__ void placesOf(const StridedMove &shape, int dims,
                                         Index rest, int64_t &source,
                                         int64_t &target) {
  source = target = 0;
  for (int d = dims - 1; d > 0; --d) {
    const Index size = Index(shape.size[d]);
    const Index next = rest / size;
    const int64_t index = int64_t(rest - next * size);
    source += index * shape.from[d];
    target += index * shape.to[d];
    rest = next;
  }
  if (dims > 0) {
    source += int64_t(rest) * shape.from[0];
    target += int64_t(rest) * shape.to[0];
  }
}

template <typename T, typename Index>
__global__ void moveKernel(StridedMove shape, const T *from, T *to) {
  const Index elements = Index(shape.elements);
  const Index step = Index(gridDim.x) * blockDim.x;
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += step) {
    int64_t source, target;
    placesOf(shape, shape.dims, i, source, target);
    to[target] = from[source];
  }
}

constexpr int kTile = 32;

/// A transpose of the last two dimensions, the source's rows being the
/// target's columns: through a tile, so that both sides move whole lines.
template <typename T>
__global__ void transposeKernel(StridedMove shape, const T *from, T *to) {
  __shared__ T tile[kTile][kTile + 1];
  int64_t source, target;
  placesOf(shape, shape.dims - 2, blockIdx.z, source, target);
  const int column = shape.dims - 1, row = shape.dims - 2;
  // Target is walked by `column`, source by `row`.
  const int64_t columns = int64_t(blockIdx.x) * kTile;
  const int64_t rows = int64_t(blockIdx.y) * kTile;
  for (int j = threadIdx.y; j < kTile; j += blockDim.y)
    if (columns + j < shape.size[column] &&
        rows + threadIdx.x < shape.size[row])
      tile[j][threadIdx.x] = from[source + (columns + j) * shape.from[column] +
                                  (rows + threadIdx.x) * shape.from[row]];
  __syncthreads();
  for (int j = threadIdx.y; j < kTile; j += blockDim.y)
    if (rows + j < shape.size[row] &&
        columns + threadIdx.x < shape.size[column])
      to[target + (rows + j) * shape.to[row] +
         (columns + threadIdx.x) * shape.to[column]] = tile[threadIdx.x][j];
}

template <typename T>
__global__ void fillKernel(T value, T *to, int64_t count) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x)
    to[i] = value;
}

template <typename Body> void withWidth(size_t bytes, Body body) {
  switch (bytes) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  case 8:
    return body(uint64_t());
  }
  throw std::invalid_argument("no device code for elements of " +
                              std::to_string(bytes) + " bytes");
}

bool isTranspose(const StridedMove &shape) {
  const int d = shape.dims;
  if (d < 2 || shape.to[d - 1] != 1 || shape.from[d - 2] != 1 ||
      shape.from[d - 1] <= 1 || shape.size[d - 1] < 8 || shape.size[d - 2] < 8)
    return false;
  int64_t outer = 1;
  for (int i = 0; i + 2 < d; ++i)
    outer *= shape.size[i];
  return outer < 65536 && shape.size[d - 2] / kTile < 65535;
}

template <typename T>
void moveEach(const StridedMove &shape, const T *from, T *to,
              cudaStream_t stream) {
  const unsigned blocks = blocksFor(shape.elements, kThreads);
  if (shape.elements < kMostNarrow)
    moveKernel<T, uint32_t><<<blocks, kThreads, 0, stream>>>(shape, from, to);
  else
    moveKernel<T, uint64_t><<<blocks, kThreads, 0, stream>>>(shape, from, to);
}

template <typename T>
void runMove(const StridedMove &shape, const T *from, T *to,
             cudaStream_t stream) {
  if (!isTranspose(shape))
    return moveEach(shape, from, to, stream);
  const int d = shape.dims;
  const int64_t columns = shape.size[d - 1], rows = shape.size[d - 2];
  const dim3 grid(unsigned((columns + kTile - 1) / kTile),
                  unsigned((rows + kTile - 1) / kTile),
                  unsigned(shape.elements / (columns * rows)));
  transposeKernel<<<grid, dim3(kTile, 8), 0, stream>>>(shape, from, to);
}

/// What one thread moves at once, at most.
constexpr int64_t kWidest = sizeof(uint4);

/// Makes neighbours that lie side by side in both places one element, as many
/// as divide every stride, the innermost size and both addresses. Returns the
/// bytes of an element.
int64_t widen(StridedMove &shape, int64_t elementBytes, const void *from,
              const void *to) {
  const int last = shape.dims - 1;
  if (last < 0 || shape.from[last] != 1 || shape.to[last] != 1)
    return elementBytes;
  uint64_t bits = reinterpret_cast<uintptr_t>(from) |
                  reinterpret_cast<uintptr_t>(to) |
                  uint64_t(shape.size[last] * elementBytes) | uint64_t(kWidest);
  for (int d = 0; d < last; ++d)
    bits |= uint64_t(shape.from[d] * elementBytes) |
            uint64_t(shape.to[d] * elementBytes);
  const int64_t bytes = int64_t(bits & (~bits + 1)); // the lowest bit
  if (bytes <= elementBytes)
    return elementBytes;
  const int64_t joined = bytes / elementBytes;
  for (int d = 0; d < last; ++d) {
    shape.from[d] /= joined;
    shape.to[d] /= joined;
  }
  shape.size[last] /= joined;
  shape.elements /= joined;
  if (shape.size[last] == 1)
    --shape.dims;
  return bytes;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// As `placesOf`, of one side.
template <typename Index>
__device__ __forceinline__ int64_t offsetOf(int dims, const int64_t *size,
                                            const int64_t *stride, Index i) {
  int64_t offset = 0;
  for (int d = dims - 1; d > 0; --d) {
    const Index next = i / Index(size[d]);
    offset += int64_t(i - next * Index(size[d])) * stride[d];
    i = next;
  }
  return dims > 0 ? offset + int64_t(i) * stride[0] : offset;
}

/// Joins terms begin, begin + step, ... of the result whose first is `from`.
template <typename Join, typename Index, typename T>
__device__ __forceinline__ float termsAt(const ReduceShape &s, const T *from,
                                         Index begin, Index end, Index step) {
  if (s.reducedDims == 1) {
    const int64_t stride = s.reducedStride[0];
    return joinOf<Join>(begin, end, step, [=](Index t) {
      return toFloat(from[int64_t(t) * stride]);
    });
  }
  return joinOf<Join>(begin, end, step, [&](Index t) {
    return toFloat(
        from[offsetOf(s.reducedDims, s.reducedSize, s.reducedStride, t)]);
  });
}

/// Most threads of a result.
constexpr int kReduceThreads = 512;

/// A block a result: terms lie along the innermost dimension.
template <typename T, typename Join, typename Index>
__global__ void __launch_bounds__(kReduceThreads)
    reduceRowsKernel(ReduceShape s, const T *x, T *y) {
  const Index results = Index(s.results);
  for (Index i = blockIdx.x; i < results; i += gridDim.x) {
    const T *from = x + offsetOf(s.keptDims, s.keptSize, s.keptStride, i);
    float total = termsAt<Join>(s, from, Index(threadIdx.x), Index(s.terms),
                                Index(blockDim.x));
    total = overBlock<Join>(total, identityOf<Join>());
    if (threadIdx.x == 0)
      y[i] = fromFloat<T>(total * s.factor);
  }
}

//===----------------------------------------------------------------------===//
// Sums of columns
//===----------------------------------------------------------------------===//

/// Terms are cut into parts, which are joined in order. How many follows from
/// the shape alone: enough for `kWantedThreads`, none of fewer than
/// `kFewestTerms`.
constexpr int64_t kMostParts = 512, kFewestTerms = 32;
constexpr int64_t kWantedThreads = int64_t(1) << 19;

/// Columns side by side, whole vectors of them: a block takes `kColumns`
/// vectors of a part, `kTermRows` rows of each at once.
constexpr int kColumns = 32, kTermRows = 8;
constexpr int64_t kWantedBlocks = 512;
int64_t lanesOf(DataType type) { return int64_t(sizeof(uint4) / sizeOf(type)); }
bool hasWideColumns(const ReduceShape &s) {
  return s.innerKept && s.keptDims == 1 && s.keptStride[0] == 1 &&
         s.reducedDims == 1 && s.results % lanesOf(s.type) == 0 &&
         s.reducedStride[0] % lanesOf(s.type) == 0 &&
         std::max(s.results, s.terms) < kMostNarrow / 2;
}

int64_t termsOfPart(const ReduceShape &s) {
  const int64_t results = std::max<int64_t>(s.results, 1);
  if (hasWideColumns(s)) {
    const int64_t each = kColumns * lanesOf(s.type);
    const int64_t parts = std::clamp<int64_t>(
        kWantedBlocks / ((results + each - 1) / each), 1, kMostParts);
    return std::max<int64_t>((s.terms + parts - 1) / parts, kTermRows * kLoads);
  }
  const int64_t parts = std::clamp<int64_t>(
      (kWantedThreads + results - 1) / results, 1, kMostParts);
  return std::max((s.terms + parts - 1) / parts, kFewestTerms);
}
int64_t partsOf(const ReduceShape &s) {
  const int64_t each = termsOfPart(s);
  return std::max<int64_t>((s.terms + each - 1) / each, 1);
}

/// A thread a result and part: neighbours are neighbours in memory.
template <typename T, typename Join, typename Index>
__global__ void reduceColumnsKernel(ReduceShape s, int64_t each, const T *x,
                                    float *parts) {
  const int64_t first = int64_t(blockIdx.y) * each;
  const int64_t last = first + each < s.terms ? first + each : s.terms;
  const Index results = Index(s.results);
  const Index step = Index(gridDim.x) * blockDim.x;
  for (Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x; i < results;
       i += step) {
    const T *from = x + offsetOf(s.keptDims, s.keptSize, s.keptStride, i);
    parts[int64_t(blockIdx.y) * s.results + i] =
        termsAt<Join>(s, from, Index(first), Index(last), Index(1));
  }
}

/// The same of vectors of results: a thread a vector and every `kTermRows`th
/// term of a part, several loads under way; rows of threads are joined in
/// order.
template <typename T, typename Join>
__global__ void __launch_bounds__(kColumns *kTermRows)
    reduceWideKernel(int columns, int terms, int64_t stride, int each,
                     bool whole, const T *x, float *parts) {
  constexpr int lanes = kWide<T>;
  __shared__ float totals[kTermRows][lanes][kColumns + kColumns / lanes];
  const int first = int(blockIdx.y) * each;
  const int last = terms - first < each ? terms : first + each;
  const int base = int(blockIdx.x) * kColumns * lanes;
  const int column = base + int(threadIdx.x) * lanes;
  float mine[lanes];
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane)
    mine[lane] = identityOf<Join>();
  if (column < columns)
    for (int t = first + int(threadIdx.y); t < last; t += kTermRows * kLoads) {
      Wide<T> loaded[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        if (t + i * kTermRows < last)
          loaded[i] =
              loadWide(x + (t + i * kTermRows) * stride, column, lanes, whole);
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        if (t + i * kTermRows < last)
#pragma unroll
          for (int lane = 0; lane < lanes; ++lane)
            mine[lane] = Join::join(mine[lane], toFloat(loaded[i].lanes[lane]));
    }
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane)
    totals[threadIdx.y][lane][threadIdx.x] = mine[lane];
  __syncthreads();
  for (int i = int(threadIdx.y * kColumns + threadIdx.x);
       i < kColumns * lanes && base + i < columns; i += kColumns * kTermRows) {
    float total = totals[0][i % lanes][i / lanes];
    for (int row = 1; row < kTermRows; ++row)
      total = Join::join(total, totals[row][i % lanes][i / lanes]);
    parts[int64_t(blockIdx.y) * columns + base + i] = total;
  }
}

template <typename T, typename Join>
__global__ void __launch_bounds__(kJoined *kSlices)
    joinPartsKernel(int64_t results, int count, float factor,
                    const float *parts, T *y) {
  joinParts<Join>(parts, count, results, [=](int64_t i, float total) {
    y[i] = fromFloat<T>(total * factor);
  });
}

template <typename T, typename Join, typename Index>
void runReduce(const ReduceShape &s, const T *x, T *y, void *workspace,
               cudaStream_t stream) {
  if (!s.innerKept) {
    const int threads = s.terms < 64     ? 32
                        : s.terms < 1024 ? 128
                                         : kReduceThreads;
    reduceRowsKernel<T, Join, Index>
        <<<blocksFor(s.results, 1), threads, 0, stream>>>(s, x, y);
    return;
  }
  auto *parts = static_cast<float *>(workspace);
  const int64_t count = partsOf(s), each = termsOfPart(s);
  if (hasWideColumns(s)) {
    constexpr int64_t columns = kColumns * kWide<T>;
    const dim3 grid(unsigned((s.results + columns - 1) / columns),
                    unsigned(count));
    reduceWideKernel<T, Join><<<grid, dim3(kColumns, kTermRows), 0, stream>>>(
        int(s.results), int(s.terms), s.reducedStride[0], int(each), areWide(x),
        x, parts);
  } else {
    reduceColumnsKernel<T, Join, Index>
        <<<dim3(blocksFor(s.results, kThreads), unsigned(count)), kThreads, 0,
           stream>>>(s, each, x, parts);
  }
  joinPartsKernel<T, Join>
      <<<blocksFor(s.results, kJoined), dim3(kJoined, kSlices), 0, stream>>>(
          s.results, int(count), s.factor, parts, y);
}

template <typename T, typename Join>
void reduceBy(const ReduceShape &s, const T *x, T *y, void *workspace,
              cudaStream_t stream) {
  if (s.results < kMostNarrow && s.terms < kMostNarrow)
    runReduce<T, Join, uint32_t>(s, x, y, workspace, stream);
  else
    runReduce<T, Join, uint64_t>(s, x, y, workspace, stream);
}

} // namespace

void zrt::cuda::move(const StridedMove &shape, size_t elementBytes,
                     const void *from, void *to, cudaStream_t stream) {
  if (shape.elements == 0)
    return;
  StridedMove wide = shape;
  const int64_t bytes = widen(wide, int64_t(elementBytes), from, to);
  if (bytes == kWidest)
    moveEach(wide, static_cast<const uint4 *>(from), static_cast<uint4 *>(to),
             stream);
  else
    withWidth(size_t(bytes), [&](auto element) {
      using T = decltype(element);
      runMove(wide, static_cast<const T *>(from), static_cast<T *>(to), stream);
    });
  checkLaunch("move");
}

void zrt::cuda::fill(uint64_t bits, size_t elementBytes, void *to,
                     int64_t elements, cudaStream_t stream) {
  if (elements == 0)
    return;
  withWidth(elementBytes, [&](auto element) {
    using T = decltype(element);
    fillKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
        T(bits), static_cast<T *>(to), elements);
  });
  checkLaunch("fill");
}

size_t zrt::cuda::reduceWorkspace(const ReduceShape &shape) {
  return shape.innerKept ? partsOf(shape) * shape.results * sizeof(float) : 0;
}

void zrt::cuda::reduce(const ReduceShape &shape, const void *x, void *y,
                       void *workspace, cudaStream_t stream) {
  if (shape.results == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    const T *from = static_cast<const T *>(x);
    T *to = static_cast<T *>(y);
    if (shape.maximum)
      reduceBy<T, Largest>(shape, from, to, workspace, stream);
    else
      reduceBy<T, Sum>(shape, from, to, workspace, stream);
  });
  checkLaunch("reduce");
}
