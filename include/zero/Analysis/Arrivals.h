//===- Arrivals.h - where stored gradients are complete ---------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_ARRIVALS_H
#define ZERO_ANALYSIS_ARRIVALS_H

#include "zero/Analysis/Handles.h"
#include "zero/Dialect/Zero/PartitionTable.h"

namespace mlir::zero {

/// Part of a stored gradient, in elements of its partition, and what fills it.
struct Arrival {
  PartitionOp partition;
  int64_t begin = 0, end = 0;
  /// From where the reduction is waited for, or where the gradient is stored,
  /// to what fills the part last.
  Operation *first = nullptr, *last = nullptr;
};

/// The gradients that are complete when `block` has waited for reductions, in
/// the order of the waits, without those of a reduction whose sums another one
/// takes.
SmallVector<Arrival> listReduced(Block &block, const Handles &handles,
                                 const PartitionTable &table);

/// The gradients of `listReduced`, those that replicas combine, and those that
/// are stored without a reduction, in the order in which they are complete.
SmallVector<Arrival> listArrivals(Block &block, const Handles &handles,
                                  const PartitionTable &table);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_ARRIVALS_H
