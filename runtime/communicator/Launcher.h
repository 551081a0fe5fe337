// Programs that start several processes of a command.
#ifndef ZERO_RUNTIME_COMMUNICATOR_LAUNCHER_H
#define ZERO_RUNTIME_COMMUNICATOR_LAUNCHER_H

#include <string>

namespace zrt {

/// The launcher of this process, as the environment describes it.
struct Launch {
  std::string launcher;  ///< "torchrun"; empty: none that is known
  std::string variables; ///< that say so, for messages: "RANK and WORLD_SIZE"
  long process = 0, processes = 1;
};

/// The text of an environment variable; "" where there is none.
std::string textIn(const char *variable);
/// The number in an environment variable, or `otherwise` where it has none.
long numberIn(const char *variable, long otherwise);

/// The first launcher, of MPI or another one, that started this process as one
/// of several; of one process where there is none.
Launch findLaunch();

/// "process 1 of 2 by torchrun (RANK and WORLD_SIZE)".
std::string describe(const Launch &launch);

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_LAUNCHER_H
