//===- Modes.h - what of a model is for training or evaluation --*- C++ -*-===//
#ifndef ZERO_TRANSFORMS_MODES_H
#define ZERO_TRANSFORMS_MODES_H

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {

/// Replaces each `zero.select_mode` of `block` by its value for evaluation, and
/// erases each `zero.track`, with what only they needed.
void keepEvaluation(Block &block);

/// Replaces each `zero.select_mode` of `block` by its value for training, with
/// what only evaluation needed.
void keepTraining(Block &block);

/// What a step makes of an average.
struct TrackedAverage {
  ParameterOp parameter;
  /// In the order of the step.
  SmallVector<Value> values;

  /// The part of the difference that the average moves by in one micro-batch.
  double getWeight();
  /// What it moves towards: the mean of the values in which each counts as if
  /// the average had moved by one after the other.
  Value buildTarget(OpBuilder &builder);
};

/// The averages that `block` tracks, by first occurrence; erases what says so.
SmallVector<TrackedAverage> takeTracked(Block &block, SymbolTable &symbols);

} // namespace mlir::zero

#endif // ZERO_TRANSFORMS_MODES_H
