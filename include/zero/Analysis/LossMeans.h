//===- LossMeans.h - what a loss is a mean over -----------------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_LOSSMEANS_H
#define ZERO_ANALYSIS_LOSSMEANS_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include <optional>
#include <string>

namespace mlir::zero {

/// A number that the data decide, by which a loss divides.
struct LossCount {
  /// The elements that count; null where `sum` is another one.
  CountedElements elements;
  /// The sum over data that the model divides by, without a bound; null of an
  /// operation that counts by itself.
  Value sum;
};

/// The elements that the loss of a model is a mean over.
struct LossMean {
  /// The count that the loss divides by; nothing if the model's shapes decide
  /// it.
  std::optional<LossCount> count;
  /// The divisions by `count`.
  SmallVector<Operation *> quotients;
  /// Why no count can stand for the whole loss, and where; empty where one can.
  std::string obstacle;
  Operation *at = nullptr;
  /// Whether the obstacle is a divisor that depends on trained parameters, too,
  /// beside which the loss has no count.
  bool isLearned = false;
};

/// Follows the loss of `step`, a model, through sums of scalars and products
/// with constants to operations that divide by a count.
LossMean findLossMean(StepOp step);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_LOSSMEANS_H
