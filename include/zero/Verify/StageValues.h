//===- StageValues.h - what ranks have of values between stages -*- C++ -*-===//
#ifndef ZERO_VERIFY_STAGEVALUES_H
#define ZERO_VERIFY_STAGEVALUES_H

#include "zero/Dialect/Zero/Zero.h"

#include <memory>
#include <optional>

namespace mlir::zero {

/// The parts of a model's values that ranks of the axes that cut it have, as
/// far as a stage of a pipeline can hand them to the next one.
class StageValues {
public:
  StageValues();
  ~StageValues();

  /// Follows the values of a model; an error where ranks compute no parts of
  /// one model.
  LogicalResult run(ModuleOp module, StepOp model);

  /// The cuts of a value, one for each axis that cuts it; nothing if a stage
  /// cannot hand the value on, as the term of a sum.
  std::optional<SmallVector<CutAttr, 2>> cutsOf(Value value) const;

private:
  struct Axis;
  std::vector<Axis> axes;
};

} // namespace mlir::zero

#endif // ZERO_VERIFY_STAGEVALUES_H
