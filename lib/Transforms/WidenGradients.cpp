//===- WidenGradients.cpp - have gradients travel in f32 ------------------===//

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::zero {
#define GEN_PASS_DEF_WIDENGRADIENTS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct WidenGradients : public zero::impl::WidenGradientsBase<WidenGradients> {
  void runOnOperation() override;
};
} // namespace

static void widen(GradientOp gradient) {
  auto type = cast<RankedTensorType>(gradient.getValue().getType());
  if (type.getElementTypeBitWidth() >= 32)
    return;
  OpBuilder builder(gradient);
  RankedTensorType wide = type.clone(builder.getF32Type());
  gradient.getValueMutable().assign(arith::ExtFOp::create(
      builder, gradient.getLoc(), wide, gradient.getValue()));
  gradient.getResult().setType(wide);
}

void WidenGradients::runOnOperation() {
  for (StepOp step : getOperation().getOps<StepOp>()) {
    WalkResult walk = step.walk([](GradientOp gradient) {
      if (gradient.isBlock() || !gradient.getResult().use_empty()) {
        gradient.emitOpError("is reduced, stored or a block already; run "
                             "zero-widen-gradients behind zero-differentiate");
        return WalkResult::interrupt();
      }
      widen(gradient);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
  }
}
