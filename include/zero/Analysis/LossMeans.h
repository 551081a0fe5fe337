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

/// What the loss of a model is a mean over.
struct LossMean {
  /// None where the model's shapes alone decide.
  std::optional<LossCount> count;
  /// The divisions by it.
  SmallVector<Operation *> quotients;
  /// Why no count can stand for the whole loss, and where; empty where one can.
  std::string obstacle;
  Operation *at = nullptr;
  /// Whether that is a divisor that parameters decide, beside which no count
  /// is.
  bool isLearned = false;
};

/// Follows the loss of `step`, a model, through sums of scalars and products
/// with constants to operations that divide by a count.
LossMean findLossMean(StepOp step);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_LOSSMEANS_H
