// nn.argsort and nn.cumsum on a device.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/shapes/TensorShapes.h"

#include <limits>

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;

/// A number that is ordered as `value` is; a NaN comes last.
template <typename T> __device__ inline int32_t orderOf(T value) {
  const float number = toFloat(value);
  if (number != number)
    return 0x7fffffff;
  const int32_t bits =
      number == 0 ? 0 : int32_t(__float_as_uint(number)); // -0 is 0
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
template <> __device__ inline int32_t orderOf(int32_t value) { return value; }

/// A row of at most so many elements is sorted by comparing all pairs.
constexpr int64_t kShort = 1024;

/// A thread finds how many elements of its row come before one of them.
template <typename T>
__global__ void rankKernel(const T *x, int64_t elements, int64_t width,
                           int64_t kept, int32_t flip, int32_t *order) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < elements;
       t += int64_t(gridDim.x) * blockDim.x) {
    const int64_t row = t / width, i = t % width;
    const int32_t mine = orderOf(x[t]) ^ flip;
    int64_t rank = 0;
    for (int64_t j = 0; j < width; ++j) {
      const int32_t other = orderOf(x[row * width + j]) ^ flip;
      rank += other < mine || (other == mine && j < i);
    }
    if (rank < kept)
      order[row * kept + rank] = int32_t(i);
  }
}

template <typename T>
__global__ void orderKernel(const T *x, int64_t elements, int32_t flip,
                            int32_t *keys) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < elements;
       t += int64_t(gridDim.x) * blockDim.x)
    keys[t] = orderOf(x[t]) ^ flip;
}

__global__ void rowKernel(const int32_t *order, int64_t elements, int64_t width,
                          int32_t *rows) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < elements;
       t += int64_t(gridDim.x) * blockDim.x)
    rows[t] = int32_t(order[t] / width);
}

/// Of elements in order, sorted by row again: the first of each row.
__global__ void firstKernel(const int32_t *byElement, const int32_t *byRow,
                            int64_t results, int64_t width, int64_t kept,
                            int32_t *order) {
  for (int64_t t = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; t < results;
       t += int64_t(gridDim.x) * blockDim.x)
    order[t] = int32_t(byElement[byRow[t / kept * width + t % kept]] % width);
}

/// Calls `body` with a value of the element type, a float or int32_t.
template <typename Body> void withNumber(DataType type, Body body) {
  if (type == DataType::I32)
    return body(int32_t());
  withType(type, body);
}

class Argsort final : public Kernel {
public:
  Argsort(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        elements(spec.operands[0].elements()),
        width(spec.operands[0].shape.back()),
        results(spec.results[0].elements()), kept(spec.results[0].shape.back()),
        flip(spec.integer("descending") ? -1 : 0) {
    if (elements > std::numeric_limits<int32_t>::max())
      refuse(spec, "more than 2^31 - 1 elements");
  }

  size_t workspaceBytes() const override {
    return isShort() ? 0 : keyBytes() + 2 * stableOrderWorkspace(elements);
  }

  void run(void *const *b, void *workspace) override {
    if (!elements)
      return;
    auto *order = static_cast<int32_t *>(b[1]);
    withNumber(type, [&](auto element) {
      using T = decltype(element);
      const T *x = static_cast<const T *>(b[0]);
      const unsigned blocks = blocksFor(elements, kThreads);
      if (isShort())
        rankKernel<T><<<blocks, kThreads, 0, stream>>>(x, elements, width, kept,
                                                       flip, order);
      else
        orderKernel<T><<<blocks, kThreads, 0, stream>>>(
            x, elements, flip, static_cast<int32_t *>(workspace));
    });
    if (!isShort())
      sortAll(static_cast<char *>(workspace), order);
    checkLaunch("argsort");
  }

private:
  /// Sorts the elements of all rows, and what that gives by rows: both sorts
  /// are stable.
  void sortAll(char *workspace, int32_t *order) {
    auto *keys = reinterpret_cast<int32_t *>(workspace);
    workspace += keyBytes();
    const StableOrder byElement =
        stableOrder(keys, elements, workspace, stream);
    rowKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
        byElement.order, elements, width, keys);
    workspace += stableOrderWorkspace(elements);
    const StableOrder byRow = stableOrder(keys, elements, workspace, stream);
    firstKernel<<<blocksFor(results, kThreads), kThreads, 0, stream>>>(
        byElement.order, byRow.order, results, width, kept, order);
  }

