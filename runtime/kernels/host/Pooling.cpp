// nn.max_pool, nn.avg_pool and their gradients, a plane at a time.
#include "kernels/host/Host.h"
#include "program/Windows.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

/// Calls `body(at)` with the flat index in the plane of each element that
/// window (i, j, l) sees, in row-major order.
template <typename Body>
inline void forEachSeen(const Windows &windows, int64_t i, int64_t j, int64_t l,
                        Body body) {
  const WindowDim &d = windows.dims[0], &h = windows.dims[1],
                  &w = windows.dims[2];
  for (int64_t kd = d.firstTap(i); kd < d.endTap(i); ++kd)
    for (int64_t kh = h.firstTap(j); kh < h.endTap(j); ++kh) {
      const int64_t row =
          (d.position(i, kd) * h.size + h.position(j, kh)) * w.size;
      for (int64_t kw = w.firstTap(l); kw < w.endTap(l); ++kw)
        body(row + w.position(l, kw));
    }
}

/// Calls `body(o, i, j, l)` for each window of a plane.
template <typename Body>
inline void forEachWindow(const Windows &windows, Body body) {
  int64_t o = 0;
  for (int64_t i = 0; i < windows.dims[0].count; ++i)
    for (int64_t j = 0; j < windows.dims[1].count; ++j)
      for (int64_t l = 0; l < windows.dims[2].count; ++l)
        body(o++, i, j, l);
}

/// The first maximum of a window; a NaN is one.
template <typename T> struct Maximum {
  int64_t at = -1;
  float value = 0;

  Maximum(const Windows &windows, const T *plane, int64_t i, int64_t j,
          int64_t l) {
    forEachSeen(windows, i, j, l, [&](int64_t source) {
      const float next = toFloat(plane[source]);
      if (at < 0 || next > value || (std::isnan(next) && !std::isnan(value))) {
        at = source;
        value = next;
      }
    });
  }
};

/// What the mean of a window divides by: its elements in the plane, or, with
/// `padding`, in the plane and its padding.
int64_t divisorOf(const WindowDim &dim, int64_t o, bool padding) {
  const int64_t begin = dim.position(o, 0), end = begin + dim.window;
  const int64_t margin = padding ? dim.padding : 0;
  return std::min(end, dim.size + margin) - std::max(begin, -margin);
}

/// What the four kernels share: planes, and scratch for one that is summed up.
class Planes {
public:
  Planes(const KernelSpec &spec, const KernelContext &context,
         const TensorType &images, const TensorType &pooled)
      : pool(*context.pool),
        windows(windowsOf(spec, images, pooled, spec.ints.at("window"))),
        planes(images.shape[0] * images.shape[1]),
        countPadding(spec.integer("count_padding") != 0) {}

  size_t scratchBytes() const {
    return padded(windows.plane()) * sizeof(float) * pool.threads();
  }

  float shareOf(int64_t i, int64_t j, int64_t l) const {
    return 1.0f /
           static_cast<float>(divisorOf(windows.dims[0], i, countPadding) *
                              divisorOf(windows.dims[1], j, countPadding) *
                              divisorOf(windows.dims[2], l, countPadding));
  }

  /// Calls `body(plane, worker)` for each plane.
  template <typename Body> void forEach(Body body) {
    pool.parallelForWorkers(planes, rowGrain(windows.count() * windows.taps()),
                            [&](int64_t begin, int64_t end, int worker) {
                              for (int64_t plane = begin; plane < end; ++plane)
                                body(plane, worker);
                            });
  }

  /// The same, with a plane of f32 zeros that is written to `to` afterwards.
  template <typename T, typename Body>
  void forEachSum(T *to, void *workspace, Body body) {
    const int64_t elements = windows.plane();
    forEach([&](int64_t plane, int worker) {
      float *sums =
          static_cast<float *>(workspace) + worker * int64_t(padded(elements));
      std::fill(sums, sums + elements, 0.0f);
      body(plane, sums);
      convertFromFloat(sums, to + plane * elements, elements);
    });
  }

