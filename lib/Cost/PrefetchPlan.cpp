//===- PrefetchPlan.cpp - how early gathers start -------------------------===//

#include "zero/Cost/PrefetchPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Statistic.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

#define DEBUG_TYPE "zero-prefetch"
ALWAYS_ENABLED_STATISTIC(numStarts, "Waits before which a gather might start");
ALWAYS_ENABLED_STATISTIC(numEvents, "Events of blocks that were simulated");

/// What a gather gets beside its own time, as a part of it: predictions are not
/// exact, and links that idle cost more than elements that come too early.
static constexpr double kSpare = 0.5;

SmallVector<int64_t> mlir::zero::elementsHeld(ArrayRef<GatherUse> gathers) {
  SmallVector<int64_t> held(gathers.size() + 1, 0);
  for (size_t index = 0; index < gathers.size(); ++index) {
    const GatherUse &gather = gathers[index];
    auto next = gathers.drop_front(index + 1);
    auto after = llvm::partition_point(next, [&](const GatherUse &other) {
      return other.neededAt <= gather.lastUse;
    });
    held[index + 1] += gather.elements;
    held[index + 1 + (after - next.begin())] -= gather.elements;
  }
  for (size_t index = 1; index < held.size(); ++index)
    held[index] += held[index - 1];
  return held;
}

SmallVector<size_t> mlir::zero::startEarly(ArrayRef<GatherUse> gathers,
                                           const PrefetchLimits &limits) {
  SmallVector<int64_t> held = elementsHeld(gathers);
  // At each wait: gathers that have started by then and are waited for later.
  SmallVector<int64_t> started(gathers.size(), 0), ahead(gathers.size(), 0);
  auto fits = [&](const GatherUse &gather, size_t wait) {
    ++numStarts;
    // As DeepSpeed does, `ahead` is compared before the gather is added to it:
    // one that is larger than the limit is gathered ahead by itself.
    return (!limits.inFlight || started[wait] + 2 <= limits.inFlight) &&
           ahead[wait] < limits.ahead &&
           held[wait] + gathers[wait].elements + ahead[wait] +
                   gather.elements <=
               limits.live;
  };
  SmallVector<size_t> before;
  size_t earliest = 0;
  for (auto [index, gather] : llvm::enumerate(gathers)) {
    size_t start = index;
    for (; start > earliest && gathers[start - 1].neededAt > gather.readyAt &&
           fits(gather, start - 1);
         --start) {
      ++started[start - 1];
      ahead[start - 1] += gather.elements;
    }
    before.push_back(earliest = start);
  }
  return before;
}

namespace {

/// A block as it runs: when compute comes to each gather's wait, and goes on;
/// and when the links are rid of what began before it and is no gather.
struct BlockRun {
  SmallVector<double> reached, passed, cleared;
  double end = 0;

  /// When a gather that starts before a wait can have the links.
  double begin(size_t wait) const {
    return std::max(reached[wait], cleared[wait]);
  }
};

class BlockSimulation {
public:
  BlockSimulation(ArrayRef<GatherUse> gathers, const BlockSeconds &seconds);
  BlockRun run(ArrayRef<size_t> before) const;

private:
  enum class Kind { OtherStart, OtherWait, Gather };
  struct Event {
    int64_t position;
    Kind kind;
    size_t index;
  };

  ArrayRef<GatherUse> gathers;
  const BlockSeconds &seconds;
  SmallVector<Event> events; ///< by position
};

} // namespace

BlockSimulation::BlockSimulation(ArrayRef<GatherUse> gathers,
                                 const BlockSeconds &seconds)
    : gathers(gathers), seconds(seconds) {
  for (auto [index, gather] : llvm::enumerate(gathers))
    events.push_back({gather.neededAt, Kind::Gather, index});
  for (auto [index, other] : llvm::enumerate(seconds.others)) {
    events.push_back({other.startsAt, Kind::OtherStart, index});
    if (other.neededAt)
      events.push_back({*other.neededAt, Kind::OtherWait, index});
  }
  llvm::stable_sort(events, [](const Event &a, const Event &b) {
    return a.position < b.position;
  });
}

