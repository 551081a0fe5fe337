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

} // namespace mlir::zero

#endif // ZERO_INTERFACES_KERNELSPEC_H
