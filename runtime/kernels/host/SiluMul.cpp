// nn.silu_mul and nn.silu_mul_grad.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>

namespace zrt::host {

namespace {

/// 1 / (1 + e^-x).
ZERO_INLINE Vector sigmoid(Vector x) { return 1.0f / (1.0f + exponential(-x)); }

constexpr int64_t kBlock = 1024; // elements; whole vectors

/// Calls `body(first, lanes)` with the lanes of a block, and where it begins.
template <typename Body>
void forEachBlock(ThreadPool &pool, int64_t elements, Body body) {
  pool.parallelFor(
      (elements + kBlock - 1) / kBlock, 4, [&](int64_t begin, int64_t end) {
        for (int64_t first = begin * kBlock;
             first < std::min(end * kBlock, elements); first += kBlock)
          forEachVector(std::min(kBlock, elements - first),
                        [&](Lanes at) { body(first, at); });
      });
}

template <typename T> class SiluMul final : public Kernel {
public:
  SiluMul(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), elements(spec.operands[0].elements()) {}

  void run(void *const *buffers, void *) override {
    const T *gate = at<T>(buffers, 0), *up = at<T>(buffers, 1);
    T *y = at<T>(buffers, 2);
    forEachBlock(pool, elements, [&](int64_t first, Lanes at) {
      const Vector x = at.load(gate + first);
      at.store(y + first, x * sigmoid(x) * at.load(up + first));
    });
  }

private:
  ThreadPool &pool;
  int64_t elements;
};

template <typename T> class SiluMulGrad final : public Kernel {
public:
  SiluMulGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), elements(spec.operands[0].elements()) {}

  void run(void *const *buffers, void *) override {
    const T *dy = at<T>(buffers, 0), *gate = at<T>(buffers, 1),
            *up = at<T>(buffers, 2);
    T *dgate = at<T>(buffers, 3), *dup = at<T>(buffers, 4);
    forEachBlock(pool, elements, [&](int64_t first, Lanes at) {
      const Vector x = at.load(gate + first), g = at.load(dy + first);
      const Vector s = sigmoid(x), factor = at.load(up + first);
      // Results may live where operands do, each in one place.
      at.store(dgate + first, g * factor * (s * (1.0f + x * (1.0f - s))));
      at.store(dup + first, g * (x * s));
    });
  }

private:
  ThreadPool &pool;
  int64_t elements;
};

} // namespace

void registerSiluMul(Registry &registry) {
  registry.add("nn.silu_mul", makeByOperand<SiluMul>);
  registry.add("nn.silu_mul_grad", makeByOperand<SiluMulGrad>);
}

} // namespace zrt::host
