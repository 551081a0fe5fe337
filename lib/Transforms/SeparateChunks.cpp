//===- SeparateChunks.cpp - what each chunk of a stage computes itself ----===//

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

namespace mlir::zero {
#define GEN_PASS_DEF_SEPARATECHUNKS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Works on the micro-batch of one step.
class Separator {
public:
  explicit Separator(Block &block);
  void run();

private:
  int64_t chunkOf(Operation *op) const { return chunks.lookup(op); }
  Value provide(Value value, int64_t chunk);

  Block &block;
  DenseMap<Operation *, int64_t> chunks;
  /// The boundary before the forward pass of each chunk but the first.
  SmallVector<Operation *> boundaries;
  /// Operations that read inputs and constants alone, in their order.
  SmallVector<Operation *> ofInputs;
  DenseSet<Operation *> known;
  std::map<int64_t, IRMapping> copies; ///< by chunk
};

struct SeparateChunks : public zero::impl::SeparateChunksBase<SeparateChunks> {
  using SeparateChunksBase::SeparateChunksBase;
  void runOnOperation() override {
    for (auto step : getOperation().getOps<StepOp>())
      if (auto micro = step.getRegionOp<MicroOp>())
        Separator(micro.getBody().front()).run();
  }
};

} // namespace

/// Forward passes come from the first chunk on, backward passes back to it.
Separator::Separator(Block &block) : block(block) {
  Operation *backward = findBackward(block);
  int64_t chunk = 0;
  bool isBackward = false;
  for (Operation &op : block) {
    isBackward |= &op == backward;
    chunks[&op] = chunk;
    if (isa<StageBoundaryOp>(op)) {
      chunk += isBackward ? -1 : 1;
      if (!isBackward)
        boundaries.push_back(&op);
    }
    bool isOfInputs = isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
                      !op.hasTrait<OpTrait::ConstantLike>() &&
                      !op.hasTrait<OpTrait::IsTerminator>() &&
                      llvm::all_of(op.getOperands(), [&](Value operand) {
                        Operation *maker = operand.getDefiningOp();
                        return !maker || known.contains(maker) ||
                               maker->hasTrait<OpTrait::ConstantLike>();
                      });
    if (isOfInputs && known.insert(&op).second)
      ofInputs.push_back(&op);
  }
}

/// The value as a later chunk computes it, at its beginning.
Value Separator::provide(Value value, int64_t chunk) {
  Operation *maker = value.getDefiningOp();
  if (!maker || !known.contains(maker) || chunkOf(maker) == chunk)
    return value;
  IRMapping &copied = copies[chunk];
  if (!copied.contains(value)) {
    for (Value operand : maker->getOperands())
      if (Value own = provide(operand, chunk); own != operand)
        copied.map(operand, own);
    OpBuilder builder(maker->getContext());
    // Behind what was copied before, which it may read.
    Operation *next = chunk < static_cast<int64_t>(boundaries.size())
                          ? boundaries[chunk]
                          : findBackward(block);
    Operation *place = boundaries[chunk - 1]->getNextNode();
    while (place != next && copied.contains(place))
      place = place->getNextNode();
    builder.setInsertionPoint(place);
    Operation *copy = builder.clone(*maker, copied);
    copied.map(copy, copy);
    chunks[copy] = chunk;
  }
  return copied.lookup(value);
}

void Separator::run() {
  for (Operation *op : ofInputs)
    for (Value result : op->getResults())
      for (OpOperand &use : llvm::make_early_inc_range(result.getUses())) {
        Operation *user = block.findAncestorOpInBlock(*use.getOwner());
        if (user && chunkOf(user) > chunkOf(op))
          use.set(provide(result, chunkOf(user)));
      }
}
