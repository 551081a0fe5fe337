//===- Additions.h - which additions a kernel beside them can do -*- C++
//-*-===//
#ifndef ZERO_ANALYSIS_ADDITIONS_H
#define ZERO_ANALYSIS_ADDITIONS_H

#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::zero {

/// An addition that the kernel of `by` can do with its own work, at the place
/// of `by` and with the bits of the two apart.
struct FusableAddition {
  arith::AddFOp addition;
  AddendOpInterface by;

  /// Whether `by` reads the sum; else its result is an addend.
  bool isBefore() const;
  /// What `by` takes: both operands of the addition, or the other one.
  SmallVector<Value> getAddends();
};

/// Those of `block`, in the order of `by`, each addition once: additions that
/// are an elementwise group of their own, of tensors that exist at the place of
/// `by`, and whose sum nothing reads before it.
SmallVector<FusableAddition> findFusableAdditions(Block &block);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_ADDITIONS_H
