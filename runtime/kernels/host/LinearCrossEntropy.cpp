// nn.linear_cross_entropy, nn.linear_partial_cross_entropy and their gradients:
// the logits of a chunk of rows at a time.
#include "kernels/host/CrossEntropyRow.h"
#include "kernels/host/MatrixProduct.h"
#include "kernels/shapes/LinearCrossEntropyShape.h"

#include <algorithm>

namespace zrt::host {

namespace {

/// The products of so many rows.
struct ChunkProducts {
  MatrixProduct logits, dx, dw;
  ChunkProducts(const LinearCrossEntropyShape &shape, int64_t rows,
                ThreadPool &pool)
      : logits(shape.logitsOf(rows), pool),
        dx(shape.dxOf(shape.isGradient ? rows : 0), pool),
        dw(shape.dwOf(shape.isGradient ? rows : 0), pool) {}
  size_t workspaceBytes() const {
    return std::max(
        {logits.workspaceBytes(), dx.workspaceBytes(), dw.workspaceBytes()});
  }
};

template <typename T> class LinearCrossEntropy final : public Kernel {
public:
  LinearCrossEntropy(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), shape(spec), whole(shape, shape.chunk, pool),
        last(shape, shape.rows - (shape.chunks() - 1) * shape.chunk, pool) {
    size_t bytes = 0;
    const auto take = [&bytes](size_t size) {
      const size_t begin = bytes;
      bytes += padded(size);
      return begin;
    };
    logitsAt = take(shape.chunk * shape.columns * sizeof(T));
    termsAt = take(shape.chunk * sizeof(float));
    dwAt = take(keepsSums() ? shape.depth * shape.columns * sizeof(float) : 0);
    dbAt = take(hasBiasGradient() ? shape.columns * sizeof(float) : 0);
    scratchAt = bytes;
  }

  size_t workspaceBytes() const override {
    return scratchAt + std::max(whole.workspaceBytes(), last.workspaceBytes());
  }

  void run(void *const *buffers, void *workspace) override {
    char *space = static_cast<char *>(workspace);
    const int32_t *targets = at<int32_t>(buffers, shape.targets());
    const int64_t count =
        divisorOf(shape.sum, countTargets(targets, shape.rows, shape.classes,
                                          shape.ignored));
    const float scale = shape.isGradient ? *at<float>(buffers, 0) / count : 0;
    float *dw = keepsSums()        ? reinterpret_cast<float *>(space + dwAt)
                : shape.isGradient ? at<float>(buffers, shape.dw())
                                   : nullptr;
    float *db = reinterpret_cast<float *>(space + dbAt);
    if (dw)
      clear(dw, shape.depth * shape.columns);
    if (hasBiasGradient())
      clear(db, shape.columns);
    double sum = 0;
    for (int64_t first = 0; first < shape.rows; first += shape.chunk)
      sum += runChunk(buffers, space, first, scale, dw, db);
    if (!shape.isPartial || !shape.isGradient)
      *at<float>(buffers, shape.loss()) =
          count ? static_cast<float>(sum / count) : 0.0f;
    if (dw && keepsSums())
      round(dw, at<T>(buffers, shape.dw()), shape.depth * shape.columns);
    if (hasBiasGradient())
      round(db, at<T>(buffers, shape.db()), shape.columns);
  }

private:
  /// The sums for dw are apart from it where it is not f32.
  bool keepsSums() const { return shape.isGradient && sizeof(T) != 4; }
  bool hasBiasGradient() const { return shape.isGradient && shape.bias; }

  /// The sum of the losses of the rows from `first` on; of the gradient, their
  /// rows of dx, and what they add to `dw` and `db`.
  double runChunk(void *const *buffers, char *space, int64_t first, float scale,
                  float *dw, float *db) {
    const int64_t rows = std::min(shape.chunk, shape.rows - first);
    ChunkProducts &products = rows == shape.chunk ? whole : last;
    const T *x = at<T>(buffers, shape.x()) + first * shape.depth;
    const void *w = buffers[shape.w()];
    const int32_t *targets = at<int32_t>(buffers, shape.targets()) + first;
    T *logits = reinterpret_cast<T *>(space + logitsAt);
    float *terms = reinterpret_cast<float *>(space + termsAt);
    void *scratch = space + scratchAt;
    products.logits.run(x, w, shape.bias ? buffers[shape.biasAt()] : nullptr,
                        logits, scratch);
    pool.parallelFor(
        rows, rowGrain(shape.columns), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            T *own = logits + r * shape.columns;
            terms[r] = shape.isPartial ? partialRow(own, targets[r], scale,
                                                    buffers, first + r)
                                       : row(own, targets[r], scale);
          }
        });
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r)
      if (targets[r] != shape.ignored)
        sum += terms[r];
    if (!shape.isGradient)
      return sum;
    products.dx.run(logits, w, nullptr,
                    at<T>(buffers, shape.dx()) + first * shape.depth, scratch);
    if (shape.transposed)
      products.dw.run(logits, x, nullptr, dw, scratch);
    else
      products.dw.run(x, logits, nullptr, dw, scratch);
    if (shape.bias)
      addColumns(logits, rows, db);
    return sum;
  }

  /// The loss of a row; of the gradient, its logits become that.
  float row(T *logits, int32_t target, float scale) const {
    const float lse = logSumExp(logits, shape.classes);
    if (target == shape.ignored) {
      if (shape.isGradient)
        clearRow(logits, shape.columns);
      return 0;
    }
    const float loss = lossOfRow(logits, shape.classes, target, lse);
    if (shape.isGradient) {
      differentiateRow(logits, shape.classes, target, lse, scale, logits);
      clearRow(logits + shape.classes, shape.columns - shape.classes);
    }
    return loss;
  }

  /// The same of a range of the classes, for row `index` of all.
  float partialRow(T *logits, int32_t target, float scale, void *const *buffers,
                   int64_t index) const {
    const ClassRange range(*at<int32_t>(buffers, shape.first()), shape.columns,
                           shape.classes, shape.ignored);
    const int64_t own = range.columnOf(target);
    float &lse = at<float>(buffers, shape.lse())[index];
    if (shape.isGradient) {
      differentiatePartialRow(logits, range.count, own, lse, scale,
                              at<float>(buffers, shape.dlse())[index], logits);
      clearRow(logits + range.count, shape.columns - range.count);
      return 0;
    }
    lse = logSumExp(logits, range.count);
    return own < 0
               ? 0
               : lossOfRow(logits, range.count, static_cast<int32_t>(own), lse);
  }

  void addColumns(const T *rows, int64_t count, float *sums) {
    pool.parallelFor(shape.columns, 1 + 16384 / count,
                     [&](int64_t begin, int64_t end) {
                       forEachVector(end - begin, [&](Lanes at) {
                         Vector total = splat(0);
                         for (int64_t r = 0; r < count; ++r)
                           total += at.load(rows + r * shape.columns + begin);
                         at.store(sums + begin, at.load(sums + begin) + total);
                       });
                     });
  }

  void clear(float *values, int64_t count) {
    pool.parallelFor(count, 65536, [&](int64_t begin, int64_t end) {
      std::fill(values + begin, values + end, 0.0f);
    });
  }

  void round(const float *from, T *to, int64_t count) {
    pool.parallelFor(count, 65536, [&](int64_t begin, int64_t end) {
      forEachVector(end - begin, [&](Lanes at) {
        at.store(to + begin, at.load(from + begin));
      });
    });
  }

  ThreadPool &pool;
  const LinearCrossEntropyShape shape;
  ChunkProducts whole, last;
  size_t logitsAt, termsAt, dwAt, dbAt, scratchAt;
};

} // namespace

void registerLinearCrossEntropy(Registry &registry) {
  registry.add("nn.linear_cross_entropy", makeByOperand<LinearCrossEntropy>);
  registry.add("nn.linear_cross_entropy_grad",
               makeByOperand<LinearCrossEntropy, 1>);
  registry.add("nn.linear_partial_cross_entropy",
               makeByOperand<LinearCrossEntropy>);
  registry.add("nn.linear_partial_cross_entropy_grad",
               makeByOperand<LinearCrossEntropy, 2>);
}

} // namespace zrt::host
