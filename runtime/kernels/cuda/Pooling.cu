// nn.max_pool, nn.avg_pool and their gradients on a device, a thread an
// element.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Windows.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// Where a window has its first maximum, and what that is; a NaN is one.
template <typename T> struct Maximum {
  int64_t at = -1;
  float value = 0;

  __device__ Maximum(const Windows &windows, const T *plane, int64_t o) {
    forEachSeen(windows, o, [&](int64_t, int64_t source) {
      const float next = toFloat(plane[source]);
      if (at < 0 || next > value || (next != next && value == value)) {
        at = source;
        value = next;
      }
    });
  }
};

/// What the mean of window `o` of a dimension divides by.
__device__ inline int64_t divisorOf(const WindowDim &dim, int64_t o,
                                    bool padding) {
  const int64_t begin = dim.position(o, 0), end = begin + dim.window;
  const int64_t margin = padding ? dim.padding : 0;
  const int64_t last = dim.size + margin;
  return (end < last ? end : last) - (begin > -margin ? begin : -margin);
}

__device__ inline float shareOf(const Windows &windows, int64_t o,
                                bool padding) {
  const Index3 at(o, windows.dims[1].count, windows.dims[2].count);
  return 1.0f / static_cast<float>(divisorOf(windows.dims[0], at.d, padding) *
                                   divisorOf(windows.dims[1], at.h, padding) *
                                   divisorOf(windows.dims[2], at.w, padding));
}

template <typename T>
__global__ void maxPoolKernel(Windows windows, int64_t elements, const T *x,
                              T *y) {
  const int64_t count = windows.count(), plane = windows.plane();
  forEachItem(elements, [&](int64_t i) {
    y[i] = fromFloat<T>(
        Maximum<T>(windows, x + i / count * plane, i % count).value);
  });
}

template <typename T>
__global__ void maxPoolGradKernel(Windows windows, int64_t elements,
                                  const T *dy, const T *x, T *dx) {
  const int64_t count = windows.count(), plane = windows.plane();
  forEachItem(elements, [&](int64_t i) {
    const T *images = x + i / plane * plane;
    float sum = 0;
    forEachSeeing(windows, i % plane, [&](int64_t, int64_t o) {
      if (Maximum<T>(windows, images, o).at == i % plane)
        sum += toFloat(dy[i / plane * count + o]);
    });
    dx[i] = fromFloat<T>(sum);
  });
}

template <typename T>
__global__ void avgPoolKernel(Windows windows, bool padding, int64_t elements,
                              const T *x, T *y) {
  const int64_t count = windows.count(), plane = windows.plane();
  forEachItem(elements, [&](int64_t i) {
    const T *images = x + i / count * plane;
    float sum = 0;
    forEachSeen(windows, i % count, [&](int64_t, int64_t source) {
      sum += toFloat(images[source]);
    });
    y[i] = fromFloat<T>(sum * shareOf(windows, i % count, padding));
  });
}

template <typename T>
__global__ void avgPoolGradKernel(Windows windows, bool padding,
                                  int64_t elements, const T *dy, T *dx) {
  const int64_t count = windows.count(), plane = windows.plane();
  forEachItem(elements, [&](int64_t i) {
    float sum = 0;
    forEachSeeing(windows, i % plane, [&](int64_t, int64_t o) {
      sum += toFloat(dy[i / plane * count + o]) * shareOf(windows, o, padding);
    });
    dx[i] = fromFloat<T>(sum);
  });
}

enum class Pool { Max, MaxGrad, Avg, AvgGrad };

template <Pool kind> class Pooling final : public Kernel {
public:
  Pooling(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        windows(windowsOf(spec, imagesOf(spec), pooledOf(spec),
                          spec.ints.at("window"))),
        padding(spec.integer("count_padding") != 0),
        elements(spec.results[0].elements()) {}

  void run(void *const *b, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      const unsigned blocks = blocksFor(elements, kThreads);
      auto in = [&](int i) { return static_cast<const T *>(b[i]); };
      auto out = [&](int i) { return static_cast<T *>(b[i]); };
      if constexpr (kind == Pool::Max)
        maxPoolKernel<<<blocks, kThreads, 0, stream>>>(windows, elements, in(0),
                                                       out(1));
      else if constexpr (kind == Pool::MaxGrad)
        maxPoolGradKernel<<<blocks, kThreads, 0, stream>>>(
            windows, elements, in(0), in(1), out(2));
      else if constexpr (kind == Pool::Avg)
        avgPoolKernel<<<blocks, kThreads, 0, stream>>>(windows, padding,
                                                       elements, in(0), out(1));
      else
        avgPoolGradKernel<<<blocks, kThreads, 0, stream>>>(
            windows, padding, elements, in(0), out(1));
      checkLaunch("pool");
    });
  }

private:
  static const TensorType &imagesOf(const KernelSpec &spec) {
    if (kind == Pool::MaxGrad)
      return spec.operands[1];
    return kind == Pool::AvgGrad ? spec.results[0] : spec.operands[0];
  }
  static const TensorType &pooledOf(const KernelSpec &spec) {
    return kind == Pool::MaxGrad || kind == Pool::AvgGrad ? spec.operands[0]
                                                          : spec.results[0];
  }

  cudaStream_t stream;
  DataType type;
  Windows windows;
  bool padding;
  int64_t elements;
};

} // namespace

namespace zrt::cuda {

void registerPooling(Registry &registry) {
  registry.add("nn.max_pool", makeKernel<Pooling<Pool::Max>>);
  registry.add("nn.max_pool_grad", makeKernel<Pooling<Pool::MaxGrad>>);
  registry.add("nn.avg_pool", makeKernel<Pooling<Pool::Avg>>);
  registry.add("nn.avg_pool_grad", makeKernel<Pooling<Pool::AvgGrad>>);
}

} // namespace zrt::cuda
