//===- Modes.h - what zero-plan does, and the options that it then takes --===//
#ifndef ZERO_PLAN_MODES_H
#define ZERO_PLAN_MODES_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace mlir::zero {

enum class Mode {
  Report,    ///< of a model or schedule, without an option of a mode
  Search,    ///< --search
  Estimate,  ///< --estimate of a model
  Counts,    ///< --estimate of --params
  Allocate,  ///< --allocate
  Calibrate, ///< --calibrate
  Compare,   ///< --compare
  Runs,      ///< --compare-runs
  Fit,       ///< --fit
  Picture,   ///< --layout, --explain or both
};

/// The mode that the command line asks for. Fails where it asks for two, and
/// where it has an option that this mode would ignore.
FailureOr<Mode> readMode(bool hasFile);

/// The counts of `--ranks`, `text`; one empty count where it is not given.
/// Fails where one is no number, and where `mode` wants one count and
/// finds several.
FailureOr<std::vector<std::string>> readRankCounts(StringRef text, Mode mode);

} // namespace mlir::zero

#endif // ZERO_PLAN_MODES_H
