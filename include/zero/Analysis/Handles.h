//===- Handles.h - starts, waits, and what passes between regions ---------===//
#ifndef ZERO_ANALYSIS_HANDLES_H
#define ZERO_ANALYSIS_HANDLES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// Which wait belongs to which start, through `zero.carry` and `zero.carried`.
/// Holds for the step as it was when this was built.
class Handles {
public:
  explicit Handles(StepOp step);

  /// The operation that started `pending`; null if nothing carries it.
  Operation *findStart(Value pending) const;
  /// The start whose wait made `value`; null for other values.
  Operation *findStartOf(Value value) const;
  /// The wait for what `start` started, here or in another region; null where
  /// there is none.
  WaitOp findWait(Operation *start) const;

private:
  DenseMap<StringAttr, CarryOp> carries;
  DenseMap<StringAttr, CarriedOp> takes;
};

/// Regions whose buffers live on one line of time, since handles pass from one
/// to the next: the last micro-batch and the update. Every other region is a
/// line by itself.
SmallVector<SmallVector<Block *>> getTimelines(StepOp step);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_HANDLES_H
