//===- GivenGradients.h - arguments that are gradients ----------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_GIVENGRADIENTS_H
#define ZERO_ANALYSIS_GIVENGRADIENTS_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The parameter that argument `index` has the gradient of; null: it is an
/// input.
inline FlatSymbolRefAttr getGradientOf(StepOp step, unsigned index) {
  return step.getArgAttrOfType<FlatSymbolRefAttr>(index, kGradientOf);
}

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_GIVENGRADIENTS_H
