// Images as columns: what every window sees, one window a column, so that a
// convolution is a matrix product.
#ifndef ZERO_RUNTIME_KERNELS_HOST_COLUMNS_H
#define ZERO_RUNTIME_KERNELS_HOST_COLUMNS_H

#include "kernels/host/Host.h"
#include "program/Windows.h"

#include <algorithm>

namespace zrt::host {

/// Calls `body(o, first, count)` for each run of windows that are neighbours in
/// the last dimension and see an element of the plane at tap (kd, kh, kw): the
/// flat index of the first window, the number of windows, and the flat index
/// in the plane of what the first one sees; the next see it a stride further.
template <typename Body>
inline void forEachRun(const Windows &windows, int64_t kd, int64_t kh,
                       int64_t kw, Body body) {
  const WindowDim &d = windows.dims[0], &h = windows.dims[1],
                  &w = windows.dims[2];
  // Windows [begin, end) of the last dimension have tap kw in the plane.
  const int64_t shift = w.position(0, kw);
  const int64_t begin = shift < 0 ? (-shift + w.stride - 1) / w.stride : 0;
  const int64_t last = w.size - 1 - shift;
  const int64_t end = last < 0 ? 0 : std::min(w.count, last / w.stride + 1);
  if (begin >= end)
    return;
  for (int64_t i = 0; i < d.count; ++i) {
    const int64_t depth = d.position(i, kd);
    if (depth < 0 || depth >= d.size)
      continue;
    for (int64_t j = 0; j < h.count; ++j) {
      const int64_t row = h.position(j, kh);
      if (row < 0 || row >= h.size)
        continue;
      body((i * h.count + j) * w.count + begin, end - begin,
           (depth * h.size + row) * w.size + w.position(begin, kw));
    }
  }
}

/// Calls `body(tap, kd, kh, kw)` for each element of a window.
template <typename Body>
inline void forEachTap(const Windows &windows, Body body) {
  int64_t tap = 0;
  for (int64_t kd = 0; kd < windows.dims[0].window; ++kd)
    for (int64_t kh = 0; kh < windows.dims[1].window; ++kh)
      for (int64_t kw = 0; kw < windows.dims[2].window; ++kw)
        body(tap++, kd, kh, kw);
}

/// to[(c * taps + tap) * stride + o] = what window o of channel c sees at
/// `tap`, 0 outside of `images` [channels, plane].
template <typename T>
void unfold(ThreadPool &pool, const Windows &windows, int64_t channels,
            const T *images, float *to, int64_t stride) {
  const int64_t count = windows.count(), taps = windows.taps();
  const int64_t step = windows.dims[2].stride;
  pool.parallelFor(
      channels, rowGrain(count * taps), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) {
          const T *plane = images + c * windows.plane();
          forEachTap(
              windows, [&](int64_t tap, int64_t kd, int64_t kh, int64_t kw) {
                float *row = to + (c * taps + tap) * stride;
                std::fill(row, row + count, 0.0f);
                forEachRun(windows, kd, kh, kw,
                           [&](int64_t o, int64_t length, int64_t from) {
                             for (int64_t i = 0; i < length; ++i)
                               row[o + i] = toFloat(plane[from + i * step]);
                           });
              });
        }
      });
}

/// The adjoint: adds what windows have of an element up, in the order of taps.
/// `scratch` holds a plane for each worker.
template <typename T>
void fold(ThreadPool &pool, const Windows &windows, int64_t channels,
          const float *columns, T *images, float *scratch) {
  const int64_t count = windows.count(), taps = windows.taps(),
                elements = windows.plane();
  const int64_t step = windows.dims[2].stride;
  pool.parallelForWorkers(
      channels, rowGrain(count * taps),
      [&](int64_t begin, int64_t end, int worker) {
        float *plane = scratch + worker * int64_t(padded(elements));
        for (int64_t c = begin; c < end; ++c) {
          std::fill(plane, plane + elements, 0.0f);
          forEachTap(windows,
                     [&](int64_t tap, int64_t kd, int64_t kh, int64_t kw) {
                       const float *row = columns + (c * taps + tap) * count;
                       forEachRun(windows, kd, kh, kw,
                                  [&](int64_t o, int64_t length, int64_t at) {
                                    for (int64_t i = 0; i < length; ++i)
                                      plane[at + i * step] += row[o + i];
                                  });
                     });
          convertFromFloat(plane, images + c * elements, elements);
        }
      });
}

/// Bytes of the planes of `fold`.
inline size_t foldBytes(ThreadPool &pool, const Windows &windows) {
  return padded(windows.plane()) * pool.threads() * sizeof(float);
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_COLUMNS_H
