//===- Compare.h - what differs between two plans -------------------------===//
#ifndef ZERO_PLAN_COMPARE_H
#define ZERO_PLAN_COMPARE_H

#include "Report.h"

namespace mlir::zero {

/// Prints memory, traffic, collectives and predicted time of two plans side by
/// side, and what the second has more. The names say which plan is which.
void printComparison(const PlanReport &first, const PlanReport &second,
                     StringRef firstName, StringRef secondName);

} // namespace mlir::zero

#endif // ZERO_PLAN_COMPARE_H
