//===- LimitExperts.h - experts that have as many places each ---*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_LIMITEXPERTS_H
#define ZERO_DIALECT_NN_LIMITEXPERTS_H

#include "mlir/IR/Operation.h"

namespace mlir::nn {

/// Which choices of an expert find no place where there are too few.
enum class DropOrder {
  Position,    ///< the last ones, second choices before first ones
  Probability, ///< those of the least weight
};

struct ExpertLimits {
  /// An expert has its share of all choices, times `factor`, rounded up, and no
  /// fewer places than `least`.
  double factor = 1;
  int64_t least = 0;
  /// Nothing: by position where a row has at most two choices.
  std::optional<DropOrder> order;
  /// Whether the weights of a row's choices that have a place are divided by
  /// their sum.
  bool renormalizes = false;
};

/// Gives each expert of `block` as many places, and reports how many. Fails,
/// with an error, where something needs the rows of all choices. Returns how
/// many operations send rows to experts.
FailureOr<int64_t> limitExperts(Block &block, const ExpertLimits &limits);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_LIMITEXPERTS_H
