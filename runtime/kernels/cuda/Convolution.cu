// Convolutions by plain sums in f32: a thread an element, or a block an element
// of a gradient of weights.
#include "kernels/cuda/Convolution.h"

#include "kernels/cuda/Windows.cuh"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// Where groups begin.
struct Convolution : ConvolutionShape {
  explicit Convolution(const ConvolutionShape &shape)
      : ConvolutionShape(shape) {}
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

} // namespace

ConvolutionShape zrt::cuda::convolutionOf(const KernelSpec &spec,
                                          const TensorType &images,
                                          const TensorType &weights,
                                          const TensorType &results) {
  ConvolutionShape c;
  c.type = images.type;
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

void zrt::cuda::convolution(const ConvolutionShape &shape, const void *images,
                            const void *weights, void *results,
                            int64_t elements, cudaStream_t stream) {
  if (!elements)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    convKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
        Convolution(shape), static_cast<const T *>(images),
        static_cast<const T *>(weights), static_cast<T *>(results));
    checkLaunch("conv");
  });
}

void zrt::cuda::convolutionImages(const ConvolutionShape &shape,
                                  const void *results, const void *weights,
                                  void *images, int64_t elements,
                                  cudaStream_t stream) {
  if (!elements)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    convTransposeKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
        Convolution(shape), static_cast<const T *>(results),
        static_cast<const T *>(weights), static_cast<T *>(images));
    checkLaunch("conv_transpose");
  });
}

void zrt::cuda::convolutionWeights(const ConvolutionShape &shape,
                                   const void *results, const void *images,
                                   void *weights, int64_t firstRow,
                                   int64_t elements, cudaStream_t stream) {
  if (!elements)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    convWeightGradKernel<<<blocksFor(elements * kThreads, kThreads), kThreads,
                           0, stream>>>(
        Convolution(shape), firstRow, elements, static_cast<const T *>(results),
        static_cast<const T *>(images), static_cast<T *>(weights));
    checkLaunch("conv_weight_grad");
  });
}
