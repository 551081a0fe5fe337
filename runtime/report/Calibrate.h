// Measures the machine, for `zero-plan`.
#ifndef ZERO_RUNTIME_REPORT_CALIBRATE_H
#define ZERO_RUNTIME_REPORT_CALIBRATE_H

#include "communicator/Communicator.h"
#include "engine/Backend.h"

#include <iosfwd>
#include <string>

namespace zrt {

/// The backend to measure, and the files for the results; all borrowed.
struct CalibrationRun {
  BackendSetup setup;
  const BackendMaker &makeBackend;
  uint64_t seed = 0;       ///< of parameters
  const std::string &file; ///< the machine file
  std::ostream &out;       ///< a line about it
};

/// Times the program's kernels in its own updates, on random inputs and with a
/// learning rate of 0, then kernels and collectives over sizes (see Ladder.h),
/// and writes what docs/Planning.md calls a machine file. All ranks call it;
/// `localRanks` of them are on this machine.
void calibrate(const CalibrationRun &run, Communicator &communicator,
               int localRanks);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_CALIBRATE_H
