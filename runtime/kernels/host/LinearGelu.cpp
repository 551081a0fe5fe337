// nn.linear_gelu and nn.linear_gelu_grad: the kernels of their parts, with the
// bits of the operations that they stand for.
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

/// tanh as generated kernels have it: a quotient of two polynomials, those of
/// the library Eigen.
ZERO_INLINE Vector tanh(Vector x) {
  constexpr float kLargest = 7.99881172f, kTiny = 4e-4f;
  Vector bounded = x >= kLargest ? splat(kLargest) : x;
  bounded = bounded <= -kLargest ? splat(-kLargest) : bounded;
  const Vector square = bounded * bounded;
  const Vector odd = polynomial(square, splat(-2.76076847742355e-16f),
                                2.00018790482477e-13f, -8.60467152213735e-11f,
                                5.12229709037114e-08f, 1.48572235717979e-05f,
                                6.37261928875436e-04f, 4.89352455891786e-03f);
  const Vector even =
      polynomial(square, splat(1.19825839466702e-06f), 1.18534705686654e-04f,
                 2.26843463243900e-03f, 4.89352518554385e-03f);
  const Vector quotient = bounded * odd / even;
  return ((x < kTiny) & (x > -kTiny)) ? bounded : quotient;
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
