// nn.grouped_matmul and nn.grouped_matmul_grad on a device: the sizes of
// products are read there, so one launch covers what any sizes need. Here are
// the products in f32; those in 16 bits are GroupedProducts.cu's.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/GroupOffsets.cuh"
#include "kernels/shapes/TensorShapes.h"

#include <algorithm>

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kTile = 64;  // rows and columns of a block's part of a result
constexpr int kDepth = 16; // terms at a time
constexpr int kEach = 4;   // rows and columns of a thread's part

/// sums[i][j] = the sum over k below `depth` of left(row, k) * right(k, column)
/// for the rows and columns that are this thread's. All threads of the block
/// call it.
template <typename Left, typename Right>
__device__ inline void multiplyTile(int64_t depth, Left left, Right right,
                                    float (*sums)[kEach]) {
  __shared__ float a[kDepth][kTile], b[kDepth][kTile];
  const int row = int(threadIdx.x) / 16 * kEach;
  const int column = int(threadIdx.x) % 16 * kEach;
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j)
      sums[i][j] = 0;
  for (int64_t first = 0; first < depth; first += kDepth) {
    for (int t = int(threadIdx.x); t < kDepth * kTile; t += kThreads) {
      const int k = t / kTile, i = t % kTile;
      a[k][i] = first + k < depth ? left(i, first + k) : 0.0f;
      b[k][i] = first + k < depth ? right(first + k, i) : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j)
          sums[i][j] = fmaf(a[k][row + i], b[k][column + j], sums[i][j]);
    __syncthreads();
  }
}

/// Writes this thread's part of rows [0, rows) of a tile at `to`.
__device__ inline void storeTile(const float (*sums)[kEach], int64_t rows,
                                 int64_t firstColumn, int64_t columns,
                                 float *to) {
  const int row = int(threadIdx.x) / 16 * kEach;
  const int64_t column = firstColumn + int(threadIdx.x) % 16 * kEach;
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j)
      if (row + i < rows && column + j < columns)
        to[(row + i) * columns + column + j] = sums[i][j];
}

/// blockIdx: columns, rows of a group, and the group.
__global__ void groupedMatmulKernel(GroupedShape s, const float *a,
                                    const float *b, const int32_t *offsets,
                                    float *c, Control *control) {
  const int64_t e = blockIdx.z, n = int64_t(blockIdx.x) * kTile;
  if (!haveRows(s, offsets, control))
    return;
  const int64_t begin = beginOf(offsets, e), end = endOf(s, offsets, e);
  // What no group has is a sum over no terms.
  const int64_t depth = e < s.groups ? s.width : 0;
  const float *matrix = b + e * s.width * s.columns;
  for (int64_t m = begin + int64_t(blockIdx.y) * kTile; m < end;
       m += int64_t(gridDim.y) * kTile) {
    float sums[kEach][kEach];
    multiplyTile(
        depth,
        [&](int i, int64_t k) {
          return m + i < end ? a[(m + i) * s.width + k] : 0.0f;
        },
        [&](int64_t k, int j) {
          if (n + j >= s.columns)
            return 0.0f;
          return matrix[s.form == GroupedForm::Transposed
                            ? (n + j) * s.width + k
                            : k * s.columns + n + j];
        },
        sums);
    storeTile(sums, end - m, n, s.columns, c + m * s.columns);
  }
}

/// blockIdx: columns, rows of the group's matrix, and the group.
__global__ void groupedMatmulGradKernel(GroupedShape s, const float *a,
                                        const float *b, const int32_t *offsets,
                                        float *d, Control *control) {
  const int64_t e = s.firstGroup + blockIdx.z, n = int64_t(blockIdx.x) * kTile;
  if (!haveRows(s, offsets, control))
    return;
  const int64_t begin = beginOf(offsets, e), end = endOf(s, offsets, e);
  float *matrix = d + int64_t(blockIdx.z) * s.width * s.columns;
  for (int64_t m = int64_t(blockIdx.y) * kTile; m < s.width;
       m += int64_t(gridDim.y) * kTile) {
    float sums[kEach][kEach];
    multiplyTile(
        end - begin,
        [&](int i, int64_t k) {
          return m + i < s.width ? a[(begin + k) * s.width + m + i] : 0.0f;
        },
        [&](int64_t k, int j) {
          return n + j < s.columns ? b[(begin + k) * s.columns + n + j] : 0.0f;
        },
        sums);
    storeTile(sums, s.width - m, n, s.columns, matrix + m * s.columns);
  }
}

/// Both products; the gradient has a result of rank 3.
class Grouped final : public Kernel {
public:
  Grouped(const KernelSpec &spec, const KernelContext &context)
      : context(context), type(spec.operands[0].type) {
    const TensorType &a = spec.operands[0], &result = spec.results[0];
    shape.form = result.shape.size() == 3      ? GroupedForm::Gradient
                 : spec.integer("transpose_b") ? GroupedForm::Transposed
                                               : GroupedForm::Plain;
    shape.rows = a.shape[0];
    shape.width = a.shape[1];
    shape.columns = result.shape.back();
    shape.groups = spec.operands[2].shape[0];
    const RowRange range = rowRange(spec, shape.groups);
    shape.firstGroup = range.first;
    shape.matrices = range.last - range.first;
    if (shape.groups + 1 > kMostGroups)
      refuse(spec, "more than 65,534 groups");
    if (type != DataType::F32 && groupedProductBlocks(shape) > kMostBlocks)
      refuse(spec, "more blocks than a launch has, 2^31 - 1");
    if (type != DataType::F32 &&
        std::max(shape.width, shape.columns) > kMostColumns)
      refuse(spec, "rows of more than 2^30 elements");
    empty = result.elements() == 0;
  }

  void run(void *const *b, void *) override {
    if (empty)
      return;
    const auto *offsets = static_cast<const int32_t *>(b[2]);
    if (type == DataType::F32)
      runF32(b, offsets);
    else
      groupedProducts(shape, type, {b[0], b[1], offsets, b[3], context.control},
                      context.cuda->stream);
  }

private:
  static constexpr int64_t kMostGroups = 65535, kMostColumns = 1 << 30;

  void runF32(void *const *b, const int32_t *offsets) {
    const bool isGradient = shape.form == GroupedForm::Gradient;
    const dim3 grid(tiles(shape.columns),
                    std::min(tiles(isGradient ? shape.width : shape.rows),
                             unsigned(multiprocessors())),
                    unsigned(isGradient ? shape.matrices : shape.groups + 1));
    const auto *left = static_cast<const float *>(b[0]);
    const auto *right = static_cast<const float *>(b[1]);
    auto *to = static_cast<float *>(b[3]);
    if (isGradient)
      groupedMatmulGradKernel<<<grid, kThreads, 0, context.cuda->stream>>>(
          shape, left, right, offsets, to, context.control);
    else
      groupedMatmulKernel<<<grid, kThreads, 0, context.cuda->stream>>>(
          shape, left, right, offsets, to, context.control);
    checkLaunch("grouped_matmul");
  }

  static unsigned tiles(int64_t elements) {
    return unsigned((elements + kTile - 1) / kTile);
  }

  KernelContext context;
  DataType type;
  GroupedShape shape;
  bool empty;
};

} // namespace

void registerGroupedMatmul(Registry &registry) {
  registry.add("nn.grouped_matmul", makeKernel<Grouped>);
  registry.add("nn.grouped_matmul_grad", makeKernel<Grouped>);
}

} // namespace zrt::cuda
