//===- PlanTimes.h - when the buffers of a plan are used ------------------===//
#ifndef ZERO_PLAN_PLANTIMES_H
#define ZERO_PLAN_PLANTIMES_H

#include "PredictedTrace.h"

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace mlir::zero {

/// A buffer with its times, in seconds of the timeline.
struct TimedBuffer {
  std::string name;
  AtAttr place;
  double begin = 0, end = 0;
};

/// The last micro-batch of an update and its apply region, as the timeline has
/// them.
class PlanTimes {
public:
  /// `firstCommands`: of each operation, the first of its commands.
  PlanTimes(ModuleOp module, const Timeline &timeline,
            const DenseMap<Operation *, size_t> &firstCommands);

  const Timeline &timeline;
  SmallVector<RegionTime> regions;
  double begin = 0, end = 0;

  /// What a reader calls the region, which of its kind is the last.
  std::string nameOf(const RegionTime &region) const;

  /// Whether the arena has too few of all bytes for its buffers to be shown.
  bool isSmall(MemorySpace space) const;
  /// What is in the arena all the time.
  SmallVector<TimedBuffer> listStates(MemorySpace space) const;
  /// What the last micro-batch and the update fill of it.
  SmallVector<TimedBuffer> listBuffers(MemorySpace space) const;

private:
  void addTimes(Block &block, SmallVectorImpl<double> &times) const;

  ModuleOp module;
  StepOp step;
  const DenseMap<Operation *, size_t> &firstCommands;
};

/// A planned module's program on `machine`, with the operations that its
/// commands are from.
struct TimedPlan {
  DenseMap<Operation *, size_t> firstCommands;
  Timeline timeline;
};
FailureOr<TimedPlan> timePlan(ModuleOp planned, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_PLANTIMES_H
