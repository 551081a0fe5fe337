// Ranks as processes, however they were started.
#ifndef ZERO_RUNTIME_COMMUNICATOR_PROCESSES_H
#define ZERO_RUNTIME_COMMUNICATOR_PROCESSES_H

#include "communicator/Communicator.h"

namespace zrt {

/// Whether this process is a rank, and there is a way to the others: by sockets
/// where the environment has an address, or is Slurm's alone, else by MPI where
/// a launcher of MPI started it. Calls nothing of MPI.
bool areRanksProcesses();

/// See `makeSockets` and `makeMpi`. \pre areRanksProcesses().
std::unique_ptr<Communicator>
makeProcesses(const CommunicatorOptions &options = {});

/// The number of this rank among those of its machine, as the launcher says;
/// `otherwise` where it does not.
int localRank(int otherwise);

/// Ranks of this job on this machine; 0 where the launcher does not say.
int countLocalRanks();

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_PROCESSES_H
