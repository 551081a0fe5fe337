//===- MachineFit.h - a machine's figures from whole updates --------------===//
//
// What kernels and links reach on a machine, from how long updates of known
// programs took: for machines on which nothing smaller was measured.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_PLANBENCH_MACHINEFIT_H
#define ZERO_PLANBENCH_MACHINEFIT_H

#include "zero/Cost/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace mlir::zero {

/// An update of `program` took so many seconds.
struct TimedRun {
  std::shared_ptr<const zrt::Program> program;
  double seconds = 0;
};

/// Seconds of an update by `simulate`. Of more than three micro-batches the
/// second one stands for all but the first and the last.
double predictUpdate(std::shared_ptr<const zrt::Program> program,
                     const Machine &machine);

/// `start` with the efficiencies, slowdown and overhead with which the
/// predictions for `runs` are nearest to what they took: the fewest squares of
/// their relative errors, by damped Gauss-Newton steps, and the same ones on
/// every computer. A figure that the runs say little about stays near that of
/// `start`.
Machine fitMachine(const Machine &start, ArrayRef<TimedRun> runs);

namespace detail {
/// Residuals of a point, always the same number of them.
using Residuals =
    llvm::function_ref<std::vector<double>(ArrayRef<double> point)>;

/// The point near `start` with the fewest squares of `residuals`.
SmallVector<double> minimizeSquares(ArrayRef<double> start,
                                    Residuals residuals);
} // namespace detail

} // namespace mlir::zero

#endif // ZERO_PLANBENCH_MACHINEFIT_H
