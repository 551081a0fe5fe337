// A communicator of the processes of a job.
#ifndef ZERO_RUNTIME_COMMUNICATOR_PROCESSCOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_PROCESSCOMMUNICATOR_H

#include "communicator/Job.h"

namespace zrt::processes {

/// See `zrt::makeMpi`. `job` is borrowed. Collective.
std::unique_ptr<Communicator> makeWorld(Job &job,
                                        const CommunicatorOptions &options);

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_PROCESSCOMMUNICATOR_H
