// A process for each rank, without a launcher.
#ifndef ZERO_RUNTIME_TRAINER_STARTPROCESSES_H
#define ZERO_RUNTIME_TRAINER_STARTPROCESSES_H

#include <cstdint>
#include <ostream>
#include <string>

namespace zrt {

/// Runs this process's own command line once for each rank, as processes that
/// find each other over sockets of this machine, passes signals on to them, and
/// returns the exit code of the first that fails: 0 where none does. A process
/// that a signal ends is named in `errors`. Where one fails, and not for its
/// flags, all are started again, up to `restarts` times, with --resume and
/// without faults that were injected.
/// Throws std::runtime_error where a process cannot be started.
int runAsProcesses(int ranks, int64_t restarts, std::ostream &errors);

/// Whether `runAsProcesses` has started this process.
bool hasStarter();

/// Called by each process: it ends with the one that `runAsProcesses` is in.
void endWithStarter();

/// In a process with a starter: what is known of another one that has failed;
/// "" where none has.
std::string findLossOfStarter();

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_STARTPROCESSES_H
