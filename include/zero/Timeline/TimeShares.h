//===- TimeShares.h - what an update's time is spent on -------------------===//
#ifndef ZERO_TIMELINE_TIMESHARES_H
#define ZERO_TIMELINE_TIMESHARES_H

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// The limits of an update's speed: one of them holds it up at each moment.
enum class Limit {
  Arithmetic, ///< kernels of micro-batches that compute longer than they move
  Memory,     ///< those that move longer than they compute
  Launches,   ///< what every kernel costs, however little it does
  Updates,    ///< checks and updates of parameters, after the micro-batches
  NodeLinks,  ///< waits for ranks of the same node
  Network,    ///< waits for ranks of several nodes
  Bus,        ///< waits for copies between a device and the host's memory
  HostWork,   ///< waits for updates on the host
  Files,      ///< waits for files
  Stages,     ///< waits for other stages of a pipeline
};
inline constexpr int kLimits = static_cast<int>(Limit::Stages) + 1;

/// "arithmetic", "the network between nodes".
StringRef describeLimit(Limit limit);

/// The seconds of an update, by what they were spent on.
struct TimeShares {
  std::array<double, kLimits> seconds = {};

  double of(Limit limit) const { return seconds[static_cast<int>(limit)]; }
  double all() const;
  /// Adds `times` those of others.
  void add(const TimeShares &others, double times);
  /// The limits that took any time, the one that took most first.
  SmallVector<Limit> inOrder() const;
};

/// The shares of the timeline's second update, or of a region's whole timeline.
/// A kernel that was measured is divided as its roofline is.
TimeShares shareTime(const Timeline &timeline, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_TIMELINE_TIMESHARES_H
