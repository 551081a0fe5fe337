//===- StageValues.h - what ranks have of values between stages -*- C++ -*-===//
#ifndef ZERO_VERIFY_STAGEVALUES_H
#define ZERO_VERIFY_STAGEVALUES_H

#include "zero/Dialect/Zero/Zero.h"

#include <memory>
#include <optional>

namespace mlir::zero {

/// What the ranks of the axes that cut a model have of its values, as far as a
/// stage of a pipeline can hand it to the next one.
class StageValues {
public:
  StageValues();
  ~StageValues();

  /// Follows the values of a model; an error where ranks compute no parts of
  /// one model.
  LogicalResult run(ModuleOp module, StepOp model);

  /// How the value is cut; nothing where ranks have something else than parts
  /// of one dimension, or all of it: a term of a sum.
  std::optional<SmallVector<CutAttr, 2>> cutsOf(Value value) const;

private:
  struct Axis;
  std::vector<Axis> axes;
};

} // namespace mlir::zero

#endif // ZERO_VERIFY_STAGEVALUES_H
