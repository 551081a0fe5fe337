//===- KernelSpec.h - an operation in the terms of the kernels' table -----===//
#ifndef ZERO_INTERFACES_KERNELSPEC_H
#define ZERO_INTERFACES_KERNELSPEC_H

#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinTypes.h"

#include "program/Program.h"

#include <optional>

namespace mlir::zero {

/// The runtime's number for an element type, or nothing where it has none.
std::optional<zrt::DataType> toDataType(Type elementType);

/// A ranked static tensor of a kernel type.
zrt::TensorType toTensorType(RankedTensorType type);

/// The kernel `kernel` on the tensors of `op`, with all flags of its row. Other
/// values, scalars, are part of the description. No work is counted.
zrt::KernelSpec toKernelSpec(Operation *op, const KernelDescription &kernel);

/// Checks that the operation is as the row of its kernel says; it may be of
/// f64. Errors are at `op`.
LogicalResult verifySignature(KernelOpInterface op);

/// Whether the operand, or past those the result, stays f32 where the operation
/// computes on 16-bit tensors, as the row of its kernel says.
bool isStatistic(Operation *op, unsigned index);

} // namespace mlir::zero

#endif // ZERO_INTERFACES_KERNELSPEC_H
