// nn.batch_norm and nn.batch_norm_grad, a channel at a time.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <cmath>

namespace zrt::host {

namespace {

/// Sums over rows of vectors are added in f64: a channel may have millions of
/// elements.
class Channels {
public:
  Channels(const TensorType &x, const KernelContext &context)
      : pool(*context.pool), samples(x.shape[0]), channels(x.shape[1]),
        plane(product(x, 2, x.shape.size())) {}

  double count() const { return static_cast<double>(samples * plane); }

  /// Calls `body(c)` for each channel.
  template <typename Body> void forEach(Body body) {
    pool.parallelFor(channels, rowGrain(samples * plane),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t c = begin; c < end; ++c)
                         body(c);
                     });
  }

  /// Calls `body(offset)` with where each sample's plane of channel `c` begins.
  template <typename Body> void forEachPlane(int64_t c, Body body) const {
    for (int64_t n = 0; n < samples; ++n)
      body((n * channels + c) * plane);
  }

  ThreadPool &pool;
  int64_t samples, channels, plane;
};

template <typename T> class BatchNorm final : public Kernel {
public:
  BatchNorm(const KernelSpec &spec, const KernelContext &context)
      : channels(spec.operands[0], context), epsilon(spec.real("eps")) {}

  void run(void *const *buffers, void *) override {
    channels.forEach([&](int64_t c) { one(buffers, c); });
  }

private:
  void one(void *const *buffers, int64_t c) const {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 3);
    double sum = 0, squares = 0;
    channels.forEachPlane(c, [&](int64_t from) {
      Vector part = splat(0);
      forEachVector(channels.plane,
                    [&](Lanes at) { part += at.load(x + from); });
      sum += sumOf(part);
    });
    const float mean = static_cast<float>(sum / channels.count());
    channels.forEachPlane(c, [&](int64_t from) {
      Vector part = splat(0);
      forEachVector(channels.plane, [&](Lanes at) {
        const Vector d = at.fill(at.load(x + from) - mean, 0);
        part = fma(d, d, part);
      });
      squares += sumOf(part);
    });
    const double variance = squares / channels.count();
    const float scale = static_cast<float>(1 / std::sqrt(variance + epsilon));
    const Vector w = splat(toFloat(at<T>(buffers, 1)[c]));
    const Vector b = splat(toFloat(at<T>(buffers, 2)[c]));
    channels.forEachPlane(c, [&](int64_t from) {
      forEachVector(channels.plane, [&](Lanes at) {
        at.store(y + from, fma((at.load(x + from) - mean) * scale, w, b));
      });
    });
    at<float>(buffers, 4)[c] = mean;
    at<float>(buffers, 5)[c] = static_cast<float>(variance);
  }

  Channels channels;
  double epsilon;
};

template <typename T> class BatchNormGrad final : public Kernel {
public:
  BatchNormGrad(const KernelSpec &spec, const KernelContext &context)
      : channels(spec.operands[1], context), epsilon(spec.real("eps")) {}

  void run(void *const *buffers, void *) override {
    channels.forEach([&](int64_t c) { one(buffers, c); });
  }

private:
  void one(void *const *buffers, int64_t c) const {
    const T *dy = at<T>(buffers, 0), *x = at<T>(buffers, 1);
    T *dx = at<T>(buffers, 5);
    const float mean = at<float>(buffers, 3)[c];
    const double variance = at<float>(buffers, 4)[c];
    const float scale = static_cast<float>(1 / std::sqrt(variance + epsilon));
    double sum = 0, product = 0; // of dy, and of dy times what y was
    channels.forEachPlane(c, [&](int64_t from) {
      Vector plain = splat(0), scaled = splat(0);
      forEachVector(channels.plane, [&](Lanes at) {
        const Vector g = at.load(dy + from);
        plain += g;
        scaled = fma(g, (at.load(x + from) - mean) * scale, scaled);
      });
      sum += sumOf(plain);
      product += sumOf(scaled);
    });
    const Vector meanSum = splat(static_cast<float>(sum / channels.count()));
    const Vector meanProduct =
        splat(static_cast<float>(product / channels.count()));
    const Vector factor = splat(toFloat(at<T>(buffers, 2)[c]) * scale);
    channels.forEachPlane(c, [&](int64_t from) {
      forEachVector(channels.plane, [&](Lanes at) {
        const Vector normal = (at.load(x + from) - mean) * scale;
        at.store(dx + from,
                 (at.load(dy + from) - meanSum - normal * meanProduct) *
                     factor);
      });
    });
    at<T>(buffers, 6)[c] = fromFloat<T>(static_cast<float>(product));
    at<T>(buffers, 7)[c] = fromFloat<T>(static_cast<float>(sum));
  }

  Channels channels;
  double epsilon;
};

} // namespace

void registerBatchNorm(Registry &registry) {
  registry.add("nn.batch_norm", makeByOperand<BatchNorm>);
  registry.add("nn.batch_norm_grad", makeByOperand<BatchNormGrad>);
}

} // namespace zrt::host
