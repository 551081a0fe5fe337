//===- Report.h - memory and traffic of a plan ----------------------------===//
#ifndef ZERO_PLAN_REPORT_H
#define ZERO_PLAN_REPORT_H

#include "Predict.h"

#include "zero/Plan/PlanSummary.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// Prints memory by arena with the `lines` largest parts of each, and traffic
/// by class, beside the closed forms.
void printReport(const PlanSummary &plan, StringRef path, unsigned lines);

/// A plan, and what it is predicted to take.
struct PlanReport {
  PlanSummary plan;
  Prediction prediction;
};

/// Prints a line for each of several plans of one model.
void printRankCounts(ArrayRef<PlanReport> reports, StringRef path);

/// Everything that a plan's summary and its prediction hold.
void writeJson(llvm::json::OStream &json, const PlanReport &report);

} // namespace mlir::zero

#endif // ZERO_PLAN_REPORT_H
