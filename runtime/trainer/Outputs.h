// Checks of the files that a run writes, before it begins.
#ifndef ZERO_RUNTIME_TRAINER_OUTPUTS_H
#define ZERO_RUNTIME_TRAINER_OUTPUTS_H

#include "trainer/Options.h"

namespace zrt {

/// Throws what would otherwise come after hours of training, or destroy what
/// the run reads: UsageError where an output is an input, this executable or
/// another output, by whatever name; std::runtime_error where one cannot be
/// written.
void checkOutputs(const Options &options);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_OUTPUTS_H
