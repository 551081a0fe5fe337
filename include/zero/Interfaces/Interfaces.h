//===- Interfaces.h - what zero asks of operations ------------------------===//
//
// The interfaces that keep ZeRO and compute apart: passes see parameters,
// uses, gradients and order; what an operation computes is asked through these.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_INTERFACES_INTERFACES_H
#define ZERO_INTERFACES_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include <string>
#include <utility>

namespace mlir::zero {

/// What the runtime and the cost model need to know of a kernel.
struct KernelDescription {
  std::string name;
  SmallVector<std::pair<std::string, SmallVector<int64_t>>> ints;
  SmallVector<std::pair<std::string, double>> floats;
  /// Generated function, for kernels named "launch".
  std::string symbol;
  int64_t flops = 0;
  /// Bytes read and written.
  int64_t bytes = 0;
};

/// Bytes of all tensor operands and results of `op`.
int64_t tensorBytes(Operation *op);

/// Bytes of a ranked static tensor, dense and row-major; `i1` takes a byte.
int64_t tensorBytes(Type type);

} // namespace mlir::zero

#include "zero/Interfaces/DifferentiableOpInterface.h.inc"
#include "zero/Interfaces/ElementwiseOpInterface.h.inc"
#include "zero/Interfaces/KernelOpInterface.h.inc"
#include "zero/Interfaces/RowBlockOpInterface.h.inc"
#include "zero/Interfaces/StatisticsOpInterface.h.inc"

#endif // ZERO_INTERFACES_INTERFACES_H
