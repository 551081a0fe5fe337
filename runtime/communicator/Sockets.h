// Ranks as processes that torchrun, Kubeflow, srun or a script has started,
// without MPI.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKETS_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKETS_H

#include "communicator/Communicator.h"

namespace zrt {

/// Whether the environment says who this process is among several and where
/// rank 0 listens: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as PyTorch's
/// launchers set them.
bool launchedWithAddress();

/// Whether `srun` started this process as one of several, and they find each
/// other without MPI: where Slurm brings them no interface for MPI, or MPI is
/// not installed. Rank 0 is on the first machine then, and MASTER_ADDR and
/// MASTER_PORT say where else it listens.
bool launchedBySlurmAlone();

/// A communicator of all processes of the job, over TCP; every process must
/// call it, and the first call connects each two of them. Rank 0 listens on
/// MASTER_PORT, and on the port behind it where torchrun's agent has that one;
/// under `srun`, on a port that follows from the numbers of job and step.
///
/// Bits and errors are those of `makeMpi`. A process that ends without a word
/// is noticed as soon as another one communicates. `abort` ends this process;
/// the others throw its reason.
/// \throws CommunicationError where a variable is no number, or a process does
/// not come.
std::unique_ptr<Communicator>
makeSockets(const CommunicatorOptions &options = {});

/// A port of this machine that nobody listens on at the moment.
uint16_t findFreePort();

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_SOCKETS_H
