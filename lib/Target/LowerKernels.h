//===- LowerKernels.h - kernel functions to the LLVM dialect --------------===//
#ifndef ZERO_LIB_TARGET_LOWERKERNELS_H
#define ZERO_LIB_TARGET_LOWERKERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::zero {

/// Lowers the kernel functions of `module`, in place, to `llvm.func`s with
/// `extent` and `grain` attributes.
LogicalResult lowerKernels(ModuleOp module, int64_t vectorWidth);

/// Lowers them to `llvm.func`s of a GPU's threads, kernels of NVVM, with the
/// same attributes: `grain` is the number of elements that a thread computes at
/// once.
LogicalResult lowerDeviceKernels(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_LIB_TARGET_LOWERKERNELS_H
