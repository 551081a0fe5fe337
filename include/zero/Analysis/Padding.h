//===- Padding.h - what is padded together with a parameter -----*- C++ -*-===//
#ifndef ZERO_ANALYSIS_PADDING_H
#define ZERO_ANALYSIS_PADDING_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <string>

namespace mlir::zero {

/// The values of a model, before differentiation, and the parameters that get
/// more rows if one parameter does.
struct PaddingClosure {
  llvm::SetVector<ParameterOp> parameters;
  /// Values with their padded dimension: loads and what is computed of them.
  llvm::MapVector<Value, int64_t> dims;
  /// Reads of them by operations that are told the size, or need not be.
  SmallVector<OpOperand *> uses;
  /// Reads as outputs of the model, which keep their size.
  SmallVector<OpOperand *> outputs;
  /// Whether something may become faster, and whether padding reaches, or would
  /// reach, something that is told the size.
  bool hasGain = false, isCounted = false;
  /// Why there can be no padding, and where; empty if there can.
  std::string obstacle;
  Operation *at = nullptr;
};

/// Finds the values and parameters of the model `step` that padding of the rows
/// of `parameter` reaches.
PaddingClosure findPadding(StepOp step, ParameterOp parameter);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PADDING_H
