//===- InputDependence.h - what follows from inputs alone -------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_INPUTDEPENDENCE_H
#define ZERO_ANALYSIS_INPUTDEPENDENCE_H

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::zero {

/// Finds values that follow from inputs and constants alone: all passes of a
/// micro-batch have the inputs, and compute masks and tables again rather than
/// stash them. Remembers what it has found.
class InputDependence {
public:
  bool isOfInputs(Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return true;
    auto [known, isNew] = ofInputs.try_emplace(maker, false);
    if (!isNew)
      return known->second;
    const bool found =
        maker->getNumRegions() == 0 && isMemoryEffectFree(maker) &&
        llvm::all_of(maker->getOperands(),
                     [&](Value operand) { return isOfInputs(operand); });
    return ofInputs[maker] = found;
  }

private:
  /// By what makes a value.
  DenseMap<Operation *, bool> ofInputs;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_INPUTDEPENDENCE_H
