// The functions of MPI that are called, from the library of the machine: it is
// looked for when ranks are started by MPI, and not before.
#ifndef ZERO_RUNTIME_COMMUNICATOR_MPILIBRARY_H
#define ZERO_RUNTIME_COMMUNICATOR_MPILIBRARY_H

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace zrt::processes {

/// Each is MPI_ and its name.
#define ZERO_MPI_FUNCTIONS(FUNCTION)                                           \
  FUNCTION(Abort)                                                              \
  FUNCTION(Cancel)                                                             \
  FUNCTION(Comm_dup)                                                           \
  FUNCTION(Comm_group)                                                         \
  FUNCTION(Comm_rank)                                                          \
  FUNCTION(Comm_set_errhandler)                                                \
  FUNCTION(Comm_size)                                                          \
  FUNCTION(Comm_split)                                                         \
  FUNCTION(Error_string)                                                       \
  FUNCTION(Finalize)                                                           \
  FUNCTION(Finalized)                                                          \
  FUNCTION(Get_library_version)                                                \
  FUNCTION(Group_free)                                                         \
  FUNCTION(Group_translate_ranks)                                              \
  FUNCTION(Init_thread)                                                        \
  FUNCTION(Initialized)                                                        \
  FUNCTION(Irecv)                                                              \
  FUNCTION(Isend)                                                              \
  FUNCTION(Query_thread)                                                       \
  FUNCTION(Test)                                                               \
  FUNCTION(Testsome)                                                           \
  FUNCTION(Wait)

struct MpiLibrary {
  // NOLINTBEGIN(readability-identifier-naming): MPI's own names.
#define ZERO_MPI_FUNCTION(name) decltype(&::MPI_##name) name = nullptr;
  ZERO_MPI_FUNCTIONS(ZERO_MPI_FUNCTION)
#undef ZERO_MPI_FUNCTION
  // NOLINTEND(readability-identifier-naming)
  // MPI's own names for them may be addresses in the library.
  MPI_Comm world, noComm;
  MPI_Datatype byte;
  MPI_Request noRequest;
  MPI_Errhandler errorsReturn;
};

/// Loads `file`, which is found as the libraries of any program are. Throws
/// CommunicationError with the reason and what to do.
MpiLibrary loadMpi(const std::string &file);

/// The one that this runtime was built for, loaded by the first call.
const MpiLibrary &mpi();

/// "Open MPI v4.1.4, /usr/lib/libmpi.so.40". Throws as `loadMpi`.
std::string describe(const MpiLibrary &library);

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_MPILIBRARY_H
