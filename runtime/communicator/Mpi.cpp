#include "communicator/Mpi.h"

#ifdef ZERO_HAVE_MPI
#include "communicator/MpiCommunicator.h"
#endif

#include <cstdlib>

namespace zrt {

bool launchedUnderMpi() {
  // Set for started processes only: a shell inside a Slurm allocation has
  // SLURM_PROCID too, but no step.
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name))
      return true;
  return std::getenv("SLURM_PROCID") && std::getenv("SLURM_STEP_NUM_TASKS");
}

std::unique_ptr<Communicator> makeMpi(const CommunicatorOptions &options) {
#ifdef ZERO_HAVE_MPI
  return mpi::makeWorld(options);
#else
  (void)options;
  throw CommunicationError(
      "mpi communicator: this program was built without MPI; install an "
      "MPI and configure with -DZERO_ENABLE_MPI=ON, or run the ranks "
      "in one process");
#endif
}

} // namespace zrt
