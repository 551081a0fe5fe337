#include "communicator/MpiLibrary.h"

#include "communicator/Communicator.h"

#include <dlfcn.h>

using namespace zrt;
using namespace zrt::processes;

[[noreturn]] static void refuse(const std::string &reason) {
  throw CommunicationError(
      "mpi communicator: MPI cannot be loaded: " + reason +
      "; install it (Debian: libopenmpi3), or start the ranks with "
      "MASTER_ADDR, "
      "MASTER_PORT, RANK and WORLD_SIZE, as torchrun does");
}

static void *find(void *library, const char *name) {
  if (void *symbol = ::dlsym(library, name))
    return symbol;
  const char *reason = ::dlerror();
  refuse(reason ? reason : name);
}

MpiLibrary processes::loadMpi(const std::string &file) {
  // For all to see: its plug-ins ask for its symbols.
  void *const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    refuse(::dlerror());
  MpiLibrary library;
#define ZERO_MPI_FUNCTION(name)                                                \
  library.name =                                                               \
      reinterpret_cast<decltype(library.name)>(find(handle, "MPI_" #name));
  ZERO_MPI_FUNCTIONS(ZERO_MPI_FUNCTION)
#undef ZERO_MPI_FUNCTION
#ifdef OPEN_MPI
  library.world = static_cast<MPI_Comm>(find(handle, "ompi_mpi_comm_world"));
  library.noComm = static_cast<MPI_Comm>(find(handle, "ompi_mpi_comm_null"));
  library.byte = static_cast<MPI_Datatype>(find(handle, "ompi_mpi_byte"));
  library.noRequest =
      static_cast<MPI_Request>(find(handle, "ompi_request_null"));
  library.errorsReturn =
      static_cast<MPI_Errhandler>(find(handle, "ompi_mpi_errors_return"));
#else
  library.world = MPI_COMM_WORLD;
  library.noComm = MPI_COMM_NULL;
  library.byte = MPI_BYTE;
  library.noRequest = MPI_REQUEST_NULL;
  library.errorsReturn = MPI_ERRORS_RETURN;
#endif
  return library;
}

const MpiLibrary &processes::mpi() {
  static const MpiLibrary library = loadMpi(ZERO_MPI_LIBRARY);
  return library;
}

std::string processes::describe(const MpiLibrary &library) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  library.Get_library_version(version, &length);
  const std::string text(version, size_t(length));
  Dl_info place = {};
  const bool isFound =
      ::dladdr(reinterpret_cast<void *>(library.Init_thread), &place) != 0;
  return text.substr(0, text.find_first_of(",\n")) + ", " +
         (isFound ? place.dli_fname : "of unknown place");
}
