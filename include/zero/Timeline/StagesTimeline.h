//===- StagesTimeline.h - when each pass of a pipeline runs -----*- C++ -*-===//
#ifndef ZERO_TIMELINE_STAGESTIMELINE_H
#define ZERO_TIMELINE_STAGESTIMELINE_H

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// Seconds of what one stage does by itself, and of what it hands on.
struct StageSeconds {
  double forward = 0, backward = 0; ///< of one micro-batch
  double update = 0;                ///< once an update
  double send = 0, sendBack = 0;    ///< of one micro-batch, to its neighbours

  double ofMicro() const { return forward + backward; }
};

/// One pass of a micro-batch through a stage; seconds from the beginning of the
/// update.
struct PassTime {
  uint32_t stage = 0, micro = 0;
  bool isBackward = false;
  double begin = 0, end = 0;
};

/// An update of a pipeline: its stages work at the same time, each at its own
/// passes in their order.
struct StagesTimeline {
  std::vector<StageSeconds> stages;
  std::vector<PassTime> passes;
  /// Until the last backward pass is over, and until all stages are updated.
  double passSeconds = 0, seconds = 0;

  /// The part of the time of all stages in which they wait for each other.
  double bubble() const;
  /// That of `micros` micro-batches in stages that take equally long and send
  /// in no time: (p - 1) / (m + p - 1).
  static double closedBubble(int64_t stages, int64_t micros) {
    return static_cast<double>(stages - 1) /
           static_cast<double>(micros + stages - 1);
  }
};

/// Runs the programs of all stages on a machine.
StagesTimeline simulateStages(const std::vector<zrt::Program> &stages,
                              const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_TIMELINE_STAGESTIMELINE_H
