// What dropout draws for the elements of a sample.
#ifndef ZERO_RUNTIME_KERNELS_HOST_DROPOUTDRAWS_H
#define ZERO_RUNTIME_KERNELS_HOST_DROPOUTDRAWS_H

#include "kernels/host/Host.h"
#include "kernels/host/Philox.h"
#include "kernels/shapes/DropoutRule.h"

#include <algorithm>
#include <cstring>

namespace zrt::host {

/// A dropped element is 0 even where it is infinite.
ZERO_INLINE Vector dropped(Vector value, Vector factor) {
  return factor == 0.0f ? splat(0) : value * factor;
}

class DropoutDraws {
public:
  DropoutDraws(const DropoutRule &rule, const KernelContext &context,
               int64_t samples)
      : rule(rule), context(context), samples(samples) {}

  /// Whether all elements are kept as they are.
  bool areOff() const { return context.control->evaluating != 0; }

  /// Calls `use(i, count, factors)` with the factors of elements `from` + i to
  /// `from` + i + count of a sample of this micro-batch, 64 or fewer, until
  /// there were `count` elements. Sixteen counters at a time make 64 factors;
  /// where the first element is not the first of its counter, those in front of
  /// it are left out.
  template <typename Use>
  void forEach(int64_t sample, int64_t from, int64_t count, Use use) const {
    const Control &control = *context.control;
    const uint64_t first =
        (control.batch * context.sampleRanks + context.sampleIndex) * samples;
    alignas(64) float factors[64];
    for (int64_t i = 0, some = 0; i < count; i += some) {
      const int64_t skipped = (from + i) % 4;
      fill(control.seed, first + sample, static_cast<uint32_t>((from + i) / 4),
           factors);
      some = std::min<int64_t>(64 - skipped, count - i);
      if (skipped)
        std::memmove(factors, factors + skipped, some * sizeof(float));
      use(i, some, factors);
    }
  }

private:
  /// The factors of the 64 elements from `counter` * 4 on.
  void fill(uint64_t seed, uint64_t sample, uint32_t counter,
            float *factors) const {
    WordVector words[4];
    drawWords(seed, sample, rule.id, counter, words);
    float kept[4][kLanes];
    for (int j = 0; j < 4; ++j)
      store(kept[j], words[j] >= rule.threshold ? splat(rule.scale) : splat(0));
    for (int lane = 0; lane < kLanes; ++lane)
      for (int j = 0; j < 4; ++j)
        factors[4 * lane + j] = kept[j][lane];
  }

  DropoutRule rule;
  KernelContext context;
  int64_t samples;
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_DROPOUTDRAWS_H
