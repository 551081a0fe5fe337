//===- Averages.h - how far an update moves an average ----------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_AVERAGES_H
#define ZERO_ANALYSIS_AVERAGES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The optimizer of `parameter`, an average. Its one step per update moves the
/// average as far as one step per micro-batch would.
MovingAverageAttr getAverageUpdate(ParameterOp parameter,
                                   TrainingAttr training);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_AVERAGES_H
