//===- PeelLastMicro.cpp - a form of its own for the last micro-batch -----===//

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_PEELLASTMICRO
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct PeelLastMicro : public zero::impl::PeelLastMicroBase<PeelLastMicro> {
  using PeelLastMicroBase::PeelLastMicroBase;

  void runOnOperation() override {
    FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
    if (failed(step))
      return signalPassFailure();
    MicroOp micro = step->getLastMicro();
    TrainingAttr training = *step->getTraining();
    // What travels is gradients: to other ranks, or to the host.
    bool travels = !training.isSilent() || training.getPlanning().getOffload();
    if (training.getAccumulation() == 1 || !travels || micro.getLast())
      return;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(micro);
    auto last = cast<MicroOp>(builder.clone(*micro));
    last.setLast(true);
  }
};
} // namespace
