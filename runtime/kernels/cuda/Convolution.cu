// nn.conv, nn.conv_transpose and nn.conv_weight_grad on a device, by plain
// sums in f32: a thread an element, or a block an element of a gradient of
// weights.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Windows.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// Images [samples, groups * depth, plane], weights [features, depth, taps]
/// and results [samples, features, count].
struct Convolution {
  Windows windows;
  int64_t samples, features, groups, depth;
  int64_t plane, count, taps;

  __device__ int64_t featuresOfGroup() const { return features / groups; }
  __device__ int64_t channels() const { return groups * depth; }
};

template <typename T>
__global__ void convKernel(Convolution c, const T *x, const T *w, T *y) {
  forEachItem(c.samples * c.features * c.count, [&](int64_t i) {
    const int64_t o = i % c.count, f = i / c.count % c.features,
                  n = i / c.count / c.features;
    const int64_t first = f / c.featuresOfGroup() * c.depth;
    const T *images = x + (n * c.channels() + first) * c.plane;
    const T *weights = w + f * c.depth * c.taps;
    float sum = 0;
    for (int64_t channel = 0; channel < c.depth; ++channel)
      forEachSeen(c.windows, o, [&](int64_t tap, int64_t source) {
        sum = fmaf(toFloat(images[channel * c.plane + source]),
                   toFloat(weights[channel * c.taps + tap]), sum);
      });
    y[i] = fromFloat<T>(sum);
  });
}

/// `x` has the results' shape, `y` the images'.
template <typename T>
__global__ void convTransposeKernel(Convolution c, const T *x, const T *w,
                                    T *y) {
  forEachItem(c.samples * c.channels() * c.plane, [&](int64_t i) {
    const int64_t source = i % c.plane, channel = i / c.plane % c.channels(),
                  n = i / c.plane / c.channels();
    const int64_t group = channel / c.depth, inside = channel % c.depth;
    float sum = 0;
    for (int64_t k = 0; k < c.featuresOfGroup(); ++k) {
      const int64_t f = group * c.featuresOfGroup() + k;
      const T *results = x + (n * c.features + f) * c.count;
      const T *weights = w + (f * c.depth + inside) * c.taps;
      forEachSeeing(c.windows, source, [&](int64_t tap, int64_t o) {
        sum = fmaf(toFloat(results[o]), toFloat(weights[tap]), sum);
      });
    }
    y[i] = fromFloat<T>(sum);
  });
}

/// Rows of weights from feature `firstRow` on.
template <typename T>
__global__ void convWeightGradKernel(Convolution c, int64_t firstRow,
                                     int64_t elements, const T *dy, const T *x,
                                     T *dw) {
  const WindowDim &d = c.windows.dims[0], &h = c.windows.dims[1],
                  &w = c.windows.dims[2];
  for (int64_t i = blockIdx.x; i < elements; i += gridDim.x) {
    const Index3 tap(i % c.taps, h.window, w.window);
    const int64_t inside = i / c.taps % c.depth,
                  f = firstRow + i / c.taps / c.depth;
    const int64_t channel = f / c.featuresOfGroup() * c.depth + inside;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < c.samples * c.count; j += blockDim.x) {
      const int64_t n = j / c.count, o = j % c.count;
      const Index3 at(o, h.count, w.count);
      const int64_t depth = d.position(at.d, tap.d),
                    row = h.position(at.h, tap.h),
                    column = w.position(at.w, tap.w);
      if (depth >= 0 && depth < d.size && row >= 0 && row < h.size &&
          column >= 0 && column < w.size) {
        const int64_t source = (depth * h.size + row) * w.size + column;
        sum = fmaf(toFloat(dy[(n * c.features + f) * c.count + o]),
                   toFloat(x[(n * c.channels() + channel) * c.plane + source]),
                   sum);
      }
    }
    const float total = overBlock<Sum>(sum, 0.0f);
    if (threadIdx.x == 0)
      dw[i] = fromFloat<T>(total);
  }
}

Convolution convolutionOf(const KernelSpec &spec, const TensorType &images,
                          const TensorType &weights,
                          const TensorType &results) {
  Convolution c;
  c.windows = windowsOf(spec, images, results,
                        {weights.shape.begin() + 2, weights.shape.end()});
  c.samples = images.shape[0];
  c.features = results.shape[1];
  c.groups = spec.integer("groups");
  c.depth = weights.shape[1];
  c.plane = c.windows.plane();
  c.count = c.windows.count();
  c.taps = c.windows.taps();
  return c;
}

class Conv final : public Kernel {
public:
  Conv(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        shape(convolutionOf(spec, spec.operands[0], spec.operands[1],
                            spec.results[0])),
        elements(spec.results[0].elements()) {}

  void run(void *const *b, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      convKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
          shape, static_cast<const T *>(b[0]), static_cast<const T *>(b[1]),
          static_cast<T *>(b[2]));
      checkLaunch("conv");
    });
  }

private:
  cudaStream_t stream;
  DataType type;
  Convolution shape;
  int64_t elements;
};

class ConvTranspose final : public Kernel {
public:
  ConvTranspose(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        shape(convolutionOf(spec, spec.results[0], spec.operands[1],
                            spec.operands[0])),
        elements(spec.results[0].elements()) {}

  void run(void *const *b, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      convTransposeKernel<<<blocksFor(elements, kThreads), kThreads, 0,
                            stream>>>(shape, static_cast<const T *>(b[0]),
                                      static_cast<const T *>(b[1]),
                                      static_cast<T *>(b[2]));
      checkLaunch("conv_transpose");
    });
  }

private:
  cudaStream_t stream;
  DataType type;
  Convolution shape;
  int64_t elements;
};

class ConvWeightGrad final : public Kernel {
public:
  ConvWeightGrad(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        shape(convolutionOf(spec, spec.operands[1], spec.results[0],
                            spec.operands[0])),
        elements(spec.results[0].elements()) {
    if (spec.has("rows"))
      firstRow = spec.ints.at("rows")[0];
  }

  void run(void *const *b, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      convWeightGradKernel<<<blocksFor(elements * kThreads, kThreads), kThreads,
                             0, stream>>>(
          shape, firstRow, elements, static_cast<const T *>(b[0]),
          static_cast<const T *>(b[1]), static_cast<T *>(b[2]));
      checkLaunch("conv_weight_grad");
    });
  }

private:
  cudaStream_t stream;
  DataType type;
  Convolution shape;
  int64_t elements;
  int64_t firstRow = 0;
};

} // namespace

namespace zrt::cuda {

void registerConvolution(Registry &registry) {
  registry.add("nn.conv", makeKernel<Conv>);
  registry.add("nn.conv_transpose", makeKernel<ConvTranspose>);
  registry.add("nn.conv_weight_grad", makeKernel<ConvWeightGrad>);
}

} // namespace zrt::cuda
