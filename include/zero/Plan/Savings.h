//===- Savings.h - what stage 3 saves -------------------------------------===//
#ifndef ZERO_PLAN_SAVINGS_H
#define ZERO_PLAN_SAVINGS_H

#include "zero/Plan/PlanSummary.h"

namespace mlir::zero {

/// A remark at the step where the buffers in which stage 3 gathers and reduces
/// take more than half of what it saves by sharding parameters and gradients,
/// and the reuse distance is larger than the model: the bytes of both, and the
/// keys to lower.
void remarkSavings(StepOp step, const PlanSummary &summary);

} // namespace mlir::zero

#endif // ZERO_PLAN_SAVINGS_H
