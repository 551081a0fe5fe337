// nn.layer_norm and nn.layer_norm_grad.
#include "kernels/host/ColumnSums.h"

#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class LayerNorm final : public Kernel {
public:
  LayerNorm(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), epsilon(static_cast<float>(spec.real("eps"))),
        rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0), *w = at<T>(buffers, 1),
            *b = at<T>(buffers, 2);
    T *y = at<T>(buffers, 3);
    float *mean = at<float>(buffers, 4), *rstd = at<float>(buffers, 5);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            row(x + r * rows.width, w, b, y + r * rows.width, mean[r], rstd[r]);
        });
  }

private:
  void row(const T *x, const T *w, const T *b, T *y, float &mean,
           float &rstd) const {
    const int64_t width = rows.width;
    Vector sum = splat(0);
    forEachVector(width, [&](Lanes at) { sum += at.load(x); });
    const float average = sumOf(sum) / width;
    Vector squares = splat(0);
    forEachVector(width, [&](Lanes at) {
      Vector d = at.fill(at.load(x) - average, 0);
      squares = fma(d, d, squares);
    });
    const float scale = 1.0f / std::sqrt(sumOf(squares) / width + epsilon);
    forEachVector(width, [&](Lanes at) {
      Vector normal = (at.load(x) - average) * scale;
      at.store(y, fma(normal, at.load(w), at.load(b)));
    });
    mean = average;
    rstd = scale;
  }

  ThreadPool &pool;
  float epsilon;
  Rows rows;
};

template <typename T> class LayerNormGrad final : public Kernel {
public:
  LayerNormGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[1])),
        sums(rows.count, 2 * rows.width) {}

  size_t workspaceBytes() const override { return sums.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const T *dy = at<T>(buffers, 0), *x = at<T>(buffers, 1),
            *w = at<T>(buffers, 2);
    const float *mean = at<float>(buffers, 3), *rstd = at<float>(buffers, 4);
    T *dx = at<T>(buffers, 5);
    const int64_t width = rows.width;
    pool.parallelFor(sums.blockCount(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float *dw = sums.clear(workspace, block), *db = dw + width;
        for (int64_t r = sums.firstRow(block); r < sums.endRow(block); ++r)
          row(dy + r * width, x + r * width, w, mean[r], rstd[r],
              dx + r * width, dw, db);
      }
    });
    sums.finish(pool, workspace, 0, width, at<T>(buffers, 6));
    sums.finish(pool, workspace, width, width, at<T>(buffers, 7));
  }

private:
  void row(const T *dy, const T *x, const T *w, float mean, float rstd, T *dx,
           float *dw, float *db) const {
    const int64_t width = rows.width;
    Vector sum = splat(0), product = splat(0);
    forEachVector(width, [&](Lanes at) {
      Vector g = at.load(dy);
      Vector normal = at.fill((at.load(x) - mean) * rstd, 0);
      Vector scaled = g * at.load(w);
      sum += scaled;
      product = fma(scaled, normal, product);
      at.store(dw, fma(g, normal, at.load(dw)));
      at.store(db, g + at.load(db));
    });
    const Vector meanSum = splat(sumOf(sum) / width);
    const Vector meanProduct = splat(sumOf(product) / width);
    forEachVector(width, [&](Lanes at) {
      Vector normal = (at.load(x) - mean) * rstd;
      Vector scaled = at.load(dy) * at.load(w);
      at.store(dx, (scaled - meanSum - normal * meanProduct) * rstd);
    });
  }

  ThreadPool &pool;
  Rows rows;
  ColumnSums sums;
};

} // namespace

void registerLayerNorm(Registry &registry) {
  registry.add("nn.layer_norm", makeByOperand<LayerNorm>);
  registry.add("nn.layer_norm_grad", makeByOperand<LayerNormGrad>);
}

} // namespace zrt::host
