// Attention and its gradient, without a matrix of scores: tiles of queries
// meet tiles of keys, and the softmax is rescaled as larger scores turn up.
// Products are in f32; an element's order of summation follows from the shape.
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"
#include "program/LogSumExp.h"

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kRows = 32; ///< of a tile, on either side
constexpr int kLanes = 8; ///< threads of a row
constexpr int kThreads = kRows * kLanes;
constexpr int kKeysOfLane = kRows / kLanes;

/// Rows are padded by one: neighbours then lie in different banks.
__host__ __device__ inline int64_t strideOf(int64_t features) {
  return features + 1;
}

__device__ inline float maskOf(const AttentionArguments &a, int64_t b,
                               int64_t h, int64_t t, int64_t s) {
  const int64_t *stride = a.maskStride;
  return a.mask[b * stride[0] + h * stride[1] + t * stride[2] + s * stride[3]];
}

int64_t tilesOf(int64_t rows) { return (rows + kRows - 1) / kRows; }

/// The tile and the head of a block: tiles of a head are neighbours.
struct Place {
  int64_t first; ///< row of the tile
  int64_t b, h;
};
__device__ inline Place placeOf(int64_t rows, int64_t heads) {
  const unsigned tiles = unsigned((rows + kRows - 1) / kRows);
  const unsigned head = blockIdx.x / tiles;
  return {int64_t(blockIdx.x % tiles) * kRows, head / unsigned(heads),
          head % unsigned(heads)};
}

/// Whether query t sees key s.
__device__ inline bool sees(const AttentionArguments &a, int64_t t, int64_t s) {
  return t < a.queries && s < a.keys && (!a.causal || s <= t);
}

/// Where row (b, t, h) of a tensor begins.
template <typename T, typename Void>
__device__ inline T *rowAt(Void *tensor, const RowStrides &strides, int64_t b,
                           int64_t t, int64_t h) {
  return static_cast<T *>(tensor) + b * strides.batch + t * strides.token +
         h * strides.head;
}

/// Copies rows [first, first + kRows) of head `head`, of `count` there are,
/// into shared memory, times `factor`; rows past `count` become zero.
template <typename T>
__device__ void copyTile(const void *from, const RowStrides &strides, int64_t b,
                         int64_t first, int64_t count, int64_t head,
                         int64_t features, float factor, float *to) {
  const T *rows = rowAt<const T>(from, strides, b, first, head);
  for (int64_t i = threadIdx.x; i < kRows * features; i += kThreads) {
    const int64_t row = i / features, d = i % features;
    to[row * strideOf(features) + d] =
        first + row < count ? toFloat(rows[row * strides.token + d]) * factor
                            : 0.0f;
  }
}

__device__ inline float dot(const float *a, const float *b, int64_t features) {
  float sum = 0;
#pragma unroll 4
  for (int d = 0; d < int(features); ++d)
    sum = fmaf(a[d], b[d], sum);
  return sum;
}

/// Joins a value over the kLanes threads of a row.
template <typename Join> __device__ inline float overRow(float value) {
  for (int by = kLanes / 2; by; by /= 2)
    value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, by));
  return value;
}

/// Outputs of a row that one lane holds: d = lane + kLanes * i.
constexpr int kMostOutputs = kMostFeatures / kLanes;

/// sums[i] += the sum over rows r of a tile of factors[r] * rows[r][d].
template <int kOutputs>
__device__ inline void addRows(const float *factors, const float *rows,
                               int64_t stride, int64_t features, int lane,
                               float (&sums)[kOutputs]) {
#pragma unroll 1
  for (int r = 0; r < kRows; ++r) {
    const float factor = factors[r];
    const float *row = rows + r * stride + lane;
#pragma unroll
    for (int i = 0; i < kOutputs; ++i)
      if (lane + i * kLanes < features)
        sums[i] = fmaf(factor, row[i * kLanes], sums[i]);
  }
}

