//===- Checks.h - what several operations' verifiers check ------*- C++ -*-===//
#ifndef ZERO_LIB_DIALECT_ZERO_CHECKS_H
#define ZERO_LIB_DIALECT_ZERO_CHECKS_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The partition of that name; null after an error at `op` where there is none.
PartitionOp lookUpPartition(Operation *op, FlatSymbolRefAttr symbol,
                            SymbolTableCollection &tables);

/// An error at `op` unless [begin, end) is not empty and lies between two
/// segment boundaries.
LogicalResult verifyRange(Operation *op, PartitionOp partition, int64_t begin,
                          int64_t end);

/// An error at `op` unless each symbol is a parameter, and named once: its copy
/// has one place.
LogicalResult verifyAreParameters(Operation *op, ArrayAttr symbols,
                                  SymbolTableCollection &tables);

/// An error at `op` unless the module's mesh has a secondary partition over
/// these axes.
LogicalResult verifyIsSecondary(Operation *op, AxesAttr over);

/// An error at `op` unless the module's mesh has the axes `over`, in their
/// order.
LogicalResult verifyIsOfMesh(Operation *op, AxesAttr over);

} // namespace mlir::zero

#endif // ZERO_LIB_DIALECT_ZERO_CHECKS_H
