// nn.grouped_matmul and nn.grouped_matmul_grad: a product of oneDNN for each
// group and block of columns. Where the CPU does not multiply the type, it is
// one of copies in f32.
#include "kernels/host/Host.h"
#include "kernels/host/OpenProduct.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace zrt::host {

namespace {

/// Throws std::out_of_range where offsets do not cut [0, rows).
void checkOffsets(const char *kernel, const int32_t *offsets, int64_t groups,
                  int64_t rows) {
  int64_t before = 0;
  for (int64_t e = 0; e < groups; ++e) {
    if (offsets[e] < before || offsets[e] > rows)
      throw std::out_of_range(
          std::string(kernel) + ": offset " + std::to_string(offsets[e]) +
          " of group " + std::to_string(e) + " follows " +
          std::to_string(before) + " of " + std::to_string(rows) +
          " rows; wanted offsets that do not decrease");
    before = offsets[e];
  }
}

/// What both have: the left operand in f32 where it is copied, and of each
/// worker a panel of the right one, where that is, and a tile of the result,
/// where that is rounded.
template <typename T> class Grouped : public Kernel {
public:
  size_t workspaceBytes() const override {
    return leftBytes() + pool.threads() * workerBytes();
  }

protected:
  /// `rows` and `width` of the left operand; the right one has at most `depth`
  /// rows in a product.
  Grouped(const KernelContext &context, int64_t rows, int64_t width,
          int64_t columns, int64_t depth, bool transposedA, bool transposedB)
      : pool(*context.pool), rows(rows), width(width), columns(columns),
        depth(depth), transposedA(transposedA), transposedB(transposedB),
        widens(!computesIn(typeOf<T>())),
        product(widens ? DataType::F32 : typeOf<T>(), transposedA,
                transposedB) {}

  /// The left operand as products read it.
  const char *leftOf(const T *a, void *workspace) {
    if (!widens)
      return reinterpret_cast<const char *>(a);
    auto *wide = static_cast<float *>(workspace);
    pool.parallelFor(rows, rowGrain(width), [&](int64_t begin, int64_t end) {
      convertToFloat(a + begin * width, wide + begin * width,
                     (end - begin) * width);
    });
    return static_cast<const char *>(workspace);
  }
  size_t leftElement() const { return widens ? sizeof(float) : sizeof(T); }

  float *scratchOf(void *workspace, int worker) const {
    return reinterpret_cast<float *>(static_cast<char *>(workspace) +
                                     leftBytes() + worker * workerBytes());
  }

  /// c = a b: `count` rows, `wide` columns, `steps` terms. Columns of b are
  /// `between` elements apart where it is transposed, else its rows.
  void multiply(const char *a, int64_t count, const T *b, int64_t between,
                int64_t wide, int64_t steps, T *c, float *scratch) const {
    MatrixView right = {b, between};
    if (widens)
      right = widen(b, between, wide, steps, scratch);
    if constexpr (sizeof(T) == sizeof(float))
      return product.run(count, wide, steps, {a, width}, right, c, columns);
    float *tile = scratch + panelElements();
    const int64_t row = leftElement() * (transposedA ? 1 : width);
    for (int64_t i = 0; i < count; i += kRows) {
      const int64_t some = std::min(kRows, count - i);
      product.run(some, wide, steps, {a + i * row, width}, right, tile, wide);
      for (int64_t r = 0; r < some; ++r)
        convertFromFloat(tile + r * wide, c + (i + r) * columns, wide);
    }
  }

  /// Of a unit. Where products are over rows, a panel has room for all of them.
  int64_t unitColumns() const {
    return widens && transposedA ? kNarrow : kWide;
  }
  int64_t blocks() const {
    return (columns + unitColumns() - 1) / unitColumns();
  }

  ThreadPool &pool;
  int64_t rows, width, columns, depth;

private:
  static constexpr int64_t kRows = 256, kWide = 256, kNarrow = 128;

  MatrixView widen(const T *b, int64_t between, int64_t wide, int64_t steps,
                   float *panel) const {
    const int64_t count = transposedB ? wide : steps,
                  length = transposedB ? steps : wide;
    for (int64_t i = 0; i < count; ++i)
      convertToFloat(b + i * between, panel + i * length, length);
    return {panel, length};
  }

  int64_t panelElements() const {
    return widens ? depth * std::min(columns, unitColumns()) : 0;
  }
  size_t leftBytes() const {
    return widens ? padded(rows * width * sizeof(float)) : 0;
  }
  size_t workerBytes() const {
    const int64_t tile = sizeof(T) == sizeof(float)
                             ? 0
                             : kRows * std::min(columns, unitColumns());
    return padded((panelElements() + tile) * sizeof(float));
  }

  bool transposedA, transposedB, widens;
  OpenProduct product;
};

template <typename T> class GroupedMatmul final : public Grouped<T> {
public:
  GroupedMatmul(const KernelSpec &spec, const KernelContext &context)
      : Grouped<T>(context, spec.operands[0].shape[0],
                   spec.operands[0].shape[1], spec.results[0].shape[1],
                   spec.operands[0].shape[1], /*transposedA=*/false,
                   spec.integer("transpose_b") != 0),
        groups(spec.operands[1].shape[0]),
        transposed(spec.integer("transpose_b") != 0) {}

  void run(void *const *buffers, void *workspace) override {
    const T *b = at<T>(buffers, 1);
    const int32_t *offsets = at<int32_t>(buffers, 2);
    T *c = at<T>(buffers, 3);
    checkOffsets("nn.grouped_matmul", offsets, groups, this->rows);
    const int64_t columns = this->columns, width = this->width;
    // Sums over no terms are zeros as well.
    const int64_t last = groups && width ? offsets[groups - 1] : 0;
    std::memset(static_cast<void *>(c + last * columns), 0,
                (this->rows - last) * columns * sizeof(T));
    if (last == 0)
      return;
    const char *left = this->leftOf(at<T>(buffers, 0), workspace);
    const int64_t blocks = this->blocks(), most = this->unitColumns();
    this->pool.parallelForWorkers(
        groups * blocks, 1, [&](int64_t from, int64_t to, int worker) {
          float *scratch = this->scratchOf(workspace, worker);
          for (int64_t unit = from; unit < to; ++unit) {
            const int64_t e = unit / blocks, n = unit % blocks * most;
            const int64_t begin = e ? offsets[e - 1] : 0, end = offsets[e];
            if (begin == end)
              continue;
            this->multiply(
                left + begin * width * this->leftElement(), end - begin,
                b + e * width * columns + n * (transposed ? width : 1),
                transposed ? width : columns, std::min(most, columns - n),
                width, c + begin * columns + n, scratch);
          }
        });
  }

private:
  int64_t groups;
  bool transposed;
};

template <typename T> class GroupedMatmulGrad final : public Grouped<T> {
public:
  GroupedMatmulGrad(const KernelSpec &spec, const KernelContext &context)
      : Grouped<T>(context, spec.operands[0].shape[0],
                   spec.operands[0].shape[1], spec.operands[1].shape[1],
                   spec.operands[0].shape[0], /*transposedA=*/true,
                   /*transposedB=*/false),
        groups(spec.operands[2].shape[0]), range(rowRange(spec, groups)) {}

  void run(void *const *buffers, void *workspace) override {
    const T *b = at<T>(buffers, 1);
    const int32_t *offsets = at<int32_t>(buffers, 2);
    T *d = at<T>(buffers, 3);
    checkOffsets("nn.grouped_matmul_grad", offsets, groups, this->rows);
    const int64_t columns = this->columns, width = this->width;
    if (width == 0)
      return;
    const char *left = this->leftOf(at<T>(buffers, 0), workspace);
    const int64_t blocks = this->blocks(), most = this->unitColumns();
    this->pool.parallelForWorkers(
        (range.last - range.first) * blocks, 1,
        [&](int64_t from, int64_t to, int worker) {
          float *scratch = this->scratchOf(workspace, worker);
          for (int64_t unit = from; unit < to; ++unit) {
            const int64_t e = range.first + unit / blocks;
            const int64_t n = unit % blocks * most;
            const int64_t begin = e ? offsets[e - 1] : 0, end = offsets[e];
            const int64_t wide = std::min(most, columns - n);
            T *matrix = d + unit / blocks * width * columns + n;
            if (begin == end)
              clear(matrix, wide);
            else
              this->multiply(left + begin * width * this->leftElement(), width,
                             b + begin * columns + n, columns, wide,
                             end - begin, matrix, scratch);
          }
        });
  }

private:
  /// Of what has no rows.
  void clear(T *matrix, int64_t wide) const {
    for (int64_t i = 0; i < this->width; ++i)
      std::memset(static_cast<void *>(matrix + i * this->columns), 0,
                  wide * sizeof(T));
  }

  int64_t groups;
  RowRange range;
};

} // namespace

void registerGroupedMatmul(Registry &registry) {
  registry.add("nn.grouped_matmul", makeByOperand<GroupedMatmul>);
  registry.add("nn.grouped_matmul_grad", makeByOperand<GroupedMatmulGrad>);
}

} // namespace zrt::host
