//===- LastUse.h - where values are needed last ---------------------------===//
#ifndef ZERO_ANALYSIS_LASTUSE_H
#define ZERO_ANALYSIS_LASTUSE_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zero {

/// The operations of a block in order, numbered once: comparing positions
/// costs nothing, however much is inserted meanwhile.
class BlockOrder {
public:
  explicit BlockOrder(Block &block);
  int64_t operator[](Operation *op) const { return positions.lookup(op); }
  int64_t size() const { return positions.size(); }

private:
  DenseMap<Operation *, int64_t> positions;
};

/// For every root value used in `block`, the last operation that reads it,
/// through views. A started collective reads until its wait; `zero.free` does
/// not count.
DenseMap<Value, Operation *> findLastUses(Block &block,
                                          const BlockOrder &order);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_LASTUSE_H
