// Products of groups of rows in 16 bits, on tensor cores. Tiles of both
// operands lie in shared memory, twice: one pair is multiplied while the next
// one arrives. Sums are in f32, in the order of the depth, and rounded once.
//
// The groups' sizes are data, so a launch has a block for whatever tiles there
// may be; the few that turn out to have no rows return at once.
#include "kernels/cuda/GroupOffsets.cuh"
#include "kernels/cuda/Wide.cuh"

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <type_traits>

using namespace zrt;
using namespace zrt::cuda;

namespace {

namespace wmma = nvcuda::wmma;

constexpr int kWarp = 32, kWarps = 8;
constexpr int kThreads = kWarp * kWarps;
constexpr int kColumns = 128; ///< of a block's tile of the result
constexpr int kManyRows = 128, kFewRows = 32; ///< of the same
constexpr int kDepth = 32;                    ///< terms of a pair of tiles
constexpr int kSide = 16;                     ///< of a fragment
constexpr int kWarpsAcross = 4, kWarpsDown = kWarps / kWarpsAcross;
constexpr int kWarpColumns = kColumns / kWarpsAcross;
constexpr int kAcross = kWarpColumns / kSide; ///< fragments of a warp
/// Between the rows of a tile, so that fragments' rows lie in different banks:
/// elements, and results before they are rounded.
constexpr int kGap = 8, kResultGap = 4;

/// The name that tensor cores' operands have.
template <typename T> struct OperandOf {
  using Type = T;
};
template <> struct OperandOf<BF16> {
  using Type = __nv_bfloat16;
};

template <typename T> struct Products {
  GroupedShape shape;
  const T *left, *right;
  const int32_t *offsets;
  T *result;
  Control *control;
  bool wideLeft, wideRight, wideResult; ///< rows are whole vectors
};

/// A matrix from a tile's first element on, `stride` between its rows.
template <typename T> struct Source {
  const T *from;
  int stride;
  int extent; ///< across the depth, of what follows: a tile's at most matters
  int depth;  ///< none where negative
  bool wide;
};

/// A tile of shared memory. `down`: the depth runs down its rows, of which
/// each has `extent` elements; else it has `extent` rows.
template <typename T, bool down, int extent> struct Tile {
  static constexpr int kRows = down ? kDepth : extent;
  static constexpr int kRow = down ? extent : kDepth;
  static constexpr int kStride = kRow + kGap;
  using Operand = typename OperandOf<T>::Type;

  T elements[kRows * kStride];

  /// From where the fragment is whose first element is `at` on, at `k`.
  __device__ const Operand *fragment(int at, int k) const {
    return reinterpret_cast<const Operand *>(
        elements + (down ? k * kStride + at : at * kStride + k));
  }

  /// Starts to copy what there is of `source`, and writes zeros for the rest;
  /// then moves `source` on by a tile.
  __device__ void fetch(Source<T> &source) {
    constexpr int kVectors = kRow / kWide<T>, kStep = kThreads / kVectors;
    static_assert(kThreads % kVectors == 0, "whole rows at a time");
    const int first = int(threadIdx.x) / kVectors;
    const int column = int(threadIdx.x) % kVectors * kWide<T>;
    const int rows = down ? source.depth : source.extent;
    const int columns = down ? source.extent : source.depth;
    const int count = columns <= column ? 0 : wideCount<T>(column, columns);
    const bool copied = source.wide && count == kWide<T>;
#pragma unroll 1
    for (int part = 0; part < kRows; part += kStep) {
      const int row = first + part;
      if (part + kStep > kRows && row >= kRows)
        break;
      const T *from = source.from + int64_t(row) * source.stride + column;
      T *to = elements + row * kStride + column;
      if (copied && row < rows)
        __pipeline_memcpy_async(to, from, sizeof(Wide<T>));
      else
        *reinterpret_cast<Wide<T> *>(to) =
            loadWide(from, 0, row < rows ? count : 0, false);
    }
    source.from += down ? int64_t(kDepth) * source.stride : kDepth;
    source.depth -= kDepth;
  }
};

/// The product of a block's tile.
template <typename T, GroupedForm form, int rows> struct Product {
  static constexpr bool kLeftDown = form == GroupedForm::Gradient;
  static constexpr bool kRightDown = form != GroupedForm::Transposed;
  static constexpr int kWarpRows = rows / kWarpsDown;
  static constexpr int kDown = kWarpRows / kSide; ///< fragments of a warp
  static constexpr int kResultStride = kWarpColumns + kResultGap;

  template <bool isColumns>
  using Layout =
      std::conditional_t<isColumns, wmma::col_major, wmma::row_major>;
  using Operand = typename OperandOf<T>::Type;
  using Left = wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, Operand,
                              Layout<kLeftDown>>;
  using Right = wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, Operand,
                               Layout<!kRightDown>>;
  using Sums = wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float>;

  struct Stage {
    Tile<T, kLeftDown, rows> left;
    Tile<T, kRightDown, kColumns> right;
  };
  /// Results follow once the last stage is multiplied.
  union alignas(128) Memory {
    Stage stages[2];
    float results[kWarps][kSide * kResultStride];
  };

  Memory &memory;
  Sums sums[kDown][kAcross];

  __device__ static int warpRow() {
    return int(threadIdx.x) / kWarp / kWarpsAcross * kWarpRows;
  }
  __device__ static int warpColumn() {
    return int(threadIdx.x) / kWarp % kWarpsAcross * kWarpColumns;
  }

  __device__ void multiply(const Stage &stage) {
#pragma unroll
    for (int k = 0; k < kDepth; k += kSide) {
      Right right[kAcross];
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        wmma::load_matrix_sync(
            right[j], stage.right.fragment(warpColumn() + j * kSide, k),
            stage.right.kStride);
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        Left left;
        wmma::load_matrix_sync(left,
                               stage.left.fragment(warpRow() + i * kSide, k),
                               stage.left.kStride);
#pragma unroll
        for (int j = 0; j < kAcross; ++j)
          wmma::mma_sync(sums[i][j], left, right[j], sums[i][j]);
      }
    }
  }

