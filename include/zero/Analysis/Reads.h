//===- Reads.h - what an operation reads ------------------------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_READS_H
#define ZERO_ANALYSIS_READS_H

#include "mlir/IR/Operation.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::zero {

/// Everything that `op` reads: its operands and what its regions capture.
inline llvm::SetVector<Value> getReads(Operation &op) {
  llvm::SetVector<Value> reads(op.operand_begin(), op.operand_end());
  if (op.getNumRegions() != 0)
    getUsedValuesDefinedAbove(op.getRegions(), reads);
  return reads;
}

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_READS_H
