//===- Explain.h - a parameter's whole life -------------------------------===//
#ifndef ZERO_PLAN_EXPLAIN_H
#define ZERO_PLAN_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::zero {

/// Prints what a planned schedule does with the parameter `name` ('@' may
/// lead): partition, places, owners, and every operation on it in order.
LogicalResult explainParameter(ModuleOp module, StringRef name);

} // namespace mlir::zero

#endif // ZERO_PLAN_EXPLAIN_H
