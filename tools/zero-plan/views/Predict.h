//===- Predict.h - how long an update takes -------------------------------===//
#ifndef ZERO_PLAN_PREDICT_H
#define ZERO_PLAN_PREDICT_H

#include "zero/Timeline/Timeline.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// Kernels of one key in an update.
struct KernelLine {
  std::string key;
  int64_t count = 0;
  double seconds = 0; ///< of all
};

/// What a simulated update comes to.
struct Prediction {
  std::string machine, source;
  double seconds = 0, exposed = 0;
  /// Seconds in which each stream works.
  std::array<double, zrt::kCountOf<zrt::Stream>> busy = {};
  /// The costliest first.
  SmallVector<KernelLine> kernels;
};

Prediction summarizeTimeline(const Timeline &timeline, const Machine &machine);

/// Prints step time, exposed communication, how busy streams are, and the
/// `lines` costliest kernels.
void printPrediction(const Prediction &prediction, unsigned lines);

/// The same as an attribute `prediction` of the object that is being written.
void writePrediction(llvm::json::OStream &json, const Prediction &prediction);

/// "12.3 us", "1.50 ms", "2.00 s".
std::string formatSeconds(double seconds);

/// `part` of `whole` as "12.3 %"; 0 of nothing.
std::string formatShare(double part, double whole);

} // namespace mlir::zero

#endif // ZERO_PLAN_PREDICT_H
