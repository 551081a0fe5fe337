// The MPI backend's entry, for Mpi.cpp alone.
#ifndef ZERO_RUNTIME_COMMUNICATOR_MPICOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_MPICOMMUNICATOR_H

#include "communicator/Communicator.h"

namespace zrt::mpi {

/// See `zrt::makeMpi`.
std::unique_ptr<Communicator> makeWorld(const CommunicatorOptions &options);

} // namespace zrt::mpi

#endif // ZERO_RUNTIME_COMMUNICATOR_MPICOMMUNICATOR_H
