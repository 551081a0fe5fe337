// Learning-rate schedules, as DeepSpeed computes them.
#ifndef ZERO_RUNTIME_ENGINE_LEARNINGRATE_H
#define ZERO_RUNTIME_ENGINE_LEARNINGRATE_H

#include "program/Program.h"

namespace zrt {

/// The learning rate of update number `update` (from 0; skipped updates do not
/// count). `base` is the group's own rate.
///
/// DeepSpeed's scheduler steps after each update, so update 0 runs before its
/// first step: at the minimum rate, or 0 for the cosine.
double learningRate(const LearningRateSchedule &schedule, double base,
                    int64_t update);

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_LEARNINGRATE_H
