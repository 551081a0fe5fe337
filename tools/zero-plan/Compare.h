//===- Compare.h - what differs between two plans -------------------------===//
#ifndef ZERO_PLAN_COMPARE_H
#define ZERO_PLAN_COMPARE_H

#include "zero/Plan/PlanSummary.h"

namespace mlir::zero {

/// Prints memory, traffic and collectives of two plans side by side, and what
/// the second has more. `names` say which plan is which.
void printComparison(const PlanSummary &first, const PlanSummary &second,
                     StringRef firstName, StringRef secondName);

} // namespace mlir::zero

#endif // ZERO_PLAN_COMPARE_H
