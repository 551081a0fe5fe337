//===- VerifyValues.cpp - reject a model that is cut wrongly --------------===//

#include "zero/Verify/Verify.h"

#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_VERIFYVALUES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct VerifyValues : public zero::impl::VerifyValuesBase<VerifyValues> {
  using VerifyValuesBase::VerifyValuesBase;

  void runOnOperation() override {
    for (StepOp step : getOperation().getOps<StepOp>())
      if (failed(verify::verifyValues(getOperation(), step))) {
        if (isInternal)
          verify::remarkInternalError(getOperation());
        return signalPassFailure();
      }
    markAllAnalysesPreserved();
  }
};
} // namespace
