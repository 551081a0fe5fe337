// nn.layer_norm and nn.layer_norm_grad, and the two with an addition.
#include "kernels/host/ColumnSums.h"
#include "kernels/host/RowSums.h"

#include <cmath>

namespace zrt::host {

namespace {

/// `adds`: of a sum, which is rounded and stored first.
template <typename T, bool adds> class LayerNorm final : public Kernel {
public:
  LayerNorm(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), epsilon(static_cast<float>(spec.real("eps"))),
        rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0), *w = at<T>(buffers, 1 + adds),
            *b = at<T>(buffers, 2 + adds);
    T *y = at<T>(buffers, 3 + adds);
    float *mean = at<float>(buffers, 4 + adds),
          *rstd = at<float>(buffers, 5 + adds);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t first = begin * rows.width, r = begin; r < end;
               ++r, first += rows.width) {
            const T *from = x + first;
            if constexpr (adds)
              from = addRows(rows.width, from, at<T>(buffers, 1) + first,
                             at<T>(buffers, 7) + first);
            row(from, w, b, y + first, mean[r], rstd[r]);
          }
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

/// `adds`: dx, rounded, and another gradient are added.
template <typename T, bool adds> class LayerNormGrad final : public Kernel {
public:
  LayerNormGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[0])),
        sums(rows.count, 2 * rows.width) {}

  size_t workspaceBytes() const override { return sums.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const T *dy = at<T>(buffers, 0), *dsum = at<T>(buffers, 1),
            *x = at<T>(buffers, 1 + adds), *w = at<T>(buffers, 2 + adds);
    const float *mean = at<float>(buffers, 3 + adds),
                *rstd = at<float>(buffers, 4 + adds);
    T *dx = at<T>(buffers, 5 + adds);
    const int64_t width = rows.width;
    pool.parallelFor(sums.blockCount(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float *dw = sums.clear(workspace, block), *db = dw + width;
        for (int64_t r = sums.firstRow(block); r < sums.endRow(block); ++r)
          row(dy + r * width, dsum + r * width, x + r * width, w, mean[r],
              rstd[r], dx + r * width, dw, db);
      }
    });
    sums.finish(pool, workspace, 0, width, at<T>(buffers, 6 + adds));
    sums.finish(pool, workspace, width, width, at<T>(buffers, 7 + adds));
  }

private:
  void row(const T *dy, const T *dsum, const T *x, const T *w, float mean,
           float rstd, T *dx, float *dw, float *db) const {
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
      storeSum<adds>(at, dx, (scaled - meanSum - normal * meanProduct) * rstd,
                     dsum);
    });
  }

  ThreadPool &pool;
  Rows rows;
  ColumnSums sums;
};

template <typename T> using Norm = LayerNorm<T, false>;
template <typename T> using NormOfSum = LayerNorm<T, true>;
template <typename T> using NormGrad = LayerNormGrad<T, false>;
template <typename T> using NormGradInSum = LayerNormGrad<T, true>;

} // namespace

void registerLayerNorm(Registry &registry) {
  registry.add("nn.layer_norm", makeByOperand<Norm>);
  registry.add("nn.layer_norm_grad", makeByOperand<NormGrad>);
  registry.add("nn.add_layer_norm", makeByOperand<NormOfSum>);
  registry.add("nn.add_layer_norm_grad", makeByOperand<NormGradInSum>);
}

} // namespace zrt::host
