//===- Allocation.h - offsets for buffers with lifetimes ------------------===//
//
// Where buffers of known lifetimes lie in one arena. Independent of any IR.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_MEMORY_ALLOCATION_H
#define ZERO_MEMORY_ALLOCATION_H

#include "llvm/ADT/ArrayRef.h"

#include <chrono>
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
/// overlap, and returns the bytes needed. Offsets and the result are multiples
/// of `alignment`. Several orders of placement compete; where the best stays
/// above `liveBytes`, a search goes on below it. Equal buffers get equal
/// offsets on every machine: what the search may cost is counted in steps, not
/// in time. 10,000 buffers take less than a second.
int64_t allocate(llvm::MutableArrayRef<Lifetime> buffers, int64_t alignment);

/// The largest sum of sizes, each rounded up to `alignment`, alive at one
/// position: no allocation needs less.
int64_t liveBytes(llvm::ArrayRef<Lifetime> buffers, int64_t alignment = 1);

/// The outcome of an allocation below a capacity.
enum class Fit {
  /// The offsets end at the capacity or below.
  Fits,
  /// No offsets end there.
  Impossible,
  /// No such offsets were found in the time given.
  NotFound
};

/// As `allocate`, with at most `capacity` bytes if that can be done within
/// `seconds` of this thread's time on a core. Sets `height` to the bytes that
/// the offsets need, which are the best found where the capacity is exceeded.
Fit allocateWithin(llvm::MutableArrayRef<Lifetime> buffers, int64_t alignment,
                   int64_t capacity, std::chrono::duration<double> seconds,
                   int64_t &height);

} // namespace mlir::zero

#endif // ZERO_MEMORY_ALLOCATION_H
