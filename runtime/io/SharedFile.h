// Files that all ranks must find with the same contents.
#ifndef ZERO_RUNTIME_IO_SHAREDFILE_H
#define ZERO_RUNTIME_IO_SHAREDFILE_H

#include "communicator/Communicator.h"

#include <cstdint>
#include <string>

namespace zrt {

/// Throws std::runtime_error on all ranks where the file that one of them was
/// given by `flag` differs from rank 0's in size or content; PeerError on the
/// others where one cannot read it. An empty path is none given.
///
/// Ranks that see one file of one machine know that it is the same, and share
/// the work where other ranks see another: each machine reads its copy once,
/// and nothing is read where there is one copy. Returns the bytes that this
/// rank has read.
uint64_t agreeOnFile(Communicator &communicator, const std::string &flag,
                     const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_SHAREDFILE_H
