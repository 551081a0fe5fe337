//===- TierOps.h - what operations between tiers have in common -----------===//
#ifndef ZERO_LIB_DIALECT_ZERO_TIEROPS_H
#define ZERO_LIB_DIALECT_ZERO_TIEROPS_H

#include "Checks.h"
#include "Collectives.h"

namespace mlir::zero {

/// The trained partition of `op`, whose range is its segments'; null after an
/// error.
template <typename TierOp>
PartitionOp verifyTarget(TierOp op, SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(op, op.getPartitionAttr(), tables);
  if (!partition ||
      failed(verifyRange(op, partition, op.getBegin(), op.getEnd())))
    return {};
  if (partition.isTrainable())
    return partition;
  op.emitOpError("is about the update of ")
      << op.getPartitionAttr() << ", which has no optimizer";
  return {};
}

/// Checks the tensors that `op` gives after its wait.
template <typename TierOp>
LogicalResult verifyResults(TierOp op, ArrayRef<Type> wanted,
                            StringRef why = "what a rank owns of the range") {
  PendingType found = op.getPending().getType();
  if (found.getTypes() == wanted)
    return success();
  return op.emitOpError("gives ")
         << found << ", wanted " << PendingType::get(op->getContext(), wanted)
         << ": " << why;
}

/// This rank's part of [begin, end) of `state`: one buffer, or one a segment
/// where its slices lie between those of other ranks.
void addOwned(SmallVectorImpl<AsyncBuffer> &buffers, PartitionOp partition,
              StringRef state, Type type, bool isSharded, int64_t begin,
              int64_t end);

/// A staging buffer in host memory.
AsyncBuffer stage(const Twine &name, Type type, int64_t elements);

/// Operand `index`, which is read.
AsyncBuffer operandOf(const Twine &name, unsigned index, Value operand);

} // namespace mlir::zero

#endif // ZERO_LIB_DIALECT_ZERO_TIEROPS_H
