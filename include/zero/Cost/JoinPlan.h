//===- JoinPlan.h - which gathers travel together ---------------*- C++ -*-===//
//
// A collective costs a launch and a latency whatever it moves. Gathers that
// travel together pay for one, and the first of them waits for all.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_COST_JOINPLAN_H
#define ZERO_COST_JOINPLAN_H

#include "zero/Cost/PrefetchPlan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::zero {

/// Facts about gathers beside their uses.
struct JoinFacts {
  /// Whether one gather can start with an earlier one, as one collective.
  function_ref<bool(size_t first, size_t next)> canJoin;
  /// Seconds of the gathers from `first` to `last`, as one collective.
  function_ref<double(size_t first, size_t last)> seconds;
};

/// For each gather, in the order of their waits, the first of those that it
/// travels with; itself where it is the first.
///
/// A gather travels with those before it while that saves 2 % of the time of
/// all of them, as long as `limits` allow for it what they allow for a
/// prefetch: it is gathered ahead of its use where the first one is needed.
/// Where the block, with starts in time, takes longer than with none joined, by
/// more than `kTolerance`, or holds a quarter more elements at once, fewer come
/// early with each first one: half of what the block held, or half of that, and
/// so on.
SmallVector<size_t> joinGathers(ArrayRef<GatherUse> gathers,
                                const JoinFacts &facts,
                                const PrefetchLimits &limits,
                                const BlockSeconds &seconds);

} // namespace mlir::zero

#endif // ZERO_COST_JOINPLAN_H
