//===- Stages.h - what the stages of a pipeline have and take ---*- C++ -*-===//
#ifndef ZERO_PLAN_STAGES_H
#define ZERO_PLAN_STAGES_H

#include "zero/Plan/PlanSummary.h"
#include "zero/Timeline/StagesTimeline.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// A plan of all stages.
struct StagesReport {
  std::string machine;
  std::vector<zrt::Program> programs;
  std::vector<PlanSummary> plans; ///< by stage
  StagesTimeline timeline;
};

/// Prints a row for each stage, and the time of an update with its bubble.
void printStages(const StagesReport &report, StringRef path);

/// The same as an object.
void writeStages(llvm::json::OStream &json, const StagesReport &report);

/// The passes of all stages over time, as SVG: forward passes, backward passes
/// and the update; between them stages wait.
std::string drawStages(const StagesReport &report, StringRef title);

} // namespace mlir::zero

#endif // ZERO_PLAN_STAGES_H
