// Ranks as threads of one process: exact, without a launcher, and the oracle
// for the other backends.
#ifndef ZERO_RUNTIME_COMMUNICATOR_INPROCESS_H
#define ZERO_RUNTIME_COMMUNICATOR_INPROCESS_H

#include "communicator/Communicator.h"

namespace zrt {

/// The communicators of `ranks` ranks, element r for rank r; give each to a
/// thread of its own. `start` hands over addresses and never blocks. As soon
/// as all ranks have started an operation, whoever waits for it does the work,
/// shared in pieces; peers that are busy elsewhere are not needed. Every
/// element is read and written once, without temporary buffers.
///
/// A rank that throws away its communicator while peers wait for it, or while
/// an operation that it started is not waited for, is an error to its peers.
/// \throws std::invalid_argument when `ranks` is not positive.
std::vector<std::unique_ptr<Communicator>>
makeInProcess(int ranks, const CommunicatorOptions &options = {});

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_INPROCESS_H
