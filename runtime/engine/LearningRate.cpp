#include "engine/LearningRate.h"

#include <algorithm>
#include <cmath>

using namespace zrt;

namespace {

/// The warm-up's fraction at scheduler step `step`, below `warmup`.
double warmupFraction(const LearningRateSchedule &schedule, int64_t step,
                      int64_t warmup) {
  if (schedule.logWarmup)
    return 1.0 / std::log(double(warmup)) * std::log(double(step + 1));
  return double(step) / double(warmup);
}

double cosineRatio(const LearningRateSchedule &schedule, int64_t step,
                   int64_t warmup) {
  if (step < warmup)
    return schedule.warmupMinRatio + warmupFraction(schedule, step, warmup) *
                                         (1.0 - schedule.warmupMinRatio);
  const double done = double(step - warmup + 1);
  const double total =
      double(std::max<int64_t>(1, schedule.totalSteps - warmup));
  const double progress = std::min(1.0, done / total);
  const double pi = std::acos(-1.0);
  const double ratio = (1.0 + std::cos(pi * progress)) / 2.0;
  return std::max(0.0, schedule.cosineMinRatio +
                           (1.0 - schedule.cosineMinRatio) * ratio);
}

double warmupGamma(const LearningRateSchedule &schedule, int64_t step,
                   int64_t warmup) {
  if (step < warmup)
    return warmupFraction(schedule, step, warmup);
  if (schedule.kind == ScheduleKind::WarmupLR)
    return 1.0;
  return std::max(0.0, double(schedule.totalSteps - step) /
                           std::max(1.0, double(schedule.totalSteps - warmup)));
}

} // namespace

double zrt::learningRate(const LearningRateSchedule &schedule, double base,
                         int64_t update) {
  const int64_t step = update - 1;
  const int64_t warmup = std::max<int64_t>(2, schedule.warmupSteps);
  switch (schedule.kind) {
  case ScheduleKind::Constant:
    return base;
  case ScheduleKind::WarmupCosineLR:
    return step < 0 ? 0.0 : base * cosineRatio(schedule, step, warmup);
  case ScheduleKind::WarmupLR:
  case ScheduleKind::WarmupDecayLR:
    break;
  }
  const double most = schedule.warmupMax < 0 ? base : schedule.warmupMax;
  if (step < 0)
    return schedule.warmupMin;
  return schedule.warmupMin +
         (most - schedule.warmupMin) * warmupGamma(schedule, step, warmup);
}
