//===- StateBytes.h - what a parameter takes from step to step --*- C++ -*-===//
#ifndef ZERO_ANALYSIS_STATEBYTES_H
#define ZERO_ANALYSIS_STATEBYTES_H

#include "zero/Analysis/Mesh.h"

namespace mlir::zero {

/// Bytes of the device that a rank keeps of a parameter from step to step.
struct StateBytes {
  /// Bytes of the parameter and, if it is trained, of its gradient and the
  /// optimizer's states.
  int64_t all = 0;
  /// Bytes of an interval, if states are cut into intervals: parameters of one
  /// optimizer that need more fill several, the last one with padding. 0:
  /// states are not cut so.
  int64_t interval = 0;
  /// The gradient of it that comes from another stage, where one has it too.
  int64_t received = 0;
};

/// Counts the bytes of `parameter`, which is computed with in `type` and
/// trained with `optimizer`, on a rank of `mesh`, each state cut as the stage
/// of `training` says.
StateBytes countStateBytes(ParameterOp parameter, Type type,
                           Attribute optimizer, TrainingAttr training,
                           const MeshAxes &mesh);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_STATEBYTES_H
