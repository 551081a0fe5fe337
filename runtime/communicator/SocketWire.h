// The processes of a job that are connected by sockets; for Sockets.cpp alone.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SOCKETWIRE_H
#define ZERO_RUNTIME_COMMUNICATOR_SOCKETWIRE_H

#include "communicator/Job.h"
#include "communicator/SocketStart.h"

namespace zrt::processes {

/// Connects the processes at the first call. `place` and `options` are of that.
Job &socketJob(const SocketPlace &place, const CommunicatorOptions &options);

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_SOCKETWIRE_H
