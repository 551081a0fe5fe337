//===- Allocation.h - offsets for buffers with lifetimes ------------------===//
#ifndef ZERO_ANALYSIS_ALLOCATION_H
#define ZERO_ANALYSIS_ALLOCATION_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace mlir::zero {

/// A buffer that is alive from position `begin` through `end`.
struct Lifetime {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t bytes = 0;
  /// Set by `allocate`.
  int64_t offset = 0;
};

/// Gives every buffer an offset so that buffers alive at one position do not
/// overlap, and returns the bytes needed. Larger buffers are placed first, each
/// into the smallest gap that fits; offsets are multiples of `alignment`.
int64_t allocate(llvm::MutableArrayRef<Lifetime> buffers, int64_t alignment);

/// The largest sum of sizes alive at one position: no allocation needs less.
int64_t liveBytes(llvm::ArrayRef<Lifetime> buffers);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_ALLOCATION_H
