//===- Fit.h - a machine fitted to published runs -------------------------===//
#ifndef ZERO_PLANBENCH_FIT_H
#define ZERO_PLANBENCH_FIT_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir::zero {

struct FitRequest {
  /// CSV file of runs; name or file of the machine; further options of
  /// zero-pipeline.
  std::string runs, machine, pipeline;
  /// Where the machine goes, and the figures as JSON; empty: nowhere.
  std::string output, json;
};

/// Fits the machine's efficiencies to the runs, writes it, and prints what is
/// predicted for them; with the errors for runs that were left out of further
/// fits, a model's or a number of GPUs' at a time.
LogicalResult fitRuns(const FitRequest &request);

} // namespace mlir::zero

#endif // ZERO_PLANBENCH_FIT_H
