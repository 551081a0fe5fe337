// How the windows of convolutions and pooling slide over images.
//
// Plain data that kernels of all processors take as it is.
#ifndef ZERO_RUNTIME_PROGRAM_WINDOWS_H
#define ZERO_RUNTIME_PROGRAM_WINDOWS_H

#include "program/Program.h"

#ifdef __CUDACC__
#define ZRT_WINDOW __host__ __device__ inline
#else
#define ZRT_WINDOW inline
#endif

namespace zrt {

/// One spatial dimension: window o has the elements o * stride + k * dilation -
/// padding of `size`, for k in [0, window), where there are such.
struct WindowDim {
  int64_t size = 1;  ///< of the images
  int64_t count = 1; ///< windows
  int64_t window = 1, stride = 1, padding = 0, dilation = 1;

  ZRT_WINDOW int64_t position(int64_t o, int64_t k) const {
    return o * stride + k * dilation - padding;
  }
  /// The least k of window `o` that lies in the images.
  ZRT_WINDOW int64_t firstTap(int64_t o) const {
    const int64_t before = -position(o, 0);
    return before > 0 ? (before + dilation - 1) / dilation : 0;
  }
  /// One more than the largest k of window `o` that lies in the images.
  ZRT_WINDOW int64_t endTap(int64_t o) const {
    const int64_t left = size - position(o, 0);
    const int64_t taps = left > 0 ? (left + dilation - 1) / dilation : 0;
    return taps < window ? taps : window;
  }
};

/// Three dimensions, of which those that images do not have come first and
/// have one element.
struct Windows {
  WindowDim dims[3];

  ZRT_WINDOW int64_t plane() const {
    return dims[0].size * dims[1].size * dims[2].size;
  }
  ZRT_WINDOW int64_t count() const {
    return dims[0].count * dims[1].count * dims[2].count;
  }
  ZRT_WINDOW int64_t taps() const {
    return dims[0].window * dims[1].window * dims[2].window;
  }
  /// Each window is one element, and each element one window.
  bool arePoints() const;
};

/// The windows of a spec with the attributes `strides`, `padding` and, perhaps,
/// `dilations`, over images and results with two dimensions before the spatial
/// ones.
Windows windowsOf(const KernelSpec &spec, const TensorType &images,
                  const TensorType &results,
                  const std::vector<int64_t> &window);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_WINDOWS_H