  bool isShort() const { return width <= kShort; }
  size_t keyBytes() const {
    return (elements * sizeof(int32_t) + 255) / 256 * 256;
  }

  cudaStream_t stream;
  DataType type;
  int64_t elements, width, results, kept;
  int32_t flip;
};

/// What running sums are kept in; integers wrap around.
template <typename T> struct Running {
  using Sum = float;
  __device__ static float from(T value) { return toFloat(value); }
  __device__ static T to(float sum) { return fromFloat<T>(sum); }
};
template <> struct Running<int32_t> {
  using Sum = uint32_t;
  __device__ static uint32_t from(int32_t value) { return uint32_t(value); }
  __device__ static int32_t to(uint32_t sum) { return int32_t(sum); }
};

/// A thread goes along a column.
template <typename T>
__global__ void columnKernel(const T *x, int64_t columns, int64_t size,
                             int64_t inner, bool reverse, T *y) {
  for (int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; c < columns;
       c += int64_t(gridDim.x) * blockDim.x) {
    const int64_t first = c / inner * size * inner + c % inner;
    typename Running<T>::Sum sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = first + (reverse ? size - 1 - k : k) * inner;
      sum += Running<T>::from(x[at]);
      y[at] = Running<T>::to(sum);
    }
  }
}

/// A block goes along a row, as many elements at a time as it has threads.
template <typename T>
__global__ void rowSumKernel(const T *x, int64_t rows, int64_t size,
                             bool reverse, T *y) {
  using Sum = typename Running<T>::Sum;
  __shared__ Sum parts[kThreads];
  const int t = int(threadIdx.x);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    Sum before = 0;
    for (int64_t first = 0; first < size; first += kThreads) {
      const int64_t k = first + t;
      const int64_t at = row * size + (reverse ? size - 1 - k : k);
      parts[t] = k < size ? Running<T>::from(x[at]) : Sum(0);
      __syncthreads();
      for (int by = 1; by < kThreads; by *= 2) {
        const Sum other = t >= by ? parts[t - by] : Sum(0);
        __syncthreads();
        parts[t] += other;
        __syncthreads();
      }
      if (k < size)
        y[at] = Running<T>::to(before + parts[t]);
      before += parts[kThreads - 1];
      __syncthreads();
    }
  }
}

class Cumsum final : public Kernel {
public:
  Cumsum(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), reverse(spec.integer("reverse") != 0) {
    const TensorType &x = spec.operands[0];
    const size_t dim = size_t(spec.integer("dim"));
    type = x.type;
    size = x.shape[dim];
    inner = product(x, dim + 1, x.shape.size());
    columns = product(x, 0, dim) * inner;
  }

  void run(void *const *b, void *) override {
    if (columns * size == 0)
      return;
    withNumber(type, [&](auto element) {
      using T = decltype(element);
      const T *x = static_cast<const T *>(b[0]);
      T *y = static_cast<T *>(b[1]);
      if (inner == 1)
        rowSumKernel<T><<<blocksFor(columns, 1), kThreads, 0, stream>>>(
            x, columns, size, reverse, y);
      else
        columnKernel<T><<<blocksFor(columns, kThreads), kThreads, 0, stream>>>(
            x, columns, size, inner, reverse, y);
    });
    checkLaunch("cumsum");
  }

private:
  cudaStream_t stream;
  bool reverse;
  DataType type;
  int64_t size, inner, columns;
};

} // namespace

void registerOrdering(Registry &registry) {
  registry.add("nn.argsort", makeKernel<Argsort>);
  registry.add("nn.cumsum", makeKernel<Cumsum>);
}

} // namespace zrt::cuda
