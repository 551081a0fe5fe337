//===- StagesTimeline.h - when each pass of a pipeline runs -----*- C++ -*-===//
#ifndef ZERO_TIMELINE_STAGESTIMELINE_H
#define ZERO_TIMELINE_STAGESTIMELINE_H

#include "zero/Timeline/TimeShares.h"

namespace mlir::zero {

/// Seconds of the passes of a micro-batch through one chunk, and of what they
/// hand on.
struct ChunkSeconds {
  double forward = 0, backward = 0;
  double send = 0, sendBack = 0; ///< to its neighbours
};

/// Seconds of what one stage does by itself.
struct StageSeconds {
  std::vector<ChunkSeconds> chunks;
  double forward = 0, backward = 0; ///< of one micro-batch, all chunks
  double update = 0;                ///< once an update
  /// The shares of the stage's whole update.
  TimeShares shares;

  double ofMicro() const { return forward + backward; }
};

/// A pass of a micro-batch through a chunk of a stage; seconds from the
/// beginning of the update.
struct PassTime {
  uint32_t stage = 0, chunk = 0, micro = 0;
  bool isBackward = false;
  double begin = 0, end = 0;
};

/// An update of a pipeline: its stages work at the same time, each at its own
/// passes in their order.
struct StagesTimeline {
  std::vector<StageSeconds> stages;
  std::vector<PassTime> passes;
  /// Seconds until the last backward pass is over, and until all stages are
  /// updated.
  double passSeconds = 0, seconds = 0;

  /// The part of the time of all stages in which they wait for each other.
  double bubble() const;
  /// The shares of a stage's update, as the mean over all stages.
  TimeShares shares() const;
  /// The bubble of `micros` micro-batches in stages of so many chunks that take
  /// equally long and send in no time: (p - 1) / (c m + p - 1). Source:
  /// Narayanan et al., 2021 (see PipelinePasses.cpp).
  static double closedBubble(int64_t stages, int64_t micros,
                             int64_t chunks = 1) {
    return static_cast<double>(stages - 1) /
           static_cast<double>(chunks * micros + stages - 1);
  }
};

/// Runs the programs of all stages on a machine.
StagesTimeline simulateStages(const std::vector<zrt::Program> &stages,
                              const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_TIMELINE_STAGESTIMELINE_H
