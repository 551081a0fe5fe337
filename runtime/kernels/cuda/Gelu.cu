// gelu in its tanh form, and its gradient: where products do not compute them
// in their epilogues.
#include "kernels/cuda/Wide.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;
constexpr float kCubic = 0.044715f, kSqrtTwoOverPi = 0.7978845608028654f;

__device__ inline float core(float x) {
  return tanhf(kSqrtTwoOverPi * (x + kCubic * (x * x * x)));
}

__device__ inline float geluDerivative(float x) {
  const float t = core(x);
  const float inner = kSqrtTwoOverPi * (1.0f + 3.0f * kCubic * (x * x));
  return 0.5f * (1.0f + t) + x * (0.5f * (1.0f - t * t) * inner);
}

/// `y` may be `h`: each thread reads a vector before it writes it.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    geluKernel(int64_t elements, bool whole, const T *h, T *y) {
  forEachPack<kWide<T>>(elements, [&](int64_t i, int count) {
    float x[kWide<T>];
    loadWide(h, i, count, whole, x);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      x[lane] = 0.5f * x[lane] * (1.0f + core(x[lane]));
    storeWide(y, i, count, whole, x);
  });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    geluGradKernel(int64_t elements, bool whole, const T *h, T *dh) {
  forEachPack<kWide<T>>(elements, [&](int64_t i, int count) {
    float x[kWide<T>], g[kWide<T>];
    loadWide(h, i, count, whole, x);
    loadWide(dh, i, count, whole, g);
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      g[lane] *= geluDerivative(x[lane]);
    storeWide(dh, i, count, whole, g);
  });
}

template <typename T> unsigned blocks(int64_t elements) {
  return blocksFor(elements / kWide<T> + 1, kThreads);
}

} // namespace

void zrt::cuda::gelu(DataType type, int64_t elements, const void *h, void *y,
                     cudaStream_t stream) {
  withType(type, [&](auto element) {
    using T = decltype(element);
    geluKernel<<<blocks<T>(elements), kThreads, 0, stream>>>(
        elements, areWide(h, y), static_cast<const T *>(h),
        static_cast<T *>(y));
  });
  checkLaunch("gelu");
}

void zrt::cuda::geluGrad(DataType type, int64_t elements, const void *h,
                         void *dh, cudaStream_t stream) {
  withType(type, [&](auto element) {
    using T = decltype(element);
    geluGradKernel<<<blocks<T>(elements), kThreads, 0, stream>>>(
        elements, areWide(h, dh), static_cast<const T *>(h),
        static_cast<T *>(dh));
  });
  checkLaunch("gelu_grad");
}
