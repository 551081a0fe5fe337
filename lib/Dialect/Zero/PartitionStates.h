//===- PartitionStates.h - syntax and checks of states ----------*- C++ -*-===//
#ifndef ZERO_LIB_DIALECT_ZERO_PARTITIONSTATES_H
#define ZERO_LIB_DIALECT_ZERO_PARTITIONSTATES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// `[exp_avg f32 on host, ..]`.
ParseResult parseStates(OpAsmParser &parser, ArrayAttr &states);
void printStates(OpAsmPrinter &printer, Operation *op, ArrayAttr states);

/// (C7) of zero.partition.
LogicalResult verifyStates(PartitionOp partition);

/// (C11) of `zero.partition`: an error unless what is stored quantized is
/// sharded by parameter, and not trained.
LogicalResult verifyQuantized(PartitionOp partition);

} // namespace mlir::zero

#endif // ZERO_LIB_DIALECT_ZERO_PARTITIONSTATES_H
