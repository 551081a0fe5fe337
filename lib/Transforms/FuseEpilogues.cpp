//===- FuseEpilogues.cpp - operations join the kernel before them ---------===//

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct FuseEpilogues : public zero::impl::FuseEpiloguesBase<FuseEpilogues> {
  using FuseEpiloguesBase::FuseEpiloguesBase;
  void runOnOperation() override;
};

} // namespace

void FuseEpilogues::runOnOperation() {
  SmallVector<EpilogueOpInterface> forward, backward;
  for (StepOp step : getOperation().getOps<StepOp>())
    step->walk([&](EpilogueOpInterface op) {
      (op.isOfGradient() ? backward : forward).push_back(op);
    });
  if (!gradientsOnly)
    for (EpilogueOpInterface op : forward)
      op.fuseIntoProducer();
  for (EpilogueOpInterface op : backward)
    op.fuseIntoProducer();
}
