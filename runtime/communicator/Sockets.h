// Ranks as processes that torchrun, Kubeflow or a script has started, without
// MPI.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKETS_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKETS_H

#include "communicator/Communicator.h"

namespace zrt {

/// Whether the environment says who this process is among several and where
/// rank 0 listens: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as PyTorch's
/// launchers set them.
bool launchedWithAddress();

/// A communicator of all processes of the job, over TCP; every process must
/// call it, and the first call connects each two of them. Rank 0 listens on
/// MASTER_PORT, and on the port behind it where torchrun's agent has that one.
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
