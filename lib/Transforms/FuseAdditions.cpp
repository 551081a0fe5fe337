//===- FuseAdditions.cpp - additions join the kernels beside them ---------===//

#include "zero/Analysis/Additions.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSEADDITIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct FuseAdditions : public zero::impl::FuseAdditionsBase<FuseAdditions> {
  using FuseAdditionsBase::FuseAdditionsBase;
  void runOnOperation() override;
};

} // namespace

/// Puts one operation in the place of `fusable.by`.
static void fuse(FusableAddition fusable) {
  auto [addition, by] = fusable;
  OpBuilder builder(by);
  Operation *fused = by.buildWithAddends(builder, fusable.getAddends());
  fused->setLoc(builder.getFusedLoc({addition.getLoc(), by.getLoc()}));
  unsigned kept = by->getNumResults();
  if (fusable.isBefore()) {
    addition.getResult().replaceAllUsesWith(fused->getResult(kept));
    by->replaceAllUsesWith(fused->getResults().take_front(kept));
    by->erase();
    addition->erase();
    return;
  }
  unsigned summed = cast<OpResult>(by.getSummed()).getResultNumber();
  addition.getResult().replaceAllUsesWith(fused->getResult(summed));
  addition->erase();
  by->replaceAllUsesWith(fused->getResults());
  by->erase();
}

void FuseAdditions::runOnOperation() {
  for (StepOp step : getOperation().getOps<StepOp>())
    step->walk([&](Block *block) {
      for (const FusableAddition &fusable : findFusableAdditions(*block))
        if (!gradientsOnly || !fusable.isBefore())
          fuse(fusable);
    });
}