/// to[i * step]: what dropout multiplies the weight of query t and key
/// `first` + i by, of kRows keys. The threads of a row call it together.
__device__ inline void drawRow(const AttentionArguments &a, int64_t b,
                               int64_t h, int64_t t, int64_t first, int lane,
                               float *to, int step) {
  const Draws &draws = a.draws;
  const int64_t group = a.firstGroup ? *a.firstGroup : 0;
  const int64_t head = group * (a.heads / a.groups) + h;
  const int64_t place = (head * a.queries + t) * a.keys + first;
  const uint64_t sample = firstSampleOf(draws) + b;
  const int skipped = int(place % kWords);
  for (int counter = lane; counter * kWords < kRows + skipped;
       counter += kLanes) {
    uint32_t words[kWords] = {uint32_t(place / kWords + counter), draws.id,
                              uint32_t(sample), uint32_t(sample >> 32)};
    philox(words, draws.control->seed);
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      const int key = counter * kWords + j - skipped;
      if (key >= 0 && key < kRows)
        to[key * step] = words[j] >= draws.threshold ? draws.scale : 0.0f;
    }
  }
}

/// Whether weights are dropped in this run.
template <bool mayDrop>
__device__ inline bool dropsNow(const AttentionArguments &a) {
  return mayDrop && a.draws.control->evaluating == 0;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

template <typename T, int kOutputs, bool mayDrop>
__global__ void __launch_bounds__(kThreads)
    forwardKernel(AttentionArguments a) {
  extern __shared__ float shared[];
  const int64_t stride = strideOf(a.features);
  float *queries = shared, *keys = queries + kRows * stride,
        *values = keys + kRows * stride, *scores = values + kRows * stride;
  const auto [first, b, h] = placeOf(a.queries, a.heads);
  const int64_t g = h / (a.heads / a.groups);
  const int row = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int64_t t = first + row;
  copyTile<T>(a.q, a.qRows, b, first, a.queries, h, a.features, a.scale,
              queries);
  const bool drops = dropsNow<mayDrop>(a);
  float outputs[kOutputs] = {};
  float largest = -INFINITY, sum = 0;
  const int64_t last =
      a.causal && first + kRows < a.keys ? first + kRows : a.keys;
  for (int64_t s0 = 0; s0 < last; s0 += kRows) {
    __syncthreads();
    copyTile<T>(a.k, a.kRows, b, s0, a.keys, g, a.features, 1, keys);
    copyTile<T>(a.v, a.vRows, b, s0, a.keys, g, a.features, 1, values);
    if (drops)
      drawRow(a, b, h, t, s0, lane, scores + row * (kRows + 1), 1);
    __syncthreads();
    float mine[kKeysOfLane], tile = -INFINITY;
#pragma unroll
    for (int j = 0; j < kKeysOfLane; ++j) {
      const int key = lane + j * kLanes;
      const int64_t s = s0 + key;
      mine[j] = -INFINITY;
      if (sees(a, t, s)) {
        mine[j] = dot(queries + row * stride, keys + key * stride, a.features);
        if (a.mask)
          mine[j] += maskOf(a, b, h, t, s);
      }
      tile = Largest::join(tile, mine[j]);
    }
    tile = overRow<Largest>(tile);
    const float next = Largest::join(largest, tile);
    // Nothing was seen yet: there is nothing to rescale either.
    const float rescale = largest == -INFINITY ? 0.0f : expf(largest - next);
    float part = 0;
#pragma unroll
    for (int j = 0; j < kKeysOfLane; ++j) {
      const float p = mine[j] == -INFINITY ? 0.0f : expf(mine[j] - next);
      float &weight = scores[row * (kRows + 1) + lane + j * kLanes];
      weight = drops ? p * weight : p;
      part += p;
    }
    sum = sum * rescale + overRow<Sum>(part);
    largest = next;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kOutputs; ++i)
      outputs[i] *= rescale;
    addRows(scores + row * (kRows + 1), values, stride, a.features, lane,
            outputs);
  }
  if (t >= a.queries)
    return;
  T *out = rowAt<T>(a.out, a.outRows, b, t, h);
  // Nothing was seen: zeros, as on the host.
  const float scale = sum == 0 ? 0.0f : 1.0f / sum;
#pragma unroll
  for (int i = 0; i < kOutputs; ++i)
    if (lane + i * kLanes < a.features)
      out[lane + i * kLanes] = fromFloat<T>(outputs[i] * scale);
  if (lane == 0)
    a.lse[(b * a.heads + h) * a.queries + t] =
        sum == 0 ? 0.0f : largest + logf(sum);
}