BlockRun BlockSimulation::run(ArrayRef<size_t> before) const {
  BlockRun run;
  SmallVector<double> ends, otherEnds(seconds.others.size(), 0);
  double now = 0, linkFree = 0, cleared = 0;
  int64_t position = 0;
  numEvents += events.size();
  for (const Event &event : events) {
    now += seconds.kernels[event.position] - seconds.kernels[position];
    position = event.position;
    if (event.kind == Kind::OtherWait) {
      now = std::max(now, otherEnds[event.index]);
    } else if (event.kind == Kind::OtherStart) {
      // It shares the links with the gathers that are on them.
      double own = seconds.others[event.index].seconds;
      double queue = std::max(linkFree - now, 0.0);
      otherEnds[event.index] = now + own + std::min(own, queue);
      linkFree = std::max(linkFree, now) + own;
      cleared = std::max(cleared, now) + own;
    } else {
      run.reached.push_back(now);
      run.cleared.push_back(cleared);
      while (ends.size() < gathers.size() &&
             before[ends.size()] <= event.index) {
        linkFree = std::max(linkFree, now) + gathers[ends.size()].seconds;
        ends.push_back(linkFree);
      }
      now = std::max(now, ends[event.index]);
      run.passed.push_back(now);
    }
  }
  run.end = now + seconds.kernels.back() - seconds.kernels[position];
  return run;
}

/// By gather: seconds of the other collectives that start before its wait.
static SmallVector<double> secondsOfOthers(ArrayRef<GatherUse> gathers,
                                           const BlockSeconds &seconds) {
  SmallVector<double> sums;
  double sum = 0;
  ArrayRef<OtherCollective> rest = seconds.others;
  for (const GatherUse &gather : gathers) {
    for (; !rest.empty() && rest.front().startsAt < gather.neededAt;
         rest = rest.drop_front())
      sum += rest.front().seconds;
    sums.push_back(sum);
  }
  return sums;
}

/// As late as leaves no wait longer than in `run`, which is with `before`.
static void delay(ArrayRef<GatherUse> gathers, MutableArrayRef<size_t> before,
                  const BlockRun &run, const BlockSeconds &seconds) {
  SmallVector<double> others = secondsOfOthers(gathers, seconds);
  double nextStart = std::numeric_limits<double>::infinity();
  size_t nextBefore = gathers.size();
  for (size_t index = gathers.size(); index-- > 0;) {
    const GatherUse &gather = gathers[index];
    double end = std::min(run.passed[index], nextStart);
    size_t start = std::min(index, nextBefore);
    auto latestStart = [&] {
      return end - gather.seconds - (others[index] - others[start]);
    };
    while (start > before[index] &&
           run.begin(start) > latestStart() - kSpare * gather.seconds)
      --start;
    before[index] = nextBefore = start;
    nextStart = std::max(latestStart(), run.begin(start));
  }
}

SmallVector<size_t> mlir::zero::startInTime(ArrayRef<GatherUse> gathers,
                                            PrefetchLimits limits,
                                            const BlockSeconds &seconds) {
  int64_t most = limits.inFlight ? limits.inFlight : gathers.size();
  limits.inFlight = most;
  SmallVector<size_t> before = startEarly(gathers, limits);
  BlockSimulation simulation(gathers, seconds);
  BlockRun run = simulation.run(before);
  double enough = run.end * (1 + kTolerance);
  for (int64_t count = 1; count < most;
       count += std::max<int64_t>(1, count / 4)) {
    limits.inFlight = count;
    SmallVector<size_t> fewer = startEarly(gathers, limits);
    BlockRun slower = simulation.run(fewer);
    if (slower.end > enough)
      continue;
    before = std::move(fewer);
    run = std::move(slower);
    break;
  }
  delay(gathers, before, run, seconds);
  return before;
}

/// Where the most elements are live: held, needed now, and started early.
static int64_t mostElements(ArrayRef<GatherUse> gathers,
                            ArrayRef<size_t> before) {
  SmallVector<int64_t> held = elementsHeld(gathers);
  int64_t most = 0, started = 0;
  size_t next = 0;
  for (auto [index, gather] : llvm::enumerate(gathers)) {
    for (; next < gathers.size() && before[next] <= index; ++next)
      started += gathers[next].elements;
    most = std::max(most, held[index] + started);
    started -= gather.elements;
  }
  return most;
}

BlockTotals mlir::zero::runInTime(ArrayRef<GatherUse> gathers,
                                  const PrefetchLimits &limits,
                                  const BlockSeconds &seconds) {
  SmallVector<size_t> before = startInTime(gathers, limits, seconds);
  return {BlockSimulation(gathers, seconds).run(before).end,
          mostElements(gathers, before)};
}