  /// Sums over `depth` terms. `busy`: this warp has results.
  __device__ void run(Source<T> left, Source<T> right, int depth, bool busy) {
#pragma unroll
    for (int i = 0; i < kDown; ++i)
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        wmma::fill_fragment(sums[i][j], 0.0f);
    const int steps = depth / kDepth + (depth % kDepth != 0);
    for (int step = 0; step <= steps; ++step) {
      __pipeline_wait_prior(0);
      // All have their part of the last stage, and are done with the other.
      __syncthreads();
      if (step < steps) {
        memory.stages[step & 1].left.fetch(left);
        memory.stages[step & 1].right.fetch(right);
        __pipeline_commit();
      }
      if (step && busy)
        multiply(memory.stages[(step - 1) & 1]);
    }
  }

  /// Writes the tile's rows and columns at `to`, `stride` between its rows.
  /// `wide`: rows of the result are whole vectors.
  __device__ void store(T *to, int stride, int rowCount, int columnCount,
                        bool wide) {
    __syncthreads(); // results replace the stages
    float *own = memory.results[threadIdx.x / kWarp];
    constexpr int kVectors = kWarpColumns / kWide<T>;
    constexpr int kStep = kWarp / kVectors;
    const int line = int(threadIdx.x) % kWarp / kVectors;
    const int first = int(threadIdx.x) % kVectors * kWide<T>;
    const int column = warpColumn() + first;
#pragma unroll
    for (int i = 0; i < kDown; ++i) {
      if (i)
        __syncwarp();
#pragma unroll
      for (int j = 0; j < kAcross; ++j)
        wmma::store_matrix_sync(own + j * kSide, sums[i][j], kResultStride,
                                wmma::mem_row_major);
      __syncwarp();
#pragma unroll 1
      for (int part = line; part < kSide; part += kStep) {
        const int row = warpRow() + i * kSide + part;
        if (row < rowCount && column < columnCount)
          storeWide(to + int64_t(row) * stride, column,
                    wideCount<T>(column, columnCount), wide,
                    own + part * kResultStride + first);
      }
    }
  }
};

__host__ __device__ inline int64_t tilesOf(int64_t elements, int tile) {
  return (elements + tile - 1) / tile;
}

/// The first elements of a block's tiles, and how much is there of them.
template <typename T> struct Place {
  const T *left, *right;
  T *result;
  int rows, columns, depth;
};

/// Of what remains from a tile's beginning on.
__device__ inline int extentOf(int64_t remaining, int tile) {
  return int(remaining < tile ? remaining : tile);
}

/// Of rows by matrices. blockIdx.x: columns, then slots of groups' rows.
template <bool transposed, typename T>
__device__ Place<T> placeInRows(const Products<T> &p, int tileRows) {
  const GroupedShape &s = p.shape;
  const unsigned across = unsigned(tilesOf(s.columns, kColumns));
  const int64_t n = int64_t(blockIdx.x % across) * kColumns;
  const int64_t slot = blockIdx.x / across;
  const int64_t e = groupOf(s, p.offsets, slot, tileRows, p.control);
  if (e < 0)
    return {};
  const int64_t begin = beginOf(p.offsets, e);
  const int64_t m = begin + (slot - slotOf(begin, e, tileRows)) * tileRows;
  const int64_t end = endOf(s, p.offsets, e);
  const T *matrix = p.right + e * s.width * s.columns;
  return {p.left + m * s.width,
          matrix + (transposed ? n * s.width : n),
          p.result + m * s.columns + n,
          m < end ? extentOf(end - m, tileRows) : 0,
          extentOf(s.columns - n, kColumns),
          e < s.groups ? int(s.width) : 0}; // of no group: a sum of no terms
}

