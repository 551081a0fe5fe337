// nn.softmax and nn.softmax_grad.
#include "kernels/host/Host.h"
#include "kernels/host/SoftmaxRow.h"

namespace zrt::host {

namespace {

template <typename T> class Softmax final : public Kernel {
public:
  Softmax(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 1);
    pool.parallelFor(rows.count, rowGrain(rows.width),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r)
                         row(x + r * rows.width, y + r * rows.width);
                     });
  }

private:
  void row(const T *x, T *y) const {
    const float shift = maximumOfRow(x, rows.width);
    const float scale = 1.0f / sumOfExponentials(x, rows.width, shift);
    forEachVector(rows.width, [&](Lanes at) {
      at.store(y, exponential(at.load(x) - shift) * scale);
    });
  }

  ThreadPool &pool;
  Rows rows;
};

template <typename T> class SoftmaxGrad final : public Kernel {
public:
  SoftmaxGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), rows(rowsOf(spec.operands[1])) {}

  void run(void *const *buffers, void *) override {
    const T *dy = at<T>(buffers, 0), *y = at<T>(buffers, 1);
    T *dx = at<T>(buffers, 2);
    const int64_t width = rows.width;
    pool.parallelFor(rows.count, rowGrain(width),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r)
                         row(dy + r * width, y + r * width, dx + r * width);
                     });
  }

private:
  void row(const T *dy, const T *y, T *dx) const {
    Vector product = splat(0);
    forEachVector(rows.width, [&](Lanes at) {
      product = fma(at.load(dy), at.load(y), product);
    });
    const float sum = sumOf(product);
    forEachVector(rows.width, [&](Lanes at) {
      at.store(dx, at.load(y) * (at.load(dy) - sum));
    });
  }

  ThreadPool &pool;
  Rows rows;
};

} // namespace

void registerSoftmax(Registry &registry) {
  registry.add("nn.softmax", makeByOperand<Softmax>);
  registry.add("nn.softmax_grad", makeByOperand<SoftmaxGrad>);
}

} // namespace zrt::host
