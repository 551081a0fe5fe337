//===- PredictedTrace.h - the predicted timeline as a trace ---------------===//
#ifndef ZERO_PLAN_PREDICTEDTRACE_H
#define ZERO_PLAN_PREDICTEDTRACE_H

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// When a region ran; the update, where `micro` is -1.
struct RegionTime {
  TimedRegion region = TimedRegion::Micro;
  int64_t update = 0, micro = -1;
  double begin = 0, end = 0;

  std::string getName() const;
};

/// The updates of a timeline, each before its regions, by the commands on the
/// compute stream.
SmallVector<RegionTime> listRegions(const Timeline &timeline);

/// What a person reads of an event: of a kernel its name, of a collective what
/// it moves and the axes over which it does, also where it is waited for.
std::string describeEvent(const Timeline &timeline, const TimelineEvent &event);

/// The text of a trace file with the timeline as the process of rank 0.
std::string formatTrace(const Timeline &timeline);

} // namespace mlir::zero

#endif // ZERO_PLAN_PREDICTEDTRACE_H