//===----------------------------------------------------------------------===//
// Backward: p, the softmax of the scores, recomputed, and f, what dropout
// multiplies it by; dv = sum f p dout; dscore = p (f dout . v - dout . out);
// dq = scale sum dscore k; dk = scale sum dscore q.
//===----------------------------------------------------------------------===//

/// What the backward keeps of each row, a query of a head, in the workspace:
/// p = e^(score - shift) * scale, and dout . out.
struct RowTerms {
  float *shift, *scale, *correction;
  /// Set to 1 where `lse` loses digits in some row. Null, or the kernels after
  /// the one that sets it do nothing where it is 0: cuDNN has the gradients.
  int *needed;

  RowTerms(void *workspace, int64_t rows, bool onlyIfNeeded)
      : shift(static_cast<float *>(workspace)), scale(shift + rows),
        correction(scale + rows),
        needed(onlyIfNeeded ? reinterpret_cast<int *>(correction + rows)
                            : nullptr) {}
  __device__ bool areUnneeded() const { return needed && !*needed; }
};

/// Rows of a block of kernels that have a warp for each row.
constexpr int kRowsOfBlock = 8;
/// The row of this warp, and its place in the tensors.
struct WarpRow {
  int64_t row, t, h, b;
  __device__ explicit WarpRow(const AttentionArguments &a)
      : row((int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32),
        t(row % a.queries), h(row / a.queries % a.heads),
        b(row / a.queries / a.heads) {}
  __device__ bool isPastEnd(const AttentionArguments &a) const {
    return row >= a.batch * a.heads * a.queries;
  }
};

/// The score of a query that is not in shared memory, with the roundings of
/// `dot` there.
template <typename T>
__device__ inline float scoreInMemory(const AttentionArguments &a,
                                      const WarpRow &at, int64_t s) {
  const T *query = rowAt<const T>(a.q, a.qRows, at.b, at.t, at.h);
  const int64_t g = at.h / (a.heads / a.groups);
  const T *key = rowAt<const T>(a.k, a.kRows, at.b, s, g);
  float sum = 0;
  for (int d = 0; d < int(a.features); ++d)
    sum = fmaf(toFloat(query[d]) * a.scale, toFloat(key[d]), sum);
  return a.mask ? sum + maskOf(a, at.b, at.h, at.t, s) : sum;
}

/// `shift` and `scale` of each row: those that `lse` gives, or, where it loses
/// digits, the largest score and the reciprocal of the sum.
template <typename T>
__global__ void softmaxTermsKernel(AttentionArguments a, RowTerms terms) {
  const WarpRow at(a);
  if (at.isPastEnd(a))
    return;
  const int lane = threadIdx.x % 32;
  const float lse = a.lse[at.row];
  float shift = lse, scale = 1;
  if (losesDigits(lse)) {
    float largest = -INFINITY, sum = 0;
    for (int64_t s = lane; s < a.keys; s += 32) {
      const float score =
          sees(a, at.t, s) ? scoreInMemory<T>(a, at, s) : -INFINITY;
      if (score == -INFINITY)
        continue;
      const float next = Largest::join(largest, score);
      sum = sum * expf(largest - next) + expf(score - next);
      largest = next;
    }
    shift = largest;
    for (int by = 16; by; by /= 2)
      shift = Largest::join(shift, __shfl_xor_sync(0xffffffffu, shift, by));
    sum = largest == -INFINITY ? 0.0f : sum * expf(largest - shift);
    for (int by = 16; by; by /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, by);
    scale = 1.0f / sum;
    if (lane == 0 && terms.needed)
      *terms.needed = 1;
  }
  if (lane == 0) {
    terms.shift[at.row] = shift;
    terms.scale[at.row] = scale;
  }
}

/// dout . out of each query and head: a warp each.
template <typename T>
__global__ void correctionKernel(AttentionArguments a, RowTerms terms) {
  const WarpRow at(a);
  if (at.isPastEnd(a) || terms.areUnneeded())
    return;
  const T *out = rowAt<const T>(a.out, a.outRows, at.b, at.t, at.h);
  const T *dout = rowAt<const T>(a.dout, a.doutRows, at.b, at.t, at.h);
  float sum = 0;
  for (int64_t d = threadIdx.x % 32; d < a.features; d += 32)
    sum = fmaf(toFloat(dout[d]), toFloat(out[d]), sum);
  for (int by = 16; by; by /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, by);
  if (threadIdx.x % 32 == 0)
    terms.correction[at.row] = sum;
}

/// The weight, which `factor` drops or scales, and dscore of query t and key s,
/// from rows in shared memory; `query` is scaled already.
__device__ inline void scoreOf(const AttentionArguments &a, int64_t b,
                               int64_t h, int64_t t, int64_t s,
                               const float *query, const float *key,
                               const float *dout, const float *value,
                               const RowTerms &terms, float factor,
                               float &weight, float &ds) {
  weight = ds = 0;
  if (!sees(a, t, s))
    return;
  float score = dot(query, key, a.features);
  if (a.mask)
    score += maskOf(a, b, h, t, s);
  // Also where all scores of a query are, and a library left -infinity for lse.
  if (score == -INFINITY)
    return;
  const int64_t row = (b * a.heads + h) * a.queries + t;
  const float p = expf(score - terms.shift[row]) * terms.scale[row];
  const float dweight =
      factor == 0 ? 0.0f : dot(dout, value, a.features) * factor;
  weight = p * factor;
  ds = p * (dweight - terms.correction[row]);
}

/// dq: a block a tile of queries.
template <typename T, int kOutputs, bool mayDrop>
__global__ void __launch_bounds__(kThreads)
    queryGradKernel(AttentionArguments a, RowTerms terms) {
  extern __shared__ float shared[];
  if (terms.areUnneeded())
    return;
  const int64_t stride = strideOf(a.features), size = kRows * stride;
  float *queries = shared, *douts = queries + size, *keys = douts + size,
        *values = keys + size, *dscores = values + size;
  const auto [first, b, h] = placeOf(a.queries, a.heads);
  const int64_t g = h / (a.heads / a.groups);
  const int row = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int64_t t = first + row;
  copyTile<T>(a.q, a.qRows, b, first, a.queries, h, a.features, a.scale,
              queries);
  copyTile<T>(a.dout, a.doutRows, b, first, a.queries, h, a.features, 1, douts);
  const bool drops = dropsNow<mayDrop>(a);
  float sums[kOutputs] = {};
  const int64_t last =
      a.causal && first + kRows < a.keys ? first + kRows : a.keys;
  for (int64_t s0 = 0; s0 < last; s0 += kRows) {
    __syncthreads();
    copyTile<T>(a.k, a.kRows, b, s0, a.keys, g, a.features, 1, keys);
    copyTile<T>(a.v, a.vRows, b, s0, a.keys, g, a.features, 1, values);
    if (drops)
      drawRow(a, b, h, t, s0, lane, dscores + row * (kRows + 1), 1);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kKeysOfLane; ++j) {
      const int key = lane + j * kLanes;
      float &dscore = dscores[row * (kRows + 1) + key];
      float weight, ds;
      scoreOf(a, b, h, t, s0 + key, queries + row * stride, keys + key * stride,
              douts + row * stride, values + key * stride, terms,
              drops ? dscore : 1.0f, weight, ds);
      dscore = ds;
    }
    __syncwarp();
    addRows(dscores + row * (kRows + 1), keys, stride, a.features, lane, sums);
  }
  if (t >= a.queries)
    return;
  T *dq = rowAt<T>(a.dq, a.dqRows, b, t, h);
#pragma unroll
  for (int i = 0; i < kOutputs; ++i)
    if (lane + i * kLanes < a.features)
      dq[lane + i * kLanes] = fromFloat<T>(sums[i] * a.scale);
}