/// Of a group's rows by each other. blockIdx.x: columns, then rows of a
/// matrix, then matrices.
template <typename T>
__device__ Place<T> placeInMatrix(const Products<T> &p, int tileRows) {
  const GroupedShape &s = p.shape;
  const unsigned across = unsigned(tilesOf(s.columns, kColumns));
  const unsigned down = unsigned(tilesOf(s.width, tileRows));
  const int64_t n = int64_t(blockIdx.x % across) * kColumns;
  const int64_t m = int64_t(blockIdx.x / across % down) * tileRows;
  const int64_t matrix = blockIdx.x / across / down;
  if (!haveRows(s, p.offsets, p.control))
    return {};
  const int64_t begin = beginOf(p.offsets, s.firstGroup + matrix);
  return {p.left + begin * s.width + m,
          p.right + begin * s.columns + n,
          p.result + (matrix * s.width + m) * s.columns + n,
          extentOf(s.width - m, tileRows),
          extentOf(s.columns - n, kColumns),
          int(endOf(s, p.offsets, s.firstGroup + matrix) - begin)};
}

template <typename T, GroupedForm form, int rows>
__global__ void __launch_bounds__(kThreads, 2)
    groupedProductKernel(Products<T> p) {
  using Own = Product<T, form, rows>;
  constexpr bool transposed = form == GroupedForm::Transposed;
  __shared__ typename Own::Memory memory;
  Place<T> at;
  if constexpr (form == GroupedForm::Gradient)
    at = placeInMatrix(p, rows);
  else
    at = placeInRows<transposed>(p, rows);
  if (!at.rows) // in all threads
    return;
  const int width = int(p.shape.width), columns = int(p.shape.columns);
  Own product{memory, {}};
  product.run({at.left, width, at.rows, at.depth, p.wideLeft},
              {at.right, transposed ? width : columns, at.columns, at.depth,
               p.wideRight},
              at.depth,
              Own::warpRow() < at.rows && Own::warpColumn() < at.columns);
  product.store(at.result, columns, at.rows, at.columns, p.wideResult);
}

/// Rows of a block's tile: few where groups have few, as most of the tile
/// would be empty.
int tileRows(const GroupedShape &s) {
  const bool few =
      s.form != GroupedForm::Gradient && s.rows < s.groups * (kManyRows / 2);
  return few ? kFewRows : kManyRows;
}

template <typename T, GroupedForm form, int rows>
void launch(const Products<T> &p, cudaStream_t stream) {
  const auto blocks = unsigned(groupedProductBlocks(p.shape));
  groupedProductKernel<T, form, rows><<<blocks, kThreads, 0, stream>>>(p);
}

template <typename T, GroupedForm form>
void launchRows(const Products<T> &p, cudaStream_t stream) {
  if (tileRows(p.shape) == kFewRows)
    launch<T, form, kFewRows>(p, stream);
  else
    launch<T, form, kManyRows>(p, stream);
}

template <typename T>
void launchOf(const GroupedShape &s, const GroupedBuffers &b,
              cudaStream_t stream) {
  const int64_t ofRight =
      s.form == GroupedForm::Transposed ? s.width : s.columns;
  const Products<T> p = {s,
                         static_cast<const T *>(b.left),
                         static_cast<const T *>(b.right),
                         b.offsets,
                         static_cast<T *>(b.result),
                         b.control,
                         haveWideRows<T>(s.width, b.left),
                         haveWideRows<T>(ofRight, b.right),
                         haveWideRows<T>(s.columns, b.result)};
  switch (s.form) {
  case GroupedForm::Plain:
    return launchRows<T, GroupedForm::Plain>(p, stream);
  case GroupedForm::Transposed:
    return launchRows<T, GroupedForm::Transposed>(p, stream);
  case GroupedForm::Gradient:
    return launch<T, GroupedForm::Gradient, kManyRows>(p, stream);
  }
}

} // namespace

int64_t zrt::cuda::groupedProductBlocks(const GroupedShape &s) {
  const int rows = tileRows(s);
  const int64_t down = s.form == GroupedForm::Gradient
                           ? tilesOf(s.width, rows) * s.matrices
                           : s.rows / rows + s.groups + 1;
  return tilesOf(s.columns, kColumns) * down;
}

void zrt::cuda::groupedProducts(const GroupedShape &shape, DataType type,
                                const GroupedBuffers &buffers,
                                cudaStream_t stream) {
  if (type == DataType::BF16)
    launchOf<BF16>(shape, buffers, stream);
  else
    launchOf<__half>(shape, buffers, stream);
  checkLaunch("grouped_matmul");
}
