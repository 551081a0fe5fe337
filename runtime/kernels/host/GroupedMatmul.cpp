// nn.grouped_matmul and nn.grouped_matmul_grad: products whose sizes are data.
// A unit of work is a group and some columns; its right operand is copied once,
// in f32, and each element of a result is one chain of multiply-adds.
#include "kernels/host/Host.h"
#include "kernels/host/SmallProduct.h"

#include <algorithm>
#include <stdexcept>

namespace zrt::host {

namespace {

constexpr int64_t kColumns = 64; // of a unit

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

constexpr int64_t vectors(int64_t columns) {
  return (columns + kLanes - 1) / kLanes * kLanes;
}

/// What both have: the left operand in f32, and a panel and a tile a worker.
template <typename T> class Grouped : public Kernel {
public:
  size_t workspaceBytes() const override {
    return leftBytes() + pool.threads() * workerBytes();
  }

protected:
  /// `rows` and `width` of the left operand; the right one's panels have at
  /// most `depth` rows.
  Grouped(const KernelContext &context, int64_t rows, int64_t width,
          int64_t columns, int64_t depth)
      : pool(*context.pool), rows(rows), width(width), columns(columns),
        depth(depth) {}

  /// The left operand in f32.
  const float *leftOf(const T *a, void *workspace) {
    if constexpr (sizeof(T) == sizeof(float))
      return a;
    auto *wide = static_cast<float *>(workspace);
    pool.parallelFor(rows, rowGrain(width), [&](int64_t begin, int64_t end) {
      convertToFloat(a + begin * width, wide + begin * width,
                     (end - begin) * width);
    });
    return wide;
  }

  float *panelOf(void *workspace, int worker) const {
    return reinterpret_cast<float *>(static_cast<char *>(workspace) +
                                     leftBytes() + worker * workerBytes());
  }

  /// c = a times the panel: `count` rows, `wide` columns, `steps` terms.
  void multiply(LeftOperand a, int64_t count, int64_t wide, int64_t steps,
                const float *panel, T *c) const {
    float tile[kTileRows * kColumns];
    for (int64_t i = 0; i < count; i += kTileRows) {
      const int64_t group = std::min(kTileRows, count - i);
      multiplyRows(group, vectors(wide), steps,
                   {a.data + i * a.row, a.row, a.column}, panel, kColumns, tile,
                   kColumns, /*add=*/false);
      for (int64_t r = 0; r < group; ++r)
        convertFromFloat(tile + r * kColumns, c + (i + r) * columns, wide);
    }
  }

  int64_t blocks() const { return (columns + kColumns - 1) / kColumns; }

  ThreadPool &pool;
  int64_t rows, width, columns, depth;

private:
  size_t leftBytes() const {
    return sizeof(T) == sizeof(float) ? 0
                                      : padded(rows * width * sizeof(float));
  }
  size_t workerBytes() const {
    return padded(depth * kColumns * sizeof(float));
  }
};

template <typename T> class GroupedMatmul final : public Grouped<T> {
public:
  GroupedMatmul(const KernelSpec &spec, const KernelContext &context)
      : Grouped<T>(context, spec.operands[0].shape[0],
                   spec.operands[0].shape[1], spec.results[0].shape[1],
                   spec.operands[0].shape[1]),
        groups(spec.operands[1].shape[0]),
        transposed(spec.integer("transpose_b") != 0) {}

  void run(void *const *buffers, void *workspace) override {
    const T *b = at<T>(buffers, 1);
    const int32_t *offsets = at<int32_t>(buffers, 2);
    T *c = at<T>(buffers, 3);
    checkOffsets("nn.grouped_matmul", offsets, groups, this->rows);
    const float *left = this->leftOf(at<T>(buffers, 0), workspace);
    const int64_t blocks = this->blocks(), columns = this->columns;
    this->pool.parallelForWorkers(
        groups * blocks, 1, [&](int64_t from, int64_t to, int worker) {
          float *panel = this->panelOf(workspace, worker);
          for (int64_t unit = from; unit < to; ++unit) {
            const int64_t e = unit / blocks, n = unit % blocks * kColumns;
            const int64_t begin = e ? offsets[e - 1] : 0, end = offsets[e];
            const int64_t wide = std::min(kColumns, columns - n);
            if (begin == end)
              continue;
            copyPanel(b + e * this->depth * columns, n, wide, panel);
            this->multiply({left + begin * this->width, this->width, 1},
                           end - begin, wide, this->depth, panel,
                           c + begin * columns + n);
          }
        });
    const int64_t last = groups ? offsets[groups - 1] : 0;
    std::memset(static_cast<void *>(c + last * columns), 0,
                (this->rows - last) * columns * sizeof(T));
  }

private:
  void copyPanel(const T *matrix, int64_t first, int64_t wide,
                 float *panel) const {
    const int64_t row = transposed ? 1 : this->columns;
    const int64_t column = transposed ? this->depth : 1;
    for (int64_t k = 0; k < this->depth; ++k)
      for (int64_t j = 0; j < vectors(wide); ++j)
        panel[k * kColumns + j] =
            j < wide ? toFloat(matrix[k * row + (first + j) * column]) : 0.0f;
  }

  int64_t groups;
  bool transposed;
};

template <typename T> class GroupedMatmulGrad final : public Grouped<T> {
public:
  GroupedMatmulGrad(const KernelSpec &spec, const KernelContext &context)
      : Grouped<T>(context, spec.operands[0].shape[0],
                   spec.operands[0].shape[1], spec.operands[1].shape[1],
                   spec.operands[0].shape[0]),
        groups(spec.operands[2].shape[0]), range(rowRange(spec, groups)) {}

  void run(void *const *buffers, void *workspace) override {
    const T *b = at<T>(buffers, 1);
    const int32_t *offsets = at<int32_t>(buffers, 2);
    T *d = at<T>(buffers, 3);
    checkOffsets("nn.grouped_matmul_grad", offsets, groups, this->rows);
    const float *left = this->leftOf(at<T>(buffers, 0), workspace);
    const int64_t blocks = this->blocks(), columns = this->columns;
    this->pool.parallelForWorkers(
        (range.last - range.first) * blocks, 1,
        [&](int64_t from, int64_t to, int worker) {
          float *panel = this->panelOf(workspace, worker);
          for (int64_t unit = from; unit < to; ++unit) {
            const int64_t e = range.first + unit / blocks;
            const int64_t n = unit % blocks * kColumns;
            const int64_t begin = e ? offsets[e - 1] : 0, end = offsets[e];
            const int64_t wide = std::min(kColumns, columns - n);
            copyPanel(b + begin * columns + n, end - begin, wide, panel);
            this->multiply({left + begin * this->width, 1, this->width},
                           this->width, wide, end - begin, panel,
                           d + unit / blocks * this->width * columns + n);
          }
        });
  }

private:
  void copyPanel(const T *from, int64_t count, int64_t wide,
                 float *panel) const {
    for (int64_t s = 0; s < count; ++s)
      for (int64_t j = 0; j < vectors(wide); ++j)
        panel[s * kColumns + j] =
            j < wide ? toFloat(from[s * this->columns + j]) : 0.0f;
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
