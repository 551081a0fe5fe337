//===- Stages.h - what the stages of a pipeline have and take ---*- C++ -*-===//
#ifndef ZERO_PLAN_STAGES_H
#define ZERO_PLAN_STAGES_H

#include "Drawings.h"
#include "Verdict.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// A plan of all stages.
struct StagesReport {
  std::string machine;
  std::vector<zrt::Program> programs;
  std::vector<PlanSummary> plans; ///< by stage
  StagesTimeline timeline;
  Verdict verdict;
};

/// The figures of a plan of several stages.
FailureOr<StagesReport> reportStages(ModuleOp planned, const Machine &machine);

/// Prints a row for each stage, and the time of an update with its bubble.
void printStages(const StagesReport &report, StringRef path);

/// The same as an object.
void writeStages(llvm::json::OStream &json, const StagesReport &report);

/// Writes the picture of all stages, as SVG: their forward passes, backward
/// passes and updates over time, and where they wait. Fails where a file is
/// asked for that shows one program.
LogicalResult drawStages(const DrawingFiles &files, const StagesReport &report);

} // namespace mlir::zero

#endif // ZERO_PLAN_STAGES_H
