//===- LimitExperts.cpp - experts with a capacity -------------------------===//

#include "zero/Dialect/NN/LimitExperts.h"
#include "zero/Config/Config.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

namespace mlir::zero {
#define GEN_PASS_DEF_LIMITEXPERTS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct LimitExperts : public zero::impl::LimitExpertsBase<LimitExperts> {
  using LimitExpertsBase::LimitExpertsBase;

  void runOnOperation() override {
    Location loc = getOperation().getLoc();
    nn::ExpertLimits limits{factor, least, std::nullopt, renormalize};
    if (!policy.empty() && !(limits.order = parseDropOrder(policy))) {
      emitError(loc) << "the option policy is '" << policy
                     << "', wanted 'position' or 'probs'";
      return signalPassFailure();
    }
    int64_t limited = 0;
    for (StepOp step : getOperation().getOps<StepOp>()) {
      if (!step.isModel())
        continue;
      FailureOr<int64_t> found =
          nn::limitExperts(step.getBody().front(), limits);
      if (failed(found))
        return signalPassFailure();
      limited += *found;
    }
    if (limited == 0)
      emitRemark(loc) << "the capacity of experts changes nothing: the model "
                         "sends no rows to experts without one";
  }
};
} // namespace
