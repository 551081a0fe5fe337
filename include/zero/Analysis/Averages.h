//===- Averages.h - how far an update moves an average ----------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_AVERAGES_H
#define ZERO_ANALYSIS_AVERAGES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// What updates `parameter`, an average: once an update, by as much as each of
/// its micro-batches would in turn.
MovingAverageAttr getAverageUpdate(ParameterOp parameter,
                                   TrainingAttr training);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_AVERAGES_H
