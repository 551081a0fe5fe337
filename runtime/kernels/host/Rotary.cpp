// nn.rotary: pairs of features rotated by their position.
#include "kernels/host/Host.h"
#include "kernels/host/Vector.h"

#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class Rotary final : public Kernel {
public:
  Rotary(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), interleaved(spec.integer("interleaved") != 0) {
    const TensorType &x = spec.operands[0];
    rows = x.shape[0] * x.shape[1];
    positions = x.shape[1];
    heads = x.shape[2];
    pairs = x.shape[3] / 2;
    tabulate(spec.real("theta"), spec.integer("inverse") != 0);
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 1);
    const int64_t width = 2 * pairs;
    pool.parallelFor(rows, rowGrain(heads * width),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r)
                         for (int64_t h = r * heads; h < (r + 1) * heads; ++h)
                           rotate(x + h * width, r % positions, y + h * width);
                     });
  }

private:
  /// Cosine and sine of every angle: position, then pair.
  void tabulate(double theta, bool inverse) {
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t i = 0; i < pairs; ++i) {
        double angle = t * std::pow(theta, -static_cast<double>(i) / pairs);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(
            static_cast<float>(inverse ? -std::sin(angle) : std::sin(angle)));
      }
  }

  void rotate(const T *x, int64_t position, T *y) const {
    const float *c = cosines.data() + position * pairs;
    const float *s = sines.data() + position * pairs;
    if (interleaved) {
      // One rounding of the second product, as in the vectors below.
      for (int64_t i = 0; i < pairs; ++i) {
        float a = toFloat(x[2 * i]), b = toFloat(x[2 * i + 1]);
        y[2 * i] = fromFloat<T>(std::fma(a, c[i], -(b * s[i])));
        y[2 * i + 1] = fromFloat<T>(std::fma(a, s[i], b * c[i]));
      }
      return;
    }
    forEachVector(pairs, [&](Lanes at) {
      Vector a = at.load(x), b = at.load(x + pairs);
      Vector cosine = at.load(c), sine = at.load(s);
      at.store(y, fma(a, cosine, -(b * sine)));
      at.store(y + pairs, fma(a, sine, b * cosine));
    });
  }

  ThreadPool &pool;
  bool interleaved;
  int64_t rows, positions, heads, pairs;
  std::vector<float> cosines, sines;
};

} // namespace

void registerRotary(Registry &registry) {
  registry.add("nn.rotary", makeByOperand<Rotary>);
}

} // namespace zrt::host
