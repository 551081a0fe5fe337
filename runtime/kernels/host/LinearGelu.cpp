// nn.linear_gelu and nn.linear_gelu_grad: the kernels of their parts, bitwise
// equal to the operations that they stand for.
#include "kernels/shapes/LinearGelu.h"

#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

constexpr float kCubic = 0.044715f;
const float kSqrtTwoOverPi = float(std::sqrt(2.0 / M_PI));

ZERO_INLINE Vector polynomial(Vector x, Vector sum) { return sum; }
template <typename... Rest>
ZERO_INLINE Vector polynomial(Vector x, Vector sum, float next, Rest... rest) {
  return polynomial(x, fma(x, sum, splat(next)), rest...);
}

/// tanh, bitwise equal to that of generated kernels; see ExpandMath.cpp.
ZERO_INLINE Vector tanh(Vector x) {
  const IntVector bits = __builtin_bit_cast(IntVector, x);
  const IntVector sign = bits & INT32_MIN;
  const Vector size = __builtin_bit_cast(Vector, bits & INT32_MAX);
  const Vector bounded = size > 10.0f ? splat(10.0f) : size;
  const Vector power = exponential(bounded + bounded);
  const Vector large = 1.0f - 2.0f / (power + 1.0f);
  const Vector square = size * size;
  const Vector p =
      polynomial(square, splat(-5.70498872745e-3f), 2.06390887954e-2f,
                 -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f);
  const Vector small = fma(p * square, size, size);
  const Vector result = size < 0.625f ? small : large;
  return __builtin_bit_cast(Vector,
                            __builtin_bit_cast(IntVector, result) | sign);
}

ZERO_INLINE Vector core(Vector x) {
  return tanh(kSqrtTwoOverPi * (x + kCubic * (x * x * x)));
}

ZERO_INLINE Vector gelu(Vector x) { return 0.5f * x * (1.0f + core(x)); }

ZERO_INLINE Vector geluDerivative(Vector x) {
  const Vector t = core(x);
  const Vector inner = kSqrtTwoOverPi * (1.0f + float(3 * 0.044715) * (x * x));
  return 0.5f * (1.0f + t) + x * (0.5f * (1.0f - t * t) * inner);
}

template <typename T> class LinearGelu final : public Kernel {
public:
  LinearGelu(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), parts(linearGeluParts(spec)),
        operands(spec.operands.size()),
        product(makeHostKernel(parts.product, context)),
        rows(rowsOf(spec.results[0])) {
    if (parts.hasSums)
      sums = makeHostKernel(parts.sums, context);
  }

  size_t workspaceBytes() const override {
    const size_t own =
        parts.h < 0 ? padded(rows.count * rows.width * sizeof(T)) : 0;
    return std::max(own + product->workspaceBytes(),
                    sums ? sums->workspaceBytes() : 0);
  }

  void run(void *const *buffers, void *workspace) override {
    if (parts.isGradient)
      return runGradient(buffers, workspace);
    char *scratch = static_cast<char *>(workspace);
    void *h = workspace;
    if (parts.h < 0)
      scratch += padded(rows.count * rows.width * sizeof(T));
    else
      h = buffers[parts.h];
    multiply(buffers, h, scratch);
    T *y = at<T>(buffers, operands);
    forEachRow([&](int64_t first, Lanes at) {
      at.store(y + first, gelu(at.load(static_cast<T *>(h) + first)));
    });
  }

private:
  void runGradient(void *const *buffers, void *workspace) {
    T *dh = at<T>(buffers, operands);
    multiply(buffers, dh, workspace);
    const T *h = at<T>(buffers, parts.h);
    forEachRow([&](int64_t first, Lanes at) {
      at.store(dh + first,
               at.load(dh + first) * geluDerivative(at.load(h + first)));
    });
    if (!sums)
      return;
    void *const both[] = {dh, buffers[operands + 1]};
    sums->run(both, workspace);
  }

  void multiply(void *const *buffers, void *result, void *workspace) {
    void *all[4];
    const size_t count = parts.product.operands.size();
    std::copy(buffers, buffers + count, all);
    all[count] = result;
    product->run(all, workspace);
  }

  /// Calls `body` with where a row begins, and lanes of it.
  template <typename Body> void forEachRow(Body body) {
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            forEachVector(rows.width,
                          [&](Lanes at) { body(r * rows.width, at); });
        });
  }

  ThreadPool &pool;
  LinearGeluParts parts;
  size_t operands;
  std::unique_ptr<Kernel> product, sums;
  Rows rows;
};

} // namespace

void registerLinearGelu(Registry &registry) {
  registry.add("nn.linear_gelu", makeByOperand<LinearGelu>);
  registry.add("nn.linear_gelu_grad", makeByOperand<LinearGelu>);
}

} // namespace zrt::host
