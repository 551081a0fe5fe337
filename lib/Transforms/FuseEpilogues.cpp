//===- FuseEpilogues.cpp - operations join the kernels of products --------===//

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

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

/// Operations that may be fused, as far as they are there.
class Candidates : public RewriterBase::Listener {
public:
  void insert(EpilogueOpInterface op) {
    order.push_back(op);
    there.insert(op);
  }
  void notifyOperationErased(Operation *op) override { there.erase(op); }

  void fuse(RewriterBase &rewriter) {
    for (EpilogueOpInterface op : order)
      if (there.contains(op))
        op.fuseIntoProduct(rewriter);
  }

private:
  SmallVector<EpilogueOpInterface> order;
  DenseSet<Operation *> there;
};

} // namespace

void FuseEpilogues::runOnOperation() {
  Candidates forward, backward;
  for (StepOp step : getOperation().getOps<StepOp>())
    step->walk([&](EpilogueOpInterface op) {
      (op.isOfGradient() ? backward : forward).insert(op);
    });
  IRRewriter rewriter(&getContext());
  if (!gradientsOnly) {
    rewriter.setListener(&forward);
    forward.fuse(rewriter);
  }
  rewriter.setListener(&backward);
  backward.fuse(rewriter);
}
