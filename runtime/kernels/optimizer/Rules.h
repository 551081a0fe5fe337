// What an update decides from the control block alone: norm, verdict and the
// loss scale.
//
// One code for the host and for devices, so that what is tested on the one is
// what runs on the other. Not for files that are compiled for this machine's
// instruction set: the linker could choose their copy for another.
#ifndef ZERO_RUNTIME_KERNELS_OPTIMIZER_RULES_H
#define ZERO_RUNTIME_KERNELS_OPTIMIZER_RULES_H

#include "kernels/optimizer/Loops.h"
#include "program/Control.h"

namespace zrt {

//===----------------------------------------------------------------------===//
// The exact sum of squares
//===----------------------------------------------------------------------===//

/// Weight of the lowest bit of the limbs, as a power of two: the smallest
/// square's.
inline constexpr int kNormLowestBit = -298;

/// Brings every limb but the last into [0, 2^32) by carrying upwards.
ZRT_RULE void normalizeLimbs(int64_t *limbs) {
  for (int i = 0; i + 1 < kNormLimbs; ++i) {
    limbs[i + 1] += limbs[i] >> 32;
    limbs[i] &= 0xffffffff;
  }
}

/// The sum as the nearest f64. Limbs need not be normalised.
ZRT_RULE double limbsToDouble(const int64_t *limbs) {
  int64_t digits[kNormLimbs];
  for (int i = 0; i < kNormLimbs; ++i)
    digits[i] = limbs[i];
  normalizeLimbs(digits);
  int top = kNormLimbs - 1;
  while (top > 0 && digits[top] == 0)
    --top;
  // The leading 64 bits or more; what is below only breaks ties, so it is
  // kept as one sticky bit.
  unsigned __int128 leading = 0;
  for (int i = top; i > top - 3; --i)
    leading = (leading << 32) | static_cast<uint64_t>(i >= 0 ? digits[i] : 0);
  bool sticky = false;
  for (int i = top - 3; i >= 0; --i)
    sticky |= digits[i] != 0;
  int shift = 0;
  for (; leading >> 63; leading >>= 1, ++shift)
    sticky |= leading & 1;
  double value = static_cast<double>(static_cast<uint64_t>(leading) |
                                     static_cast<uint64_t>(sticky));
  return ldexp(value, shift + 32 * (top - 2) + kNormLowestBit);
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// Adds a micro-batch's loss to those of the update. What weighs nothing has
/// counted nothing, and its mean may be no number.
ZRT_RULE void recordLoss(Control &control, float loss, const float *weight) {
  if (control.microIndex == 0)
    control.lossSum = control.weightSum = 0;
  if (!weight) {
    control.lossSum += loss;
  } else if (*weight != 0) {
    control.lossSum += double(*weight) * loss;
    control.weightSum += *weight;
  }
}

//===----------------------------------------------------------------------===//
// Norm, verdict, factor
//===----------------------------------------------------------------------===//

struct JudgeRule {
  double clip;    ///< 0: none
  double divisor; ///< what is left of the mean over ranks
  bool exact;     ///< the norm is in limbs
  bool skip;      ///< a gradient that is not finite skips the update
  /// Of the update, over all ranks, where they have weights; 0: they have none.
  int64_t microBatches;
};

ZRT_RULE void judge(const JudgeRule &rule, Control &control) {
  bool clean = control.nonFinite == 0;
  double mean = rule.microBatches > 0 && control.weightSum != 0
                    ? control.weightSum / rule.microBatches
                    : 1;
  double unweighted = control.scale * rule.divisor, scale = unweighted * mean;
  double sum = rule.exact ? limbsToDouble(control.normLimbs) : control.normSum;
  // A model may count with a sign, which its weights then have as well.
  double norm = clean ? sqrt(sum) / fabs(scale) : HUGE_VAL;
  double factor = 1 / scale;
  if (rule.clip > 0) {
    double ratio = rule.clip / (norm + 1e-6);
    factor = (ratio < 1 ? ratio : 1) / scale;
  }
  control.norm = static_cast<float>(norm);
  control.factor = static_cast<float>(factor);
  control.unscale = static_cast<float>(1 / unweighted);
  control.meanWeight = static_cast<float>(mean);
  control.finite = clean || !rule.skip;
}

//===----------------------------------------------------------------------===//
// The scalars of an update
//===----------------------------------------------------------------------===//

/// For a partition's learning rate, in the update that the control block is in.
template <typename Rule>
ZRT_RULE UpdateScalars<Rule> scalarsOf(const typename Rule::Hyper &hyper,
                                       int partition, const Control &control) {
  return {
      Rule::kTakesGradients ? control.factor : control.unscale,
      Rule::kDecaysGradient ? static_cast<float>(hyper.weightDecay) : 0,
      Rule::scalars(hyper, control.learningRate[partition], control.steps + 1)};
}

//===----------------------------------------------------------------------===//
// The loss scale
//===----------------------------------------------------------------------===//

struct ScaleRule {
  bool dynamic, consecutiveHysteresis;
  double minimum, factor;
  int64_t window, hysteresis;
  int accumulation;
};

ZRT_RULE void shrinkScale(const ScaleRule &rule, Control &control) {
  if (rule.hysteresis == 1 || control.hysteresis == 1) {
    if (control.scale == static_cast<float>(rule.minimum)) {
      control.fatal = 1;
    } else {
      double shrunk = control.scale / rule.factor;
      control.scale =
          static_cast<float>(shrunk < rule.minimum ? rule.minimum : shrunk);
    }
  } else {
    --control.hysteresis;
  }
  control.lastOverflow = control.iteration++;
}

ZRT_RULE void growScale(const ScaleRule &rule, Control &control) {
  if (rule.consecutiveHysteresis)
    control.hysteresis = static_cast<int32_t>(rule.hysteresis);
  int64_t stable = control.iteration - control.lastOverflow - 1;
  if (stable > 0 && stable % rule.window == 0) {
    control.hysteresis = static_cast<int32_t>(rule.hysteresis);
    control.scale = static_cast<float>(control.scale * rule.factor);
  }
  ++control.iteration;
}

/// The end of an update. DeepSpeed's rule for the scale, but applied after the
/// scale's last use: the gradients of a growth step are divided by the scale
/// they were multiplied by.
ZRT_RULE void updateScale(const ScaleRule &rule, Control &control) {
  bool overflow = !control.finite;
  ++(overflow ? control.skipped : control.steps);
  if (rule.dynamic)
    overflow ? shrinkScale(rule, control) : growScale(rule, control);
  control.lossSeed = control.scale / static_cast<float>(rule.accumulation);
}

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_OPTIMIZER_RULES_H
