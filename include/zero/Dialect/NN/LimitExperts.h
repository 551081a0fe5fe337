//===- LimitExperts.h - experts that have as many places each ---*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_LIMITEXPERTS_H
#define ZERO_DIALECT_NN_LIMITEXPERTS_H

#include "program/Enums.h"

#include "mlir/IR/Operation.h"

namespace mlir::nn {

struct ExpertLimits {
  /// An expert has its share of all choices, times `factor`, rounded up, and no
  /// fewer places than `least`.
  double factor = 1;
  int64_t least = 0;
  /// The order in which choices are dropped; nothing: by position, if a row has
  /// at most two choices.
  std::optional<zrt::DropOrder> order;
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
