//===- BlockGathers.h - what plans know of gathers --------------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_BLOCKGATHERS_H
#define ZERO_LIB_TRANSFORMS_BLOCKGATHERS_H

#include "zero/Analysis/LastUse.h"
#include "zero/Cost/CostModel.h"
#include "zero/Cost/PrefetchPlan.h"

namespace mlir::zero {

/// The gathers of one block in the order of their starts, each waited for in
/// it, and what else takes time there.
class BlockGathers {
public:
  /// An error at a gather that nothing ends.
  static FailureOr<BlockGathers> find(Block &block, const Handles &handles,
                                      const CostModel &model);

  const BlockOrder &getOrder() const { return order; }
  ArrayRef<Operation *> getStarts() const { return starts; }
  WaitOp getWait(size_t gather) const { return waitOf(starts[gather]); }
  ArrayRef<GatherUse> getUses() const { return uses; }
  const BlockSeconds &getSeconds() const { return seconds; }

private:
  explicit BlockGathers(Block &block) : order(block) {}
  static WaitOp waitOf(Operation *start);
  GatherUse describe(Operation *start,
                     const DenseMap<Value, Operation *> &lastUses,
                     const CostModel &model) const;
  void measure(Block &block, const CostModel &model);

  BlockOrder order;
  SmallVector<Operation *> starts;
  SmallVector<GatherUse> uses;
  BlockSeconds seconds;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_BLOCKGATHERS_H