/// dk and dv: a block a tile of keys, over all heads that share them.
template <typename T, int kOutputs, bool mayDrop>
__global__ void __launch_bounds__(kThreads)
    keyGradKernel(AttentionArguments a, RowTerms terms) {
  extern __shared__ float shared[];
  if (terms.areUnneeded())
    return;
  const int64_t stride = strideOf(a.features), size = kRows * stride;
  float *queries = shared, *douts = queries + size, *keys = douts + size,
        *values = keys + size, *weights = values + size,
        *dscores = weights + kRows * (kRows + 1);
  const auto [first, b, g] = placeOf(a.keys, a.groups);
  const int64_t sharing = a.heads / a.groups;
  const int row = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  const int64_t s = first + row; // this thread's key
  copyTile<T>(a.k, a.kRows, b, first, a.keys, g, a.features, 1, keys);
  copyTile<T>(a.v, a.vRows, b, first, a.keys, g, a.features, 1, values);
  const bool drops = dropsNow<mayDrop>(a);
  float dk[kOutputs] = {}, dv[kOutputs] = {};
  for (int64_t h = g * sharing; h < (g + 1) * sharing; ++h) {
    for (int64_t t0 = a.causal ? first : 0; t0 < a.queries; t0 += kRows) {
      __syncthreads();
      copyTile<T>(a.q, a.qRows, b, t0, a.queries, h, a.features, a.scale,
                  queries);
      copyTile<T>(a.dout, a.doutRows, b, t0, a.queries, h, a.features, 1,
                  douts);
      // Rows are queries here: of each its weights of the tile's keys.
      if (drops)
        drawRow(a, b, h, t0 + row, first, lane, weights + row, kRows + 1);
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kKeysOfLane; ++j) {
        const int query = lane + j * kLanes;
        float &weight = weights[row * (kRows + 1) + query];
        scoreOf(a, b, h, t0 + query, s, queries + query * stride,
                keys + row * stride, douts + query * stride,
                values + row * stride, terms, drops ? weight : 1.0f, weight,
                dscores[row * (kRows + 1) + query]);
      }
      __syncwarp();
      // Queries are scaled, so dk needs no scale of its own.
      addRows(dscores + row * (kRows + 1), queries, stride, a.features, lane,
              dk);
      addRows(weights + row * (kRows + 1), douts, stride, a.features, lane, dv);
    }
  }
  if (s >= a.keys)
    return;
  T *keyRow = rowAt<T>(a.dk, a.dkRows, b, s, g);
  T *valueRow = rowAt<T>(a.dv, a.dvRows, b, s, g);
