// nn.dropout and nn.partial_dropout. Element i of global sample n is kept where
// word i mod 4 of philox({i / 4, id, n low, n high}, seed) is at least p *
// 2^32.
#include "kernels/host/Host.h"
#include "kernels/host/Philox.h"

#include <algorithm>
#include <cmath>

namespace zrt::host {

namespace {

template <typename T> class Dropout final : public Kernel {
public:
  Dropout(const KernelSpec &spec, const KernelContext &context)
      : context(context), id(static_cast<uint32_t>(spec.integer("id"))) {
    const TensorType &x = spec.operands[0];
    const double p = spec.real("p");
    samples = x.shape[0];
    length = product(x, 1, x.shape.size());
    if (spec.operands.size() > 1) {
      const int64_t dim = spec.integer("dim");
      inner = product(x, dim + 1, x.shape.size());
      length = x.shape[dim] * inner;
      runs = product(x, 1, dim);
      stride = spec.integer("size") * inner;
    }
    // A word is an integer: at least p * 2^32 is at least its ceiling. The
    // largest p below 1 has none: there the last word is kept all the same.
    threshold = static_cast<uint32_t>(
        std::min(std::ceil(std::ldexp(p, 32)), 4294967295.0));
    scale = static_cast<float>(1 / (1 - p));
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, inner ? 2 : 1);
    const Control &control = *context.control;
    const uint64_t first =
        (control.batch * context.sampleRanks + context.sampleIndex) * samples;
    const int64_t begins = inner ? *at<int32_t>(buffers, 1) * inner : 0;
    const int64_t blocks = (length + kBlock - 1) / kBlock;
    const bool identity = control.evaluating != 0;
    context.pool->parallelFor(
        samples * runs * blocks, 4, [&](int64_t begin, int64_t end) {
          for (int64_t b = begin; b < end; ++b) {
            int64_t row = b / blocks, from = b % blocks * kBlock;
            int64_t count = std::min(kBlock, length - from);
            int64_t offset = row * length + from;
            if (identity)
              std::memmove(static_cast<void *>(y + offset), x + offset,
                           count * sizeof(T));
            else
              drop(control.seed, first + row / runs,
                   row % runs * stride + begins + from, count, x + offset,
                   y + offset);
          }
        });
  }

private:
  static constexpr int64_t kBlock = 1024; // elements; a multiple of 64

  /// Sixteen counters at a time make 64 factors. Where the first element is not
  /// the first of its counter, those in front of it are left out.
  void drop(uint64_t seed, uint64_t sample, int64_t from, int64_t count,
            const T *x, T *y) const {
    alignas(64) float factors[64];
    for (int64_t i = 0, rest = 0; i < count; i += rest) {
      const int64_t skipped = (from + i) % 4;
      fillFactors(seed, sample, static_cast<uint32_t>((from + i) / 4), factors);
      rest = std::min<int64_t>(64 - skipped, count - i);
      if (skipped)
        std::memmove(factors, factors + skipped, rest * sizeof(float));
      const T *source = x + i;
      T *target = y + i;
      forEachVector(rest, [&](Lanes at) {
        at.store(target, select(at.load(source), host::load(factors + at.at)));
      });
    }
  }

  /// A dropped element is 0 even where it is infinite.
  static Vector select(Vector value, Vector factor) {
    return factor == 0.0f ? splat(0) : value * factor;
  }

  /// The factors of the 64 elements from `counter` * 4 on.
  void fillFactors(uint64_t seed, uint64_t sample, uint32_t counter,
                   float *factors) const {
    WordVector words[4];
    drawWords(seed, sample, id, counter, words);
    float kept[4][kLanes];
    for (int j = 0; j < 4; ++j)
      store(kept[j], words[j] >= threshold ? splat(scale) : splat(0));
    for (int lane = 0; lane < kLanes; ++lane)
      for (int j = 0; j < 4; ++j)
        factors[4 * lane + j] = kept[j][lane];
  }

  KernelContext context;
  uint32_t id;
  int64_t samples;
  /// Elements that lie side by side in the sample, how many such runs of it
  /// there are, and how far they are apart. `inner` is what an index of the
  /// dimension that is cut has of them; 0 where none is.
  int64_t length, runs = 1, stride = 0, inner = 0;
  uint32_t threshold;
  float scale;
};

} // namespace

void registerDropout(Registry &registry) {
  registry.add("nn.dropout", makeByOperand<Dropout>);
  registry.add("nn.partial_dropout", makeByOperand<Dropout>);
}

} // namespace zrt::host
