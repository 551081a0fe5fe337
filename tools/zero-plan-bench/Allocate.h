//===- Allocate.h - offsets for buffers of a CSV file ---------------------===//
#ifndef ZERO_PLANBENCH_ALLOCATE_H
#define ZERO_PLANBENCH_ALLOCATE_H

#include "mlir/Support/LLVM.h"

#include <cstdint>

namespace mlir::zero {

/// Reads buffers from `file`, a CSV with a header and the columns `id`,
/// `lower`, `upper` (exclusive) and `size`, and prints rows `id,offset` with
/// which they fit into `capacity`. Returns the exit status: 1 where they do
/// not fit, after the best height found, or where the file is malformed, after
/// its line; nothing is searched for longer than `seconds`.
int runAllocate(StringRef file, int64_t capacity, double seconds);

} // namespace mlir::zero

#endif // ZERO_PLANBENCH_ALLOCATE_H
