// nn.batch_norm and nn.batch_norm_grad on a device, a block a channel.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// x is [samples, channels, plane].
struct Channels {
  int64_t samples, channels, plane;

  __device__ int64_t count() const { return samples * plane; }

  /// Calls `body(i)` with the flat index of each element of channel `c` that
  /// is this thread's.
  template <typename Body> __device__ void forEach(int64_t c, Body body) const {
    for (int64_t j = threadIdx.x; j < count(); j += blockDim.x)
      body((j / plane * channels + c) * plane + j % plane);
  }
};

template <typename T>
__global__ void batchNormKernel(Channels shape, double epsilon, const T *x,
                                const T *w, const T *b, T *y, float *means,
                                float *variances) {
  for (int64_t c = blockIdx.x; c < shape.channels; c += gridDim.x) {
    double sum = 0, squares = 0;
    shape.forEach(c, [&](int64_t i) { sum += toFloat(x[i]); });
    const float mean =
        static_cast<float>(overBlock<Sum>(sum, 0.0) / shape.count());
    shape.forEach(c, [&](int64_t i) {
      const float d = toFloat(x[i]) - mean;
      squares += static_cast<double>(d) * d;
    });
    const double variance = overBlock<Sum>(squares, 0.0) / shape.count();
    const float scale = static_cast<float>(1 / sqrt(variance + epsilon));
    const float weight = toFloat(w[c]), bias = toFloat(b[c]);
    shape.forEach(c, [&](int64_t i) {
      y[i] = fromFloat<T>(fmaf((toFloat(x[i]) - mean) * scale, weight, bias));
    });
    if (threadIdx.x == 0) {
      means[c] = mean;
      variances[c] = static_cast<float>(variance);
    }
  }
}

template <typename T>
__global__ void batchNormGradKernel(Channels shape, double epsilon, const T *dy,
                                    const T *x, const T *w, const float *means,
                                    const float *variances, T *dx, T *dw,
                                    T *db) {
  for (int64_t c = blockIdx.x; c < shape.channels; c += gridDim.x) {
    const float mean = means[c];
    const float scale = static_cast<float>(
        1 / sqrt(static_cast<double>(variances[c]) + epsilon));
    double sum = 0, product = 0; // of dy, and of dy times what y was
    shape.forEach(c, [&](int64_t i) {
      const float g = toFloat(dy[i]);
      sum += g;
      product += static_cast<double>(g) * ((toFloat(x[i]) - mean) * scale);
    });
    sum = overBlock<Sum>(sum, 0.0);
    product = overBlock<Sum>(product, 0.0);
    const float meanSum = static_cast<float>(sum / shape.count());
    const float meanProduct = static_cast<float>(product / shape.count());
    const float factor = toFloat(w[c]) * scale;
    shape.forEach(c, [&](int64_t i) {
      const float normal = (toFloat(x[i]) - mean) * scale;
      dx[i] = fromFloat<T>((toFloat(dy[i]) - meanSum - normal * meanProduct) *
                           factor);
    });
    if (threadIdx.x == 0) {
      dw[c] = fromFloat<T>(static_cast<float>(product));
      db[c] = fromFloat<T>(static_cast<float>(sum));
    }
  }
}

template <bool gradient> class BatchNorm final : public Kernel {
public:
  BatchNorm(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        epsilon(spec.real("eps")) {
    const TensorType &x = spec.operands[gradient ? 1 : 0];
    shape = {x.shape[0], x.shape[1], 1};
    for (size_t i = 2; i < x.shape.size(); ++i)
      shape.plane *= x.shape[i];
  }

  void run(void *const *b, void *) override {
    if (!shape.channels)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      const unsigned blocks = blocksFor(shape.channels * kThreads, kThreads);
      auto in = [&](int i) { return static_cast<const T *>(b[i]); };
      auto out = [&](int i) { return static_cast<T *>(b[i]); };
      auto statistic = [&](int i) { return static_cast<float *>(b[i]); };
      if constexpr (gradient)
        batchNormGradKernel<<<blocks, kThreads, 0, stream>>>(
            shape, epsilon, in(0), in(1), in(2),
            static_cast<const float *>(statistic(3)),
            static_cast<const float *>(statistic(4)), out(5), out(6), out(7));
      else
        batchNormKernel<<<blocks, kThreads, 0, stream>>>(
            shape, epsilon, in(0), in(1), in(2), out(3), statistic(4),
            statistic(5));
      checkLaunch("batch_norm");
    });
  }

private:
  cudaStream_t stream;
  DataType type;
  double epsilon;
  Channels shape;
};

} // namespace

namespace zrt::cuda {

void registerBatchNorm(Registry &registry) {
  registry.add("nn.batch_norm", makeKernel<BatchNorm<false>>);
  registry.add("nn.batch_norm_grad", makeKernel<BatchNorm<true>>);
}

} // namespace zrt::cuda
