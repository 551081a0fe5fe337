//===- FuseCrossEntropy.cpp - losses without whole logits -----------------===//

#include "zero/Dialect/NN/FuseCrossEntropy.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSECROSSENTROPY
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct FuseCrossEntropy
    : public zero::impl::FuseCrossEntropyBase<FuseCrossEntropy> {
  using FuseCrossEntropyBase::FuseCrossEntropyBase;

  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      nn::fuseCrossEntropy(step, chunkBytes);
  }
};
} // namespace