#pragma unroll
  for (int i = 0; i < kOutputs; ++i)
    if (lane + i * kLanes < a.features) {
      keyRow[lane + i * kLanes] = fromFloat<T>(dk[i]);
      valueRow[lane + i * kLanes] = fromFloat<T>(dv[i]);
    }
}

/// Calls `body` with the number of outputs of a lane, as a type.
template <int kValue> struct Outputs {
  static constexpr int value = kValue;
};
template <typename Body> void withOutputs(int64_t features, Body body) {
  if (features <= 128)
    return body(Outputs<128 / kLanes>());
  body(Outputs<kMostOutputs>());
}

/// Tiles and squares of scores that kernels keep in shared memory.
constexpr int kForwardTiles = 3, kForwardSquares = 1;
constexpr int kQueryTiles = 4, kQuerySquares = 1;
constexpr int kKeyTiles = 4, kKeySquares = 2;

size_t sharedBytes(int64_t features, int tiles, int squares) {
  return (tiles * kRows * strideOf(features) + squares * kRows * (kRows + 1)) *
         sizeof(float);
}

/// Allows `kernel` the shared memory that it needs, and returns it.
template <typename Kernel>
size_t allowShared(Kernel kernel, int64_t features, int tiles, int squares) {
  const size_t bytes = sharedBytes(features, tiles, squares);
  if (bytes > 48 * 1024) {
    const cudaError_t status = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (status != cudaSuccess)
      throw std::runtime_error(
          "attention over " + std::to_string(features) + " features needs " +
          std::to_string(bytes) +
          " bytes of shared memory: " + cudaGetErrorString(status));
  }
  return bytes;
}

