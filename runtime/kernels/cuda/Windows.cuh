// What windows see of a plane, for device code.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_WINDOWS_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_WINDOWS_CUH

#include "kernels/cuda/Device.cuh"
#include "program/Windows.h"

namespace zrt::cuda {

/// Three indices of a flat one, by the sizes of the last two dimensions.
struct Index3 {
  int64_t d, h, w;
  __device__ Index3(int64_t flat, int64_t height, int64_t width)
      : d(flat / width / height), h(flat / width % height), w(flat % width) {}
};

/// Calls `body(tap, source)` for each element of window `o` in the plane, in
/// row-major order: its flat index in the window and in the plane.
template <typename Body>
__device__ inline void forEachSeen(const Windows &windows, int64_t o,
                                   Body body) {
  const WindowDim &d = windows.dims[0], &h = windows.dims[1],
                  &w = windows.dims[2];
  const Index3 at(o, h.count, w.count);
  for (int64_t i = d.firstTap(at.d); i < d.endTap(at.d); ++i)
    for (int64_t j = h.firstTap(at.h); j < h.endTap(at.h); ++j)
      for (int64_t k = w.firstTap(at.w); k < w.endTap(at.w); ++k)
        body((i * h.window + j) * w.window + k,
             (d.position(at.d, i) * h.size + h.position(at.h, j)) * w.size +
                 w.position(at.w, k));
}

/// The window of `dim` that sees element `at` of its dimension at tap `k`, or
/// -1 where none does.
__device__ inline int64_t windowOf(const WindowDim &dim, int64_t at,
                                   int64_t k) {
  const int64_t from = at + dim.padding - k * dim.dilation;
  if (from < 0 || from % dim.stride)
    return -1;
  const int64_t o = from / dim.stride;
  return o < dim.count ? o : -1;
}

/// Calls `body(tap, o)` for each window that sees element `source` of a plane:
/// the tap that it is there, and the window's flat index.
template <typename Body>
__device__ inline void forEachSeeing(const Windows &windows, int64_t source,
                                     Body body) {
  const WindowDim &d = windows.dims[0], &h = windows.dims[1],
                  &w = windows.dims[2];
  const Index3 at(source, h.size, w.size);
  for (int64_t i = 0; i < d.window; ++i) {
    const int64_t depth = windowOf(d, at.d, i);
    for (int64_t j = 0; depth >= 0 && j < h.window; ++j) {
      const int64_t row = windowOf(h, at.h, j);
      for (int64_t k = 0; row >= 0 && k < w.window; ++k) {
        const int64_t column = windowOf(w, at.w, k);
        if (column >= 0)
          body((i * h.window + j) * w.window + k,
               (depth * h.count + row) * w.count + column);
      }
    }
  }
}

/// Calls `body(i)` for each i of [0, extent) that is this thread's.
template <typename Body>
__device__ inline void forEachItem(int64_t extent, Body body) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < extent;
       i += step)
    body(i);
}

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_WINDOWS_CUH
