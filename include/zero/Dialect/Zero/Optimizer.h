//===- Optimizer.h - states and settings of optimizers ----------*- C++ -*-===//
#ifndef ZERO_DIALECT_ZERO_OPTIMIZER_H
#define ZERO_DIALECT_ZERO_OPTIMIZER_H

#include "program/Enums.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::zero {

using zrt::StateStart;

/// A state that an optimizer keeps for each element of a trained parameter: its
/// name, its element type and its first value.
struct OptimizerState {
  StringRef name;
  Type type;
  StateStart start = StateStart::Constant;
  double value = 0; ///< of a constant
};

/// A setting of an update's kernel: a number, or a flag (0 or 1), under the
/// name by which the kernel reads it.
struct OptimizerSetting {
  StringRef name;
  double value = 0;
  bool isFlag = false;
};

/// A buffer of an update's kernel, in the kernel's order.
struct UpdateOperand {
  enum Kind { Gradients, Parameters, State };
  Kind kind;
  StringRef name; ///< of the state; `gradients` or `parameters`
  Type type;
  bool isSharded = false;
  bool isRead = true, isWritten = true;
};

class OptimizerAttrInterface;

/// The optimizer called `name`, in lower case ("adamw"), or null where there is
/// none; `setting` gives the value of each of its parameters by name.
Attribute makeOptimizer(MLIRContext *context, StringRef name,
                        function_ref<double(StringRef)> setting);

} // namespace mlir::zero

#endif // ZERO_DIALECT_ZERO_OPTIMIZER_H
