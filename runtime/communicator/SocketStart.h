// How processes that a launcher has numbered find each other.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKETSTART_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKETSTART_H

#include "communicator/Communicator.h"
#include "communicator/Socket.h"

#include <string>
#include <vector>

namespace zrt::processes {

/// The place of a process in its job, and the address at which rank 0 listens.
struct SocketPlace {
  int rank = 0, ranks = 1;
  std::string host;
  uint16_t port = 0;
  std::string advice; ///< behind an error about the port
};

/// Connects each two processes of the job. All others come to rank 0, which
/// tells each where all of them listen. By rank; this one's own is not open.
/// Throws CommunicationError, on every rank that is there, where one does not
/// come within `timeoutSeconds` or is no rank of the job.
std::vector<Socket> connectAll(const SocketPlace &place,
                               const CommunicatorOptions &options);

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_SOCKETSTART_H
