// Data that moves, and sums over any dimensions.
#include "kernels/cuda/Device.cuh"

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

template <typename T>
__global__ void moveKernel(StridedMove shape, const T *from, T *to) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < shape.elements; i += int64_t(gridDim.x) * blockDim.x) {
    int64_t rest = i, source = 0, target = 0;
    for (int d = shape.dims - 1; d >= 0; --d) {
      const int64_t index = rest % shape.size[d];
      rest /= shape.size[d];
      source += index * shape.from[d];
      target += index * shape.to[d];
    }
    to[target] = from[source];
  }
}

constexpr int kTile = 32;

/// A transpose of the last two dimensions, the source's rows being the
/// target's columns: through a tile, so that both sides move whole lines.
template <typename T>
__global__ void transposeKernel(StridedMove shape, const T *from, T *to) {
  __shared__ T tile[kTile][kTile + 1];
  int64_t source = 0, target = 0, rest = blockIdx.z;
  for (int d = shape.dims - 3; d >= 0; --d) {
    const int64_t index = rest % shape.size[d];
    rest /= shape.size[d];
    source += index * shape.from[d];
    target += index * shape.to[d];
  }
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
void runMove(const StridedMove &shape, const T *from, T *to,
             cudaStream_t stream) {
  if (!isTranspose(shape)) {
    moveKernel<<<blocksFor(shape.elements, kThreads), kThreads, 0, stream>>>(
        shape, from, to);
    return;
  }
  const int d = shape.dims;
  const int64_t columns = shape.size[d - 1], rows = shape.size[d - 2];
  const dim3 grid(unsigned((columns + kTile - 1) / kTile),
                  unsigned((rows + kTile - 1) / kTile),
                  unsigned(shape.elements / (columns * rows)));
  transposeKernel<<<grid, dim3(kTile, 8), 0, stream>>>(shape, from, to);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

__device__ int64_t offsetOf(int dims, const int64_t *size,
                            const int64_t *stride, int64_t i) {
  int64_t offset = 0;
  for (int d = dims - 1; d >= 0; --d) {
    offset += i % size[d] * stride[d];
    i /= size[d];
  }
  return offset;
}

template <typename Join> __device__ float identityOf();
template <> __device__ float identityOf<Sum>() { return 0; }
template <> __device__ float identityOf<Largest>() { return -INFINITY; }

/// A block a result: terms lie along the innermost dimension.
template <typename T, typename Join>
__global__ void reduceRowsKernel(ReduceShape s, const T *x, T *y) {
  for (int64_t i = blockIdx.x; i < s.results; i += gridDim.x) {
    const T *from = x + offsetOf(s.keptDims, s.keptSize, s.keptStride, i);
    float total = identityOf<Join>();
    for (int64_t t = threadIdx.x; t < s.terms; t += blockDim.x)
      total =
          Join::join(total, toFloat(from[offsetOf(s.reducedDims, s.reducedSize,
                                                  s.reducedStride, t)]));
    total = overBlock<Join>(total, identityOf<Join>());
    if (threadIdx.x == 0)
      y[i] = fromFloat<T>(total * s.factor);
  }
}

/// Terms of one partial result; the partial results follow from the number of
/// terms alone.
constexpr int64_t kMostParts = 64, kFewestTerms = 32;
__host__ __device__ inline int64_t termsOfPart(int64_t terms) {
  const int64_t least = (terms + kMostParts - 1) / kMostParts;
  return least < kFewestTerms ? kFewestTerms : least;
}
__host__ __device__ inline int64_t partsOf(int64_t terms) {
  const int64_t parts = (terms + termsOfPart(terms) - 1) / termsOfPart(terms);
  return parts ? parts : 1;
}

/// A thread a result and part: neighbours are neighbours in memory.
template <typename T, typename Join>
__global__ void reduceColumnsKernel(ReduceShape s, const T *x, float *parts) {
  const int64_t each = termsOfPart(s.terms);
  const int64_t begin = int64_t(blockIdx.y) * each;
  const int64_t end = begin + each < s.terms ? begin + each : s.terms;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < s.results; i += int64_t(gridDim.x) * blockDim.x) {
    const T *from = x + offsetOf(s.keptDims, s.keptSize, s.keptStride, i);
    float total = identityOf<Join>();
    for (int64_t t = begin; t < end; ++t)
      total =
          Join::join(total, toFloat(from[offsetOf(s.reducedDims, s.reducedSize,
                                                  s.reducedStride, t)]));
    parts[int64_t(blockIdx.y) * s.results + i] = total;
  }
}

template <typename T, typename Join>
__global__ void joinPartsKernel(ReduceShape s, const float *parts, T *y) {
  const int64_t count = partsOf(s.terms);
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       i < s.results; i += int64_t(gridDim.x) * blockDim.x) {
    float total = identityOf<Join>();
    for (int64_t part = 0; part < count; ++part)
      total = Join::join(total, parts[part * s.results + i]);
    y[i] = fromFloat<T>(total * s.factor);
  }
}

template <typename T, typename Join>
void runReduce(const ReduceShape &s, const T *x, T *y, void *workspace,
               cudaStream_t stream) {
  if (!s.innerKept) {
    const int threads = s.terms < 64 ? 32 : s.terms < 1024 ? 128 : 512;
    reduceRowsKernel<T, Join>
        <<<blocksFor(s.results, 1), threads, 0, stream>>>(s, x, y);
    return;
  }
  auto *parts = static_cast<float *>(workspace);
  const unsigned blocks = blocksFor(s.results, kThreads);
  reduceColumnsKernel<T, Join>
      <<<dim3(blocks, unsigned(partsOf(s.terms))), kThreads, 0, stream>>>(
          s, x, parts);
  joinPartsKernel<T, Join><<<blocks, kThreads, 0, stream>>>(s, parts, y);
}

} // namespace

void zrt::cuda::move(const StridedMove &shape, size_t elementBytes,
                     const void *from, void *to, cudaStream_t stream) {
  if (shape.elements == 0)
    return;
  withWidth(elementBytes, [&](auto element) {
    using T = decltype(element);
    runMove(shape, static_cast<const T *>(from), static_cast<T *>(to), stream);
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
  return shape.innerKept ? partsOf(shape.terms) * shape.results * sizeof(float)
                         : 0;
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
      runReduce<T, Largest>(shape, from, to, workspace, stream);
    else
      runReduce<T, Sum>(shape, from, to, workspace, stream);
  });
  checkLaunch("reduce");
}
