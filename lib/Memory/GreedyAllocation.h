//===- GreedyAllocation.h - offsets by best fit ---------------------------===//
#ifndef ZERO_LIB_MEMORY_GREEDYALLOCATION_H
#define ZERO_LIB_MEMORY_GREEDYALLOCATION_H

#include "zero/Memory/Allocation.h"

#include <vector>

namespace mlir::zero {

/// The best of several greedy placements of buffers of `sizes` bytes: offsets
/// by buffer, and the height that they need. Stops early at `target`.
struct GreedyResult {
  std::vector<int64_t> offsets;
  int64_t height = 0;
};
GreedyResult allocateGreedily(llvm::ArrayRef<Lifetime> buffers,
                              llvm::ArrayRef<int64_t> sizes, int64_t target);

} // namespace mlir::zero

#endif // ZERO_LIB_MEMORY_GREEDYALLOCATION_H
