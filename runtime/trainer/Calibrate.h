// Measures the machine, for `zero-plan`.
#ifndef ZERO_RUNTIME_TRAINER_CALIBRATE_H
#define ZERO_RUNTIME_TRAINER_CALIBRATE_H

#include "communicator/Communicator.h"
#include "trainer/Run.h"

namespace zrt {

/// Times the program's kernels in its own updates, on random inputs and with a
/// learning rate of 0, then kernels and collectives over sizes (see Ladder.h),
/// and writes what docs/Planning.md calls a machine file to
/// `options.calibrate`. All ranks call it; `localRanks` of them are on this
/// machine.
void calibrate(const Run &run, Communicator &communicator, int localRanks);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_CALIBRATE_H
