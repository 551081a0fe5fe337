//===- Carry.h - let another region wait ------------------------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_CARRY_H
#define ZERO_LIB_TRANSFORMS_CARRY_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The wait for `start` that stands in its own region; null where `start` is
/// carried to another one. An error at `start` where nothing ends it.
FailureOr<WaitOp> findOwnWait(Operation *start);

/// Joins `start` with `wait`, which has been moved into another region: carries
/// the one right after it, takes it right before the other. The handle is named
/// after what the start works on.
void carryToWait(AsyncOpInterface start, WaitOp wait);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_CARRY_H