  ThreadPool &pool;
  Windows windows;
  int64_t planes;
  bool countPadding;
};

template <typename T> class MaxPool final : public Kernel {
public:
  MaxPool(const KernelSpec &spec, const KernelContext &context)
      : planes(spec, context, spec.operands[0], spec.results[0]) {}

  void run(void *const *buffers, void *) override {
    const Windows &windows = planes.windows;
    planes.forEach([&](int64_t plane, int) {
      const T *x = at<T>(buffers, 0) + plane * windows.plane();
      T *y = at<T>(buffers, 1) + plane * windows.count();
      forEachWindow(windows, [&](int64_t o, int64_t i, int64_t j, int64_t l) {
        y[o] = fromFloat<T>(Maximum<T>(windows, x, i, j, l).value);
      });
    });
  }

private:
  Planes planes;
};

template <typename T> class MaxPoolGrad final : public Kernel {
public:
  MaxPoolGrad(const KernelSpec &spec, const KernelContext &context)
      : planes(spec, context, spec.operands[1], spec.operands[0]) {}

  size_t workspaceBytes() const override { return planes.scratchBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const Windows &windows = planes.windows;
    planes.forEachSum(
        at<T>(buffers, 2), workspace, [&](int64_t plane, float *dx) {
          const T *dy = at<T>(buffers, 0) + plane * windows.count();
          const T *x = at<T>(buffers, 1) + plane * windows.plane();
          forEachWindow(
              windows, [&](int64_t o, int64_t i, int64_t j, int64_t l) {
                dx[Maximum<T>(windows, x, i, j, l).at] += toFloat(dy[o]);
              });
        });
  }

private:
  Planes planes;
};

template <typename T> class AvgPool final : public Kernel {
public:
  AvgPool(const KernelSpec &spec, const KernelContext &context)
      : planes(spec, context, spec.operands[0], spec.results[0]) {}

  void run(void *const *buffers, void *) override {
    const Windows &windows = planes.windows;
    planes.forEach([&](int64_t plane, int) {
      const T *x = at<T>(buffers, 0) + plane * windows.plane();
      T *y = at<T>(buffers, 1) + plane * windows.count();
      forEachWindow(windows, [&](int64_t o, int64_t i, int64_t j, int64_t l) {
        float sum = 0;
        forEachSeen(windows, i, j, l,
                    [&](int64_t source) { sum += toFloat(x[source]); });
        y[o] = fromFloat<T>(sum * planes.shareOf(i, j, l));
      });
    });
  }

private:
  Planes planes;
};

template <typename T> class AvgPoolGrad final : public Kernel {
public:
  AvgPoolGrad(const KernelSpec &spec, const KernelContext &context)
      : planes(spec, context, spec.results[0], spec.operands[0]) {}

  size_t workspaceBytes() const override { return planes.scratchBytes(); }

  void run(void *const *buffers, void *workspace) override {
    const Windows &windows = planes.windows;
    planes.forEachSum(
        at<T>(buffers, 1), workspace, [&](int64_t plane, float *dx) {
          const T *dy = at<T>(buffers, 0) + plane * windows.count();
          forEachWindow(
              windows, [&](int64_t o, int64_t i, int64_t j, int64_t l) {
                const float share = toFloat(dy[o]) * planes.shareOf(i, j, l);
                forEachSeen(windows, i, j, l,
                            [&](int64_t source) { dx[source] += share; });
              });
        });
  }

private:
  Planes planes;
};

} // namespace

void registerPooling(Registry &registry) {
  registry.add("nn.max_pool", makeByOperand<MaxPool>);
  registry.add("nn.max_pool_grad", makeByOperand<MaxPoolGrad>);
  registry.add("nn.avg_pool", makeByOperand<AvgPool>);
  registry.add("nn.avg_pool_grad", makeByOperand<AvgPoolGrad>);
}

} // namespace zrt::host
