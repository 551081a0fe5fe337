//===- Report.h - memory and traffic of a plan ----------------------------===//
#ifndef ZERO_PLAN_REPORT_H
#define ZERO_PLAN_REPORT_H

#include "Commands.h"
#include "Predict.h"
#include "Verdict.h"

#include "zero/Plan/PlanSummary.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// Prints memory by arena with the `lines` largest parts of each, and traffic
/// by class, beside the closed forms.
void printReport(const PlanSummary &plan, StringRef path, unsigned lines);

/// A plan, what it is predicted to take, and what it runs.
struct PlanReport {
  PlanSummary plan;
  Prediction prediction;
  SmallVector<CommandLine> commands;
  Verdict verdict;
};

/// Prints a line for each of several plans of one model.
void printRankCounts(ArrayRef<PlanReport> reports, StringRef path);

/// Everything that a plan's summary, its prediction and its commands hold.
void writeJson(llvm::json::OStream &json, const PlanReport &report);

} // namespace mlir::zero

#endif // ZERO_PLAN_REPORT_H
