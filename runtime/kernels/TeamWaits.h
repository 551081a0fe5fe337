// How the threads of a rank wait for work: they spin, then sleep.
#ifndef ZERO_RUNTIME_KERNELS_TEAMWAITS_H
#define ZERO_RUNTIME_KERNELS_TEAMWAITS_H

#include <string>

namespace zrt {

/// Has this process's threads spin for some microseconds at most, unless
/// the environment says how they wait. libgomp, which spins for milliseconds by
/// itself, reads the environment before `main` runs: so this replaces the
/// process by a new start of its executable, once, and returns where there is
/// nothing to do or that is not possible.
/// \pre Called first by `main`: no thread runs, and no file is open.
void limitSpins(char **argv);

/// The setting that decides how the threads wait, for people:
/// "GOMP_SPINCOUNT=300".
std::string describeWaits();

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_TEAMWAITS_H
