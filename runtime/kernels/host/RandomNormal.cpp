// nn.random_normal. Elements 4 c to 4 c + 3 of a sample are made of the words
// of counter c, two of each pair.
#include "kernels/host/Host.h"
#include "kernels/host/Philox.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class RandomNormal final : public Kernel {
public:
  RandomNormal(const KernelSpec &spec, const KernelContext &context)
      : context(context), id(static_cast<uint32_t>(spec.integer("id"))),
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
      float normal[2];
      twoNormals(words[pair][lane], words[pair + 1][lane], normal);
      y[i] = fromFloat<T>(normal[0]);
      if (i + 1 < count)
        y[i + 1] = fromFloat<T>(normal[1]);
    }
  }

  /// Box and Muller's method.
  static void twoNormals(uint32_t first, uint32_t second, float *to) {
    const auto share = static_cast<float>((double(first) + 1) * 0x1p-32);
    const auto angle =
        static_cast<float>(double(second) * (6.283185307179586 * 0x1p-32));
    const float radius = std::sqrt(-2 * std::log(share));
    to[0] = radius * std::cos(angle);
    to[1] = radius * std::sin(angle);
  }

  KernelContext context;
  uint32_t id;
  int64_t samples, elements;
};

std::unique_ptr<Kernel> makeRandomNormal(const KernelSpec &spec,
                                         const KernelContext &context) {
  return makeForType<RandomNormal>(spec.results[0].type, spec, context);
}

} // namespace

void registerRandomNormal(Registry &registry) {
  registry.add("nn.random_normal", makeRandomNormal);
}

} // namespace zrt::host
