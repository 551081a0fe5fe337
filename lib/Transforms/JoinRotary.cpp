//===- JoinRotary.cpp - rotations where a projection is -------------------===//

#include "zero/Dialect/NN/JoinRotary.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_JOINROTARY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct JoinRotary : public zero::impl::JoinRotaryBase<JoinRotary> {
  using JoinRotaryBase::JoinRotaryBase;

  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      nn::joinRotary(step);
  }
};
} // namespace
