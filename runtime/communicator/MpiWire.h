// The processes of a job of MPI; for Mpi.cpp alone.
#ifndef ZERO_RUNTIME_COMMUNICATOR_MPIWIRE_H
#define ZERO_RUNTIME_COMMUNICATOR_MPIWIRE_H

#include "communicator/Job.h"

namespace zrt::processes {

/// Initialises MPI at the first call, and finalises it at the process's exit.
Job &mpiJob();

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_MPIWIRE_H
