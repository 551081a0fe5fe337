//===- GatherAgain.cpp - gather rows again in the backward pass -----------===//

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_GATHERAGAIN
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// Lets what is behind `backward` read a second gather, where the first one is
/// read before it as well.
static void gatherAgain(GatherValueOp gather, Operation *backward) {
  Block &block = *gather->getBlock();
  Operation *first = nullptr;
  bool isReadBefore = false;
  for (Operation *user : gather->getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (here->isBeforeInBlock(backward)) {
      isReadBefore = true;
      continue;
    }
    if (!first || here->isBeforeInBlock(first))
      first = here;
  }
  if (!first || !isReadBefore)
    return;
  OpBuilder builder(first);
  Value again = builder.clone(*gather)->getResult(0);
  gather.getResult().replaceUsesWithIf(again, [&](OpOperand &use) {
    return !block.findAncestorOpInBlock(*use.getOwner())
                ->isBeforeInBlock(first);
  });
}

namespace {
struct GatherAgain : public zero::impl::GatherAgainBase<GatherAgain> {
  using GatherAgainBase::GatherAgainBase;

  void runOnOperation() override {
    for (auto step : getOperation().getOps<StepOp>())
      for (auto micro : step.getBody().getOps<MicroOp>()) {
        Block &block = micro.getBody().front();
        Operation *backward = findBackward(block);
        if (!backward)
          continue;
        // What experts are for is gathered from other ranks' samples.
        for (auto gather :
             llvm::make_early_inc_range(block.getOps<GatherValueOp>()))
          if (gather.getReplicated() &&
              !cutsExperts(gather.getCut().getOver()) &&
              gather->isBeforeInBlock(backward))
            gatherAgain(gather, backward);
      }
  }
};
} // namespace
