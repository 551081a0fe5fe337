// nn.rms_norm and nn.rms_norm_grad.
#include "kernels/host/ColumnSums.h"

#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class RmsNorm final : public Kernel {
public:
  RmsNorm(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), epsilon(static_cast<float>(spec.real("eps"))),
        rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0), *w = at<T>(buffers, 1);
    T *y = at<T>(buffers, 2);
    float *rstd = at<float>(buffers, 3);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            rstd[r] = row(x + r * rows.width, w, y + r * rows.width);
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

template <typename T> class RmsNormGrad final : public Kernel {
public:
  RmsNormGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[1])),
        sums(rows.count, rows.width) {}

  size_t workspaceBytes() const override { return sums.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const T *dy = at<T>(buffers, 0), *x = at<T>(buffers, 1),
            *w = at<T>(buffers, 2);
    const float *rstd = at<float>(buffers, 3);
    T *dx = at<T>(buffers, 4);
    const int64_t width = rows.width;
    pool.parallelFor(sums.blockCount(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        float *dw = sums.clear(workspace, block);
        for (int64_t r = sums.firstRow(block); r < sums.endRow(block); ++r)
          row(dy + r * width, x + r * width, w, rstd[r], dx + r * width, dw);
      }
    });
    sums.finish(pool, workspace, 0, width, at<T>(buffers, 5));
  }

private:
  void row(const T *dy, const T *x, const T *w, float rstd, T *dx,
           float *dw) const {
    Vector product = splat(0);
    forEachVector(rows.width, [&](Lanes at) {
      Vector g = at.load(dy), normal = at.load(x) * rstd;
      product = fma(g * at.load(w), normal, product);
      at.store(dw, fma(g, normal, at.load(dw)));
    });
    const Vector mean = splat(sumOf(product) / rows.width);
    forEachVector(rows.width, [&](Lanes at) {
      Vector normal = at.load(x) * rstd;
      at.store(dx, (at.load(dy) * at.load(w) - normal * mean) * rstd);
    });
  }

  ThreadPool &pool;
  Rows rows;
  ColumnSums sums;
};

} // namespace

void registerRmsNorm(Registry &registry) {
  registry.add("nn.rms_norm", makeByOperand<RmsNorm>);
  registry.add("nn.rms_norm_grad", makeByOperand<RmsNormGrad>);
}

} // namespace zrt::host
