// NCCL's requirements on the parts that ranks of a collective own. The compiler
// knows them as well, and refuses collectives that could not start.
#ifndef ZERO_RUNTIME_PROGRAM_NCCLPARTS_H
#define ZERO_RUNTIME_PROGRAM_NCCLPARTS_H

#include "program/Program.h"

#include <string>

namespace zrt {

/// Bytes of a rank's part that NCCL moves at full speed: where a part has no
/// multiple of them or begins between two, the copies of a gather and a scatter
/// are those of bytes.
inline constexpr uint64_t kNcclPayload = 16;

/// Whether the ranks' parts are slices that NCCL copies as such. Of an
/// all-to-all they are sent and received one by one, at any address.
constexpr bool slicesForNccl(Collective kind) {
  return sendsToEach(kind) != receivesFromEach(kind);
}

/// Why a rank's part of `bytes`, which begins at a multiple of `kNcclPayload`
/// if `aligned`, is refused; "" where it is not.
std::string refusedByNccl(uint64_t bytes, bool aligned);

/// Why a command of `program` would not start with NCCL: the first one, with
/// its region, label and place in the source; "" where all would.
std::string refusedByNccl(const Program &program);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_NCCLPARTS_H
