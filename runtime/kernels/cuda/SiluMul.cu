// nn.silu_mul and nn.silu_mul_grad on a device: 16 bytes a thread at a time.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Wide.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// 1 / (1 + e^-x).
__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

template <typename T>
__global__ void siluMulKernel(int64_t elements, bool whole, const T *gate,
                              const T *up, T *y) {
  forEachPack<kWide<T>>(elements, [&](int64_t i, int count) {
    float x[kWide<T>], factor[kWide<T>], result[kWide<T>];
    loadWide(gate, i, count, whole, x);
    loadWide(up, i, count, whole, factor);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      result[lane] = x[lane] * sigmoid(x[lane]) * factor[lane];
    storeWide(y, i, count, whole, result);
  });
}

template <typename T>
__global__ void siluMulGradKernel(int64_t elements, bool whole, const T *dy,
                                  const T *gate, const T *up, T *dgate,
                                  T *dup) {
  forEachPack<kWide<T>>(elements, [&](int64_t i, int count) {
    float g[kWide<T>], x[kWide<T>], factor[kWide<T>], first[kWide<T>],
        second[kWide<T>];
    loadWide(dy, i, count, whole, g);
    loadWide(gate, i, count, whole, x);
    loadWide(up, i, count, whole, factor);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane) {
      const float s = sigmoid(x[lane]);
      first[lane] =
          g[lane] * factor[lane] * (s * (1.0f + x[lane] * (1.0f - s)));
      second[lane] = g[lane] * (x[lane] * s);
    }
    storeWide(dgate, i, count, whole, first);
    storeWide(dup, i, count, whole, second);
  });
}

/// Both kernels: `count` buffers of one type and size.
template <int count> class SiluMul final : public Kernel {
public:
  SiluMul(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        elements(spec.operands[0].elements()) {}

  void run(void *const *b, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      bool whole = true;
      for (int i = 0; i < count; ++i)
        whole &= areWide(b[i]);
      const unsigned blocks = blocksFor(elements / kWide<T> + 1, kThreads);
      auto in = [&](int i) { return static_cast<const T *>(b[i]); };
      auto out = [&](int i) { return static_cast<T *>(b[i]); };
      if constexpr (count == 3)
        siluMulKernel<<<blocks, kThreads, 0, stream>>>(elements, whole, in(0),
                                                       in(1), out(2));
      else
        siluMulGradKernel<<<blocks, kThreads, 0, stream>>>(
            elements, whole, in(0), in(1), in(2), out(3), out(4));
      checkLaunch("silu_mul");
    });
  }

private:
  cudaStream_t stream;
  DataType type;
  int64_t elements;
};

} // namespace

namespace zrt::cuda {

void registerSiluMul(Registry &registry) {
  registry.add("nn.silu_mul", makeKernel<SiluMul<3>>);
  registry.add("nn.silu_mul_grad", makeKernel<SiluMul<5>>);
}

} // namespace zrt::cuda
