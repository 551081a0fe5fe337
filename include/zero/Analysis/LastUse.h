//===- LastUse.h - where values are needed last ---------------------------===//
#ifndef ZERO_ANALYSIS_LASTUSE_H
#define ZERO_ANALYSIS_LASTUSE_H

#include "zero/Analysis/Handles.h"

#include "mlir/IR/Block.h"

namespace mlir::zero {

/// The operations of blocks that run one after the other, numbered once:
/// comparing positions costs nothing, however much is inserted meanwhile.
class BlockOrder {
public:
  explicit BlockOrder(ArrayRef<Block *> blocks);
  explicit BlockOrder(Block &block) : BlockOrder(ArrayRef<Block *>(&block)) {}
  int64_t operator[](Operation *op) const { return positions.lookup(op); }
  int64_t size() const { return positions.size(); }

private:
  DenseMap<Operation *, int64_t> positions;
};

/// For every root value used in `blocks`, the last operation that reads it,
/// through views. A started collective reads until its wait, also where that is
/// in another of the blocks; `zero.free` does not count.
DenseMap<Value, Operation *> findLastUses(ArrayRef<Block *> blocks,
                                          const BlockOrder &order,
                                          const Handles &handles);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_LASTUSE_H
