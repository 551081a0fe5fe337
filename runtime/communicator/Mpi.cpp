#include "communicator/Mpi.h"

#ifdef ZERO_HAVE_MPI
#include "communicator/MpiLibrary.h"
#include "communicator/MpiWire.h"
#include "communicator/ProcessCommunicator.h"
#endif

#include <cstdlib>
#include <dlfcn.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// MPI unloads its plug-ins when it ends: what they have kept then looks lost,
// and has no name by which it could be suppressed.
extern "C" int __lsan_is_turned_off() { return zrt::launchedUnderMpi(); }
#endif
#endif

namespace zrt {

bool launchedUnderMpi() {
  for (const char *name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name))
      return true;
  return false;
}

bool isMpiThere() {
#ifdef ZERO_HAVE_MPI
  static const bool isThere = ::dlopen(ZERO_MPI_LIBRARY, RTLD_LAZY) != nullptr;
  return isThere;
#else
  return false;
#endif
}

std::unique_ptr<Communicator> makeMpi(const CommunicatorOptions &options) {
#ifdef ZERO_HAVE_MPI
  return processes::makeWorld(processes::mpiJob(), options);
#else
  (void)options;
  throw CommunicationError(
      "mpi communicator: this program was built without MPI; install an "
      "MPI and configure with -DZERO_ENABLE_MPI=ON, or run the ranks "
      "in one process");
#endif
}

std::string describeMpi() {
#ifdef ZERO_HAVE_MPI
  try {
    return describe(processes::mpi());
  } catch (const CommunicationError &error) {
    return error.what();
  }
#else
  return "this program was built without MPI";
#endif
}

} // namespace zrt
