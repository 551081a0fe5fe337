// Ranks as processes, started by mpirun, srun or another launcher of MPI.
#ifndef ZERO_RUNTIME_COMMUNICATOR_MPI_H
#define ZERO_RUNTIME_COMMUNICATOR_MPI_H

#include "communicator/Communicator.h"

namespace zrt {

/// Whether a launcher of MPI started this process: looks at the environment
/// that Open MPI, MPICH and its kin (PMI, PMIx) set, and calls nothing of MPI.
bool launchedUnderMpi();

/// Whether MPI can be loaded.
bool isMpiThere();

/// A communicator of all processes of the job; every process must call it. The
/// first call initialises MPI, and process exit finalises it.
///
/// Bits are those of the in-process communicator: slices go to their owners,
/// who add in rank order; MPI's own reductions are not used. A reduction needs
/// a fixed buffer of at most 16 MiB or 128 KiB a peer, allocated once. Started
/// operations advance whenever this process starts or waits for one.
///
/// Ranks compare what they started before any data moves, so a disagreement is
/// an error on every rank. `abort` does not return: it prints the reason, gives
/// the peers up to two seconds to throw it and to end, and ends the job. After
/// any failure, the process's exit waits up to five seconds for the peers, and
/// then ends the job.
/// \throws CommunicationError when MPI can not be loaded or initialised, or
/// when this library was built without MPI.
std::unique_ptr<Communicator> makeMpi(const CommunicatorOptions &options = {});

/// The MPI of this machine, its version and place, or why there is none; for
/// people.
std::string describeMpi();

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_MPI_H
