// nn.rotary: pairs of features rotated by their position.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"
#include "kernels/shapes/RowStrides.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class Rotary final : public Kernel {
public:
  Rotary(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), interleaved(spec.integer("interleaved") != 0),
        from(RowStrides::of(spec.operands[0])),
        to(RowStrides::of(spec.results[0])) {
    const TensorType &x = spec.operands[0];
    rows = x.shape[0] * x.shape[1];
    positions = x.shape[1];
    heads = x.shape[2];
    rotated = rowRange(spec, heads, "heads");
    pairs = x.shape[3] / 2;
    tabulate(spec.real("theta"), spec.integer("inverse") != 0);
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 1);
    pool.parallelFor(
        rows, rowGrain(heads * 2 * pairs), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const int64_t b = r / positions, t = r % positions;
            for (int64_t h = 0; h < heads; ++h)
              visit(x + from.at(b, t, h), h, t, y + to.at(b, t, h));
          }
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

  void visit(const T *x, int64_t head, int64_t position, T *y) const {
    if (head >= rotated.first && head < rotated.last)
      rotate(x, position, y);
    else if (x != y)
      std::copy(x, x + 2 * pairs, y);
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
  RowStrides from, to;
  RowRange rotated; ///< heads
  int64_t rows, positions, heads, pairs;
  std::vector<float> cosines, sines;
};

} // namespace

void registerRotary(Registry &registry) {
  registry.add("nn.rotary", makeByOperand<Rotary>);
}

} // namespace zrt::host
