//===- PredictedTrace.cpp - the predicted timeline as a trace -------------===//

#include "PredictedTrace.h"

#include "program/Trace.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

std::string RegionTime::getName() const {
  if (micro < 0)
    return "update " + std::to_string(update + 1);
  return region == TimedRegion::Micro ? "micro-batch " + std::to_string(micro)
                                      : "apply";
}

SmallVector<RegionTime> mlir::zero::listRegions(const Timeline &timeline) {
  SmallVector<RegionTime> times;
  size_t update = 0;
  for (const TimelineEvent &event : timeline.events) {
    if (event.stream != zrt::Stream::Compute)
      continue;
    if (times.empty() || times[update].update != event.update) {
      update = times.size();
      times.push_back(
          {TimedRegion::Micro, event.update, -1, event.begin, event.end});
    }
    const RegionTime &last = times.back();
    if (last.micro < 0 || last.region != event.region ||
        last.micro != event.micro)
      times.push_back(
          {event.region, event.update, event.micro, event.begin, event.end});
    times[update].end = times.back().end = event.end;
  }
  return times;
}

std::string mlir::zero::describeEvent(const Timeline &timeline,
                                      const TimelineEvent &event) {
  if (event.isWait())
    return "wait for " + zrt::titleOf(*timeline.program, *event.started);
  return zrt::titleOf(*timeline.program, *event.command);
}

std::string mlir::zero::formatTrace(const Timeline &timeline) {
  std::string events;
  zrt::TraceWriter writer(*timeline.program, events);
  writer.addRank(0, "rank 0, predicted");
  auto timeOf = [](double begin, double end, int64_t update, int64_t micro) {
    return zrt::TraceTime{begin, end, update + 1, micro};
  };
  for (const RegionTime &region : listRegions(timeline))
    writer.addRegion(0, region.getName(),
                     timeOf(region.begin, region.end, region.update,
                            std::max<int64_t>(region.micro, 0)));
  for (const TimelineEvent &event : timeline.events) {
    zrt::TraceTime time =
        timeOf(event.begin, event.end, event.update, event.micro);
    if (event.isWait() && event.end > event.begin)
      writer.addWait(0, *event.command, *event.started, time);
    if (event.isWait())
      continue;
    writer.addCommand(0, event.stream, *event.command, time);
    time.begin = time.end = event.issued;
    writer.addSubmit(0, *event.command, time);
  }
  return zrt::traceFile({events});
}
