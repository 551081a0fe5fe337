//===- PlannedRuns.h - published runs, planned and predicted --------------===//
#ifndef ZERO_PLAN_PLANNEDRUNS_H
#define ZERO_PLAN_PLANNEDRUNS_H

#include "PublishedRuns.h"

#include "zero/Cost/Machine.h"

#include <map>
#include <memory>

namespace mlir::zero {

/// A run as it is planned, what its update is predicted to take, and the bytes
/// that a rank needs.
struct PlannedRun {
  PublishedRun run;
  std::shared_ptr<const zrt::Program> program;
  double seconds = 0;
  int64_t bytes = 0;

  /// By how much of the published time the prediction is longer.
  double error() const { return seconds / run.seconds() - 1; }
};

/// Plans all `runs` for the machine of that name or file.
FailureOr<std::vector<PlannedRun>>
planRuns(ArrayRef<PublishedRun> runs, StringRef machine, StringRef pipeline);

/// Sizes of errors: their mean, the largest, and how many there are.
struct ErrorSummary {
  double mean = 0, worst = 0;
  int64_t count = 0;

  void add(double error);
};

/// What predictions are off by in all, and what the ratios of speeds are off by
/// between runs that differ in the number of GPUs alone.
ErrorSummary summarizeErrors(ArrayRef<PlannedRun> runs);
ErrorSummary summarizeScaling(ArrayRef<PlannedRun> runs);

/// A report's tables by name: `model` and `gpus` of runs that were left out.
using LeftOut = std::map<std::string, ErrorSummary>;

/// The machine of that name or file.
FailureOr<Machine> findMachine(StringRef nameOrPath);

/// Prints runs beside what was published, and writes the figures to `jsonFile`;
/// "": to none, and "-": prints nothing else.
LogicalResult reportRuns(StringRef jsonFile, const Machine &machine,
                         ArrayRef<PlannedRun> runs,
                         const LeftOut &leftOut = {});

} // namespace mlir::zero

#endif // ZERO_PLAN_PLANNEDRUNS_H
