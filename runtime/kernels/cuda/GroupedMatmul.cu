// nn.grouped_matmul and nn.grouped_matmul_grad on a device: the sizes of
// products are read there, so one launch covers what any sizes need.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/shapes/TensorShapes.h"

#include <algorithm>

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kTile = 64;  // rows and columns of a block's part of a result
constexpr int kDepth = 16; // terms at a time
constexpr int kEach = 4;   // rows and columns of a thread's part

struct Shape {
  int64_t rows, groups;   ///< of the left operand, and of its rows
  int64_t width, columns; ///< of the left operand, and of the result
  int64_t firstGroup;
  bool transposed;
};

/// Rows [begin, end) of group `e`, the last of which is what no group has.
/// False, and a note in `control`, where any offsets do not cut the rows: then
/// groups might have rows in common.
__device__ inline bool groupRows(const Shape &s, const int32_t *offsets,
                                 int64_t e, int64_t *begin, int64_t *end,
                                 Control *control) {
  bool valid = true;
  int64_t before = 0;
  for (int64_t g = 0; g < s.groups; ++g) {
    valid = valid && offsets[g] >= before && offsets[g] <= s.rows;
    before = offsets[g];
  }
  *begin = e ? offsets[e - 1] : 0;
  *end = e < s.groups ? offsets[e] : s.rows;
  if (!valid && threadIdx.x == 0)
    atomicExch(&control->outOfRange, 1); // other blocks may do so too
  return valid;
}

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
template <typename T>
__device__ inline void storeTile(const float (*sums)[kEach], int64_t rows,
                                 int64_t firstColumn, int64_t columns, T *to) {
  const int row = int(threadIdx.x) / 16 * kEach;
  const int64_t column = firstColumn + int(threadIdx.x) % 16 * kEach;
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j)
      if (row + i < rows && column + j < columns)
        to[(row + i) * columns + column + j] = fromFloat<T>(sums[i][j]);
}

/// blockIdx: columns, rows of a group, and the group.
template <typename T>
__global__ void groupedMatmulKernel(Shape s, const T *a, const T *b,
                                    const int32_t *offsets, T *c,
                                    Control *control) {
  int64_t begin, end;
  const int64_t e = blockIdx.z, n = int64_t(blockIdx.x) * kTile;
  if (!groupRows(s, offsets, e, &begin, &end, control))
    return;
  // What no group has is a sum over no terms.
  const int64_t depth = e < s.groups ? s.width : 0;
  const T *matrix = b + e * s.width * s.columns;
  for (int64_t m = begin + int64_t(blockIdx.y) * kTile; m < end;
       m += int64_t(gridDim.y) * kTile) {
    float sums[kEach][kEach];
    multiplyTile(
        depth,
        [&](int i, int64_t k) {
          return m + i < end ? toFloat(a[(m + i) * s.width + k]) : 0.0f;
        },
        [&](int64_t k, int j) {
          if (n + j >= s.columns)
            return 0.0f;
          return toFloat(matrix[s.transposed ? (n + j) * s.width + k
                                             : k * s.columns + n + j]);
        },
        sums);
    storeTile(sums, end - m, n, s.columns, c + m * s.columns);
  }
}

/// blockIdx: columns, rows of the group's matrix, and the group.
template <typename T>
__global__ void groupedMatmulGradKernel(Shape s, const T *a, const T *b,
                                        const int32_t *offsets, T *d,
                                        Control *control) {
  int64_t begin, end;
  const int64_t n = int64_t(blockIdx.x) * kTile;
  if (!groupRows(s, offsets, s.firstGroup + blockIdx.z, &begin, &end, control))
    return;
  T *matrix = d + int64_t(blockIdx.z) * s.width * s.columns;
  for (int64_t m = int64_t(blockIdx.y) * kTile; m < s.width;
       m += int64_t(gridDim.y) * kTile) {
    float sums[kEach][kEach];
    multiplyTile(
        end - begin,
        [&](int i, int64_t k) {
          return m + i < s.width ? toFloat(a[(begin + k) * s.width + m + i])
                                 : 0.0f;
        },
        [&](int64_t k, int j) {
          return n + j < s.columns ? toFloat(b[(begin + k) * s.columns + n + j])
                                   : 0.0f;
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
    isGradient = result.shape.size() == 3;
    shape.rows = a.shape[0];
    shape.width = a.shape[1];
    shape.columns = result.shape.back();
    shape.groups = spec.operands[2].shape[0];
    shape.transposed = spec.integer("transpose_b") != 0;
    const RowRange range = rowRange(spec, shape.groups);
    shape.firstGroup = range.first;
    groups = isGradient ? range.last - range.first : shape.groups + 1;
    if (groups > 65535)
      refuse(spec, "more than 65,534 groups");
    empty = result.elements() == 0;
  }

  void run(void *const *b, void *) override {
    if (empty)
      return;
    const dim3 grid(tiles(shape.columns),
                    std::min(tiles(isGradient ? shape.width : shape.rows),
                             unsigned(multiprocessors())),
                    unsigned(groups));
    const auto *offsets = static_cast<const int32_t *>(b[2]);
    withType(type, [&](auto element) {
      using T = decltype(element);
      const T *left = static_cast<const T *>(b[0]);
      const T *right = static_cast<const T *>(b[1]);
      T *to = static_cast<T *>(b[3]);
      if (isGradient)
        groupedMatmulGradKernel<T><<<grid, kThreads, 0, context.cuda->stream>>>(
            shape, left, right, offsets, to, context.control);
      else
        groupedMatmulKernel<T><<<grid, kThreads, 0, context.cuda->stream>>>(
            shape, left, right, offsets, to, context.control);
    });
    checkLaunch("grouped_matmul");
  }

private:
  static unsigned tiles(int64_t elements) {
    return unsigned((elements + kTile - 1) / kTile);
  }

  KernelContext context;
  DataType type;
  Shape shape;
  int64_t groups;
  bool isGradient, empty;
};

} // namespace

void registerGroupedMatmul(Registry &registry) {
  registry.add("nn.grouped_matmul", makeKernel<Grouped>);
  registry.add("nn.grouped_matmul_grad", makeKernel<Grouped>);
}

} // namespace zrt::cuda
