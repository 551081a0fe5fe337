//===- KernelSpecs.h - operations as the runtime's kernels ----------------===//
//
// Which kernels an operation becomes, with what they compute and move. The
// translation to commands and the cost model both ask here.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_KERNELS_KERNELSPECS_H
#define ZERO_KERNELS_KERNELSPECS_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/KernelSpec.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace mlir::zero {

/// The kernel that computes `op` from its operands: that of its
/// KernelOpInterface, or of a launch, a loss seed or the kernel in a
/// `zero.strided`. Nothing where `op` becomes
/// other commands or none. `symbols` finds a launch's function; for many
/// operations keep one, without which each look-up goes through the module.
std::optional<zrt::KernelSpec>
describeKernel(Operation *op, SymbolTableCollection *symbols = nullptr);

/// A run of elements that a flat kernel takes.
struct FlatRange {
  int64_t elements = 0;
  Type type;
};

/// A kernel of the `zero` operations, which takes flat ranges.
zrt::KernelSpec describeFlatKernel(StringRef name, ArrayRef<FlatRange> ranges,
                                   zrt::KernelSpec attributes = {});

/// The kernel that updates a partition, without its buffers: its name and
/// attributes.
std::pair<StringRef, zrt::KernelSpec> describeUpdate(PartitionOp partition);

/// Operations on elements that the operations nested in `op` do, an
/// exponential as one: of a function that a launch runs, or of one elementwise
/// operation on tensors.
int64_t countElementOperations(Operation *op);

} // namespace mlir::zero

#endif // ZERO_KERNELS_KERNELSPECS_H
