// A process for each rank, without a launcher.
#ifndef ZERO_RUNTIME_TRAINER_STARTPROCESSES_H
#define ZERO_RUNTIME_TRAINER_STARTPROCESSES_H

#include <ostream>

namespace zrt {

/// Runs this process's own command line once for each rank, as processes that
/// find each other over sockets of this machine, passes signals on to them, and
/// returns the exit code of the first that fails: 0 where none does. A process
/// that a signal ends is named in `errors`.
/// Throws std::runtime_error where a process cannot be started.
int runAsProcesses(int ranks, std::ostream &errors);

/// Called by each process: it ends with the one that `runAsProcesses` is in.
void endWithStarter();

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_STARTPROCESSES_H
