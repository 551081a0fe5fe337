// nn.rms_norm and nn.rms_norm_grad, and the two with an addition.
#include "kernels/host/ColumnSums.h"
#include "kernels/host/RowSums.h"

#include <cmath>

namespace zrt::host {

namespace {

/// `adds`: of a sum, which is rounded and stored first.
template <typename T, bool adds> class RmsNorm final : public Kernel {
public:
  RmsNorm(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), epsilon(static_cast<float>(spec.real("eps"))),
        rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0), *w = at<T>(buffers, 1 + adds);
    T *y = at<T>(buffers, 2 + adds);
    float *rstd = at<float>(buffers, 3 + adds);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t first = begin * rows.width, r = begin; r < end;
               ++r, first += rows.width) {
            const T *from = x + first;
            if constexpr (adds)
              from = addRows(rows.width, from, at<T>(buffers, 1) + first,
                             at<T>(buffers, 5) + first);
            rstd[r] = row(from, w, y + first);
          }
        });
  }

private:
  float row(const T *x, const T *w, T *y) const {
    Vector squares = splat(0);
    forEachVector(rows.width, [&](Lanes at) {
      Vector value = at.load(x);
      squares = fma(value, value, squares);
    });
    const float scale = 1.0f / std::sqrt(sumOf(squares) / rows.width + epsilon);
    forEachVector(rows.width, [&](Lanes at) {
      at.store(y, at.load(x) * scale * at.load(w));
    });
    return scale;
  }

  ThreadPool &pool;
  float epsilon;
  Rows rows;
};

/// `adds`: dx, rounded, and another gradient are added.
template <typename T, bool adds> class RmsNormGrad final : public Kernel {
public:
  RmsNormGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[0])),
        sums(rows.count, rows.width) {}

  size_t workspaceBytes() const override { return sums.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const T *dy = at<T>(buffers, 0), *dsum = at<T>(buffers, 1),
            *x = at<T>(buffers, 1 + adds), *w = at<T>(buffers, 2 + adds);
    const float *rstd = at<float>(buffers, 3 + adds);
    T *dx = at<T>(buffers, 4 + adds);
    const int64_t width = rows.width;
    pool.parallelFor(sums.blockCount(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float *dw = sums.clear(workspace, block);
        for (int64_t r = sums.firstRow(block); r < sums.endRow(block); ++r)
          row(dy + r * width, dsum + r * width, x + r * width, w, rstd[r],
              dx + r * width, dw);
      }
    });
    sums.finish(pool, workspace, 0, width, at<T>(buffers, 5 + adds));
  }

private:
  void row(const T *dy, const T *dsum, const T *x, const T *w, float rstd,
           T *dx, float *dw) const {
    Vector product = splat(0);
    forEachVector(rows.width, [&](Lanes at) {
      Vector g = at.load(dy), normal = at.load(x) * rstd;
      product = fma(g * at.load(w), normal, product);
      at.store(dw, fma(g, normal, at.load(dw)));
    });
    const Vector mean = splat(sumOf(product) / rows.width);
    forEachVector(rows.width, [&](Lanes at) {
      Vector normal = at.load(x) * rstd;
      storeSum<adds>(at, dx, (at.load(dy) * at.load(w) - normal * mean) * rstd,
                     dsum);
    });
  }

  ThreadPool &pool;
  Rows rows;
  ColumnSums sums;
};

template <typename T> using Norm = RmsNorm<T, false>;
template <typename T> using NormOfSum = RmsNorm<T, true>;
template <typename T> using NormGrad = RmsNormGrad<T, false>;
template <typename T> using NormGradInSum = RmsNormGrad<T, true>;

} // namespace

void registerRmsNorm(Registry &registry) {
  registry.add("nn.rms_norm", makeByOperand<Norm>);
  registry.add("nn.rms_norm_grad", makeByOperand<NormGrad>);
  registry.add("nn.add_rms_norm", makeByOperand<NormOfSum>);
  registry.add("nn.add_rms_norm_grad", makeByOperand<NormGradInSum>);
}

} // namespace zrt::host
