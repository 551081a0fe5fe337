//===- Runs.h - predictions beside published runs -------------------------===//
#ifndef ZERO_PLAN_RUNS_H
#define ZERO_PLAN_RUNS_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::zero {

/// What --compare-runs and --fit read and write.
struct RunsRequest {
  /// CSV file of runs; name or file of the machine; further options of
  /// zero-pipeline.
  std::string runs, machine, pipeline;
  /// Where --fit writes its machine, and where both write figures as JSON;
  /// empty: nowhere.
  std::string output, json;
};

/// Plans each run of the machine's GPU as it was, and prints what is predicted
/// for it beside what was published.
LogicalResult compareRuns(const RunsRequest &request);

/// Fits the machine's efficiencies to the runs, writes it, and prints the same;
/// with the errors for runs that were left out of further fits, a model's or a
/// number of GPUs' at a time.
LogicalResult fitRuns(const RunsRequest &request);

} // namespace mlir::zero

#endif // ZERO_PLAN_RUNS_H
