//===- PrefetchPlan.h - how early gathers start -----------------*- C++ -*-===//
//
// What is gathered ahead takes memory, so a gather starts as late as still
// keeps an update as short as the limits allow.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_COST_PREFETCHPLAN_H
#define ZERO_COST_PREFETCHPLAN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mlir::zero {

/// A gather, by positions of operations in a block.
struct GatherUse {
  /// The positions of its wait and of its last use.
  int64_t neededAt = 0, lastUse = 0;
  int64_t elements = 0;
  /// Seconds from start to end if no other collective uses the links.
  double seconds = 0;
  /// The operation that makes what it sends; -1: that is there before the
  /// block.
  int64_t readyAt = -1;
};

struct PrefetchLimits {
  /// Most gathers started and not waited for; 0: any number.
  int64_t inFlight = 0;
  /// Gathers start ahead of their use while fewer elements than this do: the
  /// last one may go beyond it. 0: none.
  int64_t ahead = 0;
  /// Most elements of gathered parameters at once.
  int64_t live = 0;
};

/// A collective of a block that is no gather of parameters.
struct OtherCollective {
  int64_t startsAt = 0;
  /// Nothing where another block waits for it.
  std::optional<int64_t> neededAt;
  double seconds = 0;
};

/// The kernels and other collectives of a block, in seconds.
struct BlockSeconds {
  /// Seconds of the kernels before each position, and before the end.
  SmallVector<double> kernels;
  /// In the order of their starts.
  SmallVector<OtherCollective> others;
};

/// How much longer a block may take for what it gains: fewer gathers in flight,
/// and fewer collectives.
constexpr double kTolerance = 0.005;

/// By gather: elements of earlier ones that are still used when it is needed.
SmallVector<int64_t> elementsHeld(ArrayRef<GatherUse> gathers);

/// For each gather, in the order of their waits, the one before whose wait it
/// starts: itself where nothing is gained. Starts keep the order of the waits.
/// A gather that is needed now is never held back by a limit.
SmallVector<size_t> startEarly(ArrayRef<GatherUse> gathers,
                               const PrefetchLimits &limits);

/// As `startEarly`, but with as few gathers in flight as let the block end
/// within `kTolerance` of its time with that; and then as late as leaves no
/// wait longer, with half its time to spare for each gather. Gathers take the
/// links one after the other, and share them with the other collectives.
SmallVector<size_t> startInTime(ArrayRef<GatherUse> gathers,
                                PrefetchLimits limits,
                                const BlockSeconds &seconds);

/// The totals of a block with these starts: its time, and the most elements of
/// gathered parameters at once.
struct BlockTotals {
  double seconds = 0;
  int64_t elements = 0;
};
BlockTotals runInTime(ArrayRef<GatherUse> gathers, const PrefetchLimits &limits,
                      const BlockSeconds &seconds);

} // namespace mlir::zero

#endif // ZERO_COST_PREFETCHPLAN_H
