//===- TimeShares.cpp - what an update's time is spent on -----------------===//

#include "zero/Timeline/TimeShares.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zero;

StringRef mlir::zero::describeLimit(Limit limit) {
  static constexpr std::array<StringLiteral, kLimits> names = {
      "arithmetic",
      "memory",
      "launches of kernels",
      "updates of parameters",
      "the links of a node",
      "the network between nodes",
      "the bus to the host's memory",
      "updates on the host",
      "files",
      "other stages"};
  return names[static_cast<int>(limit)];
}

double TimeShares::all() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

void TimeShares::add(const TimeShares &others, double times) {
  for (auto [sum, seconds] : llvm::zip_equal(this->seconds, others.seconds))
    sum += times * seconds;
}

SmallVector<Limit> TimeShares::inOrder() const {
  SmallVector<Limit> limits;
  for (int index = 0; index < kLimits; ++index)
    if (seconds[index] > 0)
      limits.push_back(static_cast<Limit>(index));
  llvm::stable_sort(limits, [&](Limit a, Limit b) { return of(a) > of(b); });
  return limits;
}

/// What a wait for `started` is a wait for.
static Limit limitOf(const zrt::Command &started, const zrt::Program &program,
                     const Machine &machine) {
  switch (started.stream) {
  case zrt::Stream::Copy:
  case zrt::Stream::Upload:
    return Limit::Bus;
  case zrt::Stream::Host:
    return Limit::HostWork;
  case zrt::Stream::Read:
  case zrt::Stream::Write:
    return Limit::Files;
  case zrt::Stream::Compute:
  case zrt::Stream::Gather:
  case zrt::Stream::Reduce:
  case zrt::Stream::Exchange:
    break;
  }
  const GroupSpan group = spanOf(program, started.group, machine);
  return group.local < group.ranks ? Limit::Network : Limit::NodeLinks;
}

/// Adds `seconds` of a kernel of a micro-batch.
static void addKernel(const zrt::KernelSpec &spec, double seconds,
                      int64_t localRanks, const Machine &machine,
                      TimeShares &shares) {
  const RooflineSides sides = machine.sidesOf(spec, localRanks);
  const double whole = machine.kernelOverhead + sides.seconds();
  const double launch =
      whole > 0 ? seconds * machine.kernelOverhead / whole : 0.0;
  const Limit limit =
      sides.arithmetic > sides.memory ? Limit::Arithmetic : Limit::Memory;
  shares.seconds[static_cast<int>(Limit::Launches)] += launch;
  shares.seconds[static_cast<int>(limit)] += seconds - launch;
}

TimeShares mlir::zero::shareTime(const Timeline &timeline,
                                 const Machine &machine) {
  const zrt::Program &program = *timeline.program;
  const int64_t local = machine.localRanks(program.training.ranks);
  TimeShares shares;
  for (const TimelineEvent &event : timeline.events) {
    const double begin = std::max(event.begin, timeline.begin);
    const double seconds = std::min(event.end, timeline.end) - begin;
    if (event.stream != zrt::Stream::Compute || seconds <= 0)
      continue;
    auto add = [&](Limit limit) {
      shares.seconds[static_cast<int>(limit)] += seconds;
    };
    if (event.holdsUpCompute())
      add(limitOf(event.started ? *event.started : *event.command, program,
                  machine));
    else if (event.region == TimedRegion::Apply)
      add(Limit::Updates);
    else
      addKernel(program.kernels[event.command->kernel], seconds, local, machine,
                shares);
  }
  return shares;
}