/// Shared memory that a block may ask for on this device; 0 where that cannot
/// be known.
size_t mostShared() {
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                             device) != cudaSuccess)
    return 0;
  return size_t(bytes);
}

unsigned blocksOf(int64_t rows, int64_t batch, int64_t heads) {
  return unsigned(tilesOf(rows) * batch * heads);
}

} // namespace

std::string zrt::cuda::attentionRefusal(const AttentionArguments &a,
                                        bool gradient) {
  const size_t bytes =
      gradient ? std::max(sharedBytes(a.features, kQueryTiles, kQuerySquares),
                          sharedBytes(a.features, kKeyTiles, kKeySquares))
               : sharedBytes(a.features, kForwardTiles, kForwardSquares);
  const size_t most = mostShared();
  if (most && bytes > most)
    return "heads of " + std::to_string(a.features) + " features want " +
           std::to_string(bytes) +
           " bytes of shared memory a block, and this device has " +
           std::to_string(most) + ": wanted heads of fewer features";
  const int64_t tiles =
      tilesOf(gradient ? std::max(a.queries, a.keys) : a.queries);
  const int64_t heads = a.batch * a.heads, rows = heads * a.queries;
  const int64_t blocks = std::max(
      tiles * heads, gradient ? (rows + kRowsOfBlock - 1) / kRowsOfBlock : 0);
  if (blocks > INT32_MAX)
    return std::to_string(a.batch) + " sequences of " +
           std::to_string(a.queries) + " queries and " +
           std::to_string(a.heads) + " heads are " + std::to_string(blocks) +
           " blocks, wanted at most " + std::to_string(INT32_MAX);
  return {};
}

void zrt::cuda::attention(const AttentionArguments &a, cudaStream_t stream) {
  const unsigned blocks = blocksOf(a.queries, a.batch, a.heads);
  withType(a.type, [&](auto element) {
    withOutputs(a.features, [&](auto outputs) {
      using T = decltype(element);
      constexpr int count = decltype(outputs)::value;
      auto kernel = a.drops ? forwardKernel<T, count, true>
                            : forwardKernel<T, count, false>;
      kernel<<<blocks, kThreads,
               allowShared(kernel, a.features, kForwardTiles, kForwardSquares),
               stream>>>(a);
    });
  });
  checkLaunch("attention");
}

size_t zrt::cuda::attentionGradWorkspace(const AttentionArguments &a) {
  return a.batch * a.heads * a.queries * 3 * sizeof(float) + sizeof(int);
}

void zrt::cuda::attentionGrad(const AttentionArguments &a, cudaStream_t stream,
                              bool onlyIfNeeded) {
  const int64_t rows = a.batch * a.heads * a.queries;
  const RowTerms terms(a.workspace, rows, onlyIfNeeded);
  if (terms.needed) // `checkLaunch` reports its failure
    cudaMemsetAsync(terms.needed, 0, sizeof(int), stream);
  const unsigned rowBlocks = unsigned((rows + kRowsOfBlock - 1) / kRowsOfBlock);
  withType(a.type, [&](auto element) {
    using T = decltype(element);
    softmaxTermsKernel<T>
        <<<rowBlocks, kRowsOfBlock * 32, 0, stream>>>(a, terms);
    correctionKernel<T><<<rowBlocks, kRowsOfBlock * 32, 0, stream>>>(a, terms);
    withOutputs(a.features, [&](auto outputs) {
      constexpr int count = decltype(outputs)::value;
      auto queries = a.drops ? queryGradKernel<T, count, true>
                             : queryGradKernel<T, count, false>;
      queries<<<blocksOf(a.queries, a.batch, a.heads), kThreads,
                allowShared(queries, a.features, kQueryTiles, kQuerySquares),
                stream>>>(a, terms);
      auto keys = a.drops ? keyGradKernel<T, count, true>
                          : keyGradKernel<T, count, false>;
      keys<<<blocksOf(a.keys, a.batch, a.groups), kThreads,
             allowShared(keys, a.features, kKeyTiles, kKeySquares), stream>>>(
          a, terms);
    });
  });
  checkLaunch("attention_grad");
}
