//===- Free.cpp - say where gathered parameters and gradients die ---------===//

#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FREE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct Free : public zero::impl::FreeBase<Free> {
  using FreeBase::FreeBase;
  void runOnOperation() override;

private:
  void collect(Block &block);
  void insert(Block &block);

  /// Values to free, in order of definition, with the last operation that
  /// reads them.
  llvm::MapVector<Value, Operation *> dying;
};
} // namespace

void Free::collect(Block &block) {
  dying.clear();
  for (Operation &op : block) {
    if (auto wait = dyn_cast<WaitOp>(op)) {
      Operation *start = wait.getPending().getDefiningOp();
      if (isa_and_present<AllGatherOp>(start))
        for (Value whole : wait.getResults())
          dying[whole] = wait;
      // A reduction borrows its gradients until its wait.
      if (isa_and_present<AllReduceOp, ReduceScatterOp, BucketedReduceOp>(start))
        for (Value gradient : start->getOperands())
          if (Value root = getRoot(gradient);
              root.getDefiningOp() && !root.getDefiningOp<LoadOp>())
            dying[root] = wait;
    }
  }
  for (Operation &op : block)
    op.walk([&](Operation *nested) {
      Operation *user = block.findAncestorOpInBlock(*nested);
      for (Value operand : nested->getOperands())
        if (auto found = dying.find(getRoot(operand)); found != dying.end())
          if (found->second->isBeforeInBlock(user))
            found->second = user;
    });
}

void Free::insert(Block &block) {
  llvm::MapVector<Operation *, SmallVector<Value>> byLastUse;
  for (auto &[value, last] : dying)
    if (!last->hasTrait<OpTrait::IsTerminator>())
      byLastUse[last].push_back(value);
  for (auto &[last, values] : byLastUse) {
    OpBuilder builder(&block, std::next(Block::iterator(last)));
    FreeOp::create(builder, last->getLoc(), values);
  }
}

void Free::runOnOperation() {
  StepOp step = *getOperation().getOps<StepOp>().begin();
  for (Operation &region : step.getBody().front()) {
    Block &block = region.getRegion(0).front();
    collect(block);
    insert(block);
  }
}
