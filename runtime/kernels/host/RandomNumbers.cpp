// nn.random_normal, nn.random_uniform and nn.random_integers. Counters of the
// generator belong to samples: what a rank draws does not depend on which
// samples others have.
#include "kernels/host/Host.h"
#include "kernels/host/Philox.h"
#include "kernels/shapes/UniformDraws.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

/// A tensor of T [samples, r..]. Elements 4 c to 4 c + 3 of a sample are made
/// of the words of counter c: `Form` makes two elements of two words,
/// form(first, second, to).
template <typename T, typename Form> class RandomNumbers final : public Kernel {
public:
  RandomNumbers(const KernelSpec &spec, const KernelContext &context,
                Form form = {})
      : context(context), form(form),
        id(static_cast<uint32_t>(spec.integer("id"))),
        samples(spec.results[0].shape[0]),
        elements(product(spec.results[0], 1, spec.results[0].shape.size())) {}

  void run(void *const *buffers, void *) override {
    T *y = at<T>(buffers, 0);
    const Control &control = *context.control;
    const uint64_t first =
        (control.batch * context.sampleRanks + context.sampleIndex) * samples;
    const int64_t blocks = (elements + kBlock - 1) / kBlock;
    context.pool->parallelFor(
        samples * blocks, 16, [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            const int64_t sample = b / blocks, from = b % blocks * kBlock;
            draw(control.seed, first + sample, from,
                 std::min(kBlock, elements - from),
                 y + sample * elements + from);
          }
        });
  }

private:
  static constexpr int64_t kBlock = 4 * kLanes; // elements of sixteen counters

  void draw(uint64_t seed, uint64_t sample, int64_t from, int64_t count,
            T *y) const {
    WordVector words[4];
    drawWords(seed, sample, id, static_cast<uint32_t>(from / 4), words);
    for (int64_t i = 0; i < count; i += 2) {
      const int64_t lane = i / 4, pair = i % 4;
      T two[2];
      form(words[pair][lane], words[pair + 1][lane], two);
      y[i] = two[0];
      if (i + 1 < count)
        y[i + 1] = two[1];
    }
  }

  KernelContext context;
  Form form;
  uint32_t id;
  int64_t samples, elements;
};

/// Box and Muller's method.
template <typename T> struct TwoNormals {
  void operator()(uint32_t first, uint32_t second, T *to) const {
    const auto share = static_cast<float>((double(first) + 1) * 0x1p-32);
    const auto angle =
        static_cast<float>(double(second) * (6.283185307179586 * 0x1p-32));
    const float radius = std::sqrt(-2 * std::log(share));
    to[0] = fromFloat<T>(radius * std::cos(angle));
    to[1] = fromFloat<T>(radius * std::sin(angle));
  }
};

template <typename T> using RandomNormal = RandomNumbers<T, TwoNormals<T>>;

std::unique_ptr<Kernel> makeRandomNormal(const KernelSpec &spec,
                                         const KernelContext &context) {
  return makeForType<RandomNormal>(spec.results[0].type, spec, context);
}

template <typename T> struct TwoShares {
  void operator()(uint32_t first, uint32_t second, T *to) const {
    constexpr int bits = digitsOf(typeOf<T>());
    to[0] = fromFloat<T>(shareOf(first, bits));
    to[1] = fromFloat<T>(shareOf(second, bits));
  }
};

template <typename T> using RandomUniform = RandomNumbers<T, TwoShares<T>>;

struct TwoIntegers {
  uint32_t below = 0;

  void operator()(uint32_t first, uint32_t second, int32_t *to) const {
    to[0] = integerOf(first, below);
    to[1] = integerOf(second, below);
  }
};

std::unique_ptr<Kernel> makeRandomUniform(const KernelSpec &spec,
                                          const KernelContext &context) {
  return makeForType<RandomUniform>(spec.results[0].type, spec, context);
}

std::unique_ptr<Kernel> makeRandomIntegers(const KernelSpec &spec,
                                           const KernelContext &context) {
  const TwoIntegers form{static_cast<uint32_t>(spec.integer("below"))};
  return std::make_unique<RandomNumbers<int32_t, TwoIntegers>>(spec, context,
                                                               form);
}

} // namespace

void registerRandomNumbers(Registry &registry) {
  registry.add("nn.random_normal", makeRandomNormal);
  registry.add("nn.random_uniform", makeRandomUniform);
  registry.add("nn.random_integers", makeRandomIntegers);
}

} // namespace zrt::host
