//===- PlanTimes.cpp - when the buffers of a plan are used ----------------===//

#include "PlanTimes.h"

#include "zero/Conversion/Translate.h"
#include "zero/Memory/LineBuffers.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zero;

PlanTimes::PlanTimes(ModuleOp module, const Timeline &timeline,
                     const DenseMap<Operation *, size_t> &firstCommands)
    : timeline(timeline), module(module),
      step(*module.getOps<StepOp>().begin()), firstCommands(firstCommands) {
  int64_t last = timeline.program->training.accumulation - 1;
  for (const RegionTime &region : listRegions(timeline))
    if (region.update == 1 && region.micro >= 0 &&
        (region.region == TimedRegion::Apply || region.micro == last))
      regions.push_back(region);
  begin = regions.front().begin;
  end = regions.back().end;
}

std::string PlanTimes::nameOf(const RegionTime &region) const {
  int32_t micros = timeline.program->training.accumulation;
  if (region.region != TimedRegion::Micro)
    return region.getName();
  return micros > 1 ? "last of " + std::to_string(micros) + " micro-batches"
                    : "micro-batch";
}

bool PlanTimes::isSmall(MemorySpace space) const {
  constexpr double kSmallPart = 1e-4;
  const auto &arenas = timeline.program->arenaBytes;
  const double all = std::accumulate(std::begin(arenas), std::end(arenas), 0.0);
  return double(arenas[space.index()]) < kSmallPart * all;
}

SmallVector<TimedBuffer> PlanTimes::listStates(MemorySpace space) const {
  SmallVector<TimedBuffer> states;
  StepOp step = this->step;
  auto add = [&](std::string name, Attribute attribute) {
    auto place = dyn_cast_or_null<AtAttr>(attribute);
    if (place && place.getSpace() == space)
      states.push_back({std::move(name), place, begin, end});
  };
  for (PartitionOp partition : ModuleOp(module).getOps<PartitionOp>())
    for (const auto &[name, place] : partition.getPlaces())
      add((name + " of @" + partition.getSymName()).str(), place);
  if (space == ArenaKind::Inputs)
    for (auto [index, place] :
         llvm::enumerate(step->getAttrOfType<ArrayAttr>(kPlaces)))
      add("input " + std::to_string(index), place);
  return states;
}

/// Appends when each operation of a region's block is issued: at the begin of
/// the next command that computes.
void PlanTimes::addTimes(Block &block, SmallVectorImpl<double> &times) const {
  TimedRegion kind = isa<ApplyOp>(block.getParentOp()) ? TimedRegion::Apply
                                                       : TimedRegion::Micro;
  const RegionTime &time = *llvm::find_if(
      regions, [&](const RegionTime &time) { return time.region == kind; });
  const zrt::Region &commands =
      kind == TimedRegion::Micro ? timeline.program->regionOfMicro(time.micro)
                                 : timeline.program->apply;
  std::vector<double> issued(commands.commands.size() + 1, -1);
  issued.back() = time.end;
  for (const TimelineEvent &event : timeline.events)
    if (event.stream == zrt::Stream::Compute && event.update == time.update &&
        event.region == kind && event.micro == time.micro)
      issued[event.command - commands.commands.data()] = event.begin;
  for (size_t i = issued.size() - 1; i-- > 0;)
    if (issued[i] < 0)
      issued[i] = issued[i + 1];
  for (Operation &op : block)
    times.push_back(issued[firstCommands.lookup(&op)]);
}

SmallVector<TimedBuffer> PlanTimes::listBuffers(MemorySpace space) const {
  StepOp step = this->step;
  Handles handles(step);
  SmallVector<TimedBuffer> buffers;
  for (const SmallVector<Block *> &line : getTimelines(step)) {
    if (!isa<ApplyOp>(line.back()->getParentOp()))
      continue;
    SmallVector<double> times;
    for (Block *block : line)
      addTimes(*block, times);
    times.push_back(end);
    for (PlacedBuffer &buffer : listLineBuffers(line, handles))
      if (buffer.place.getSpace() == space && buffer.begin <= buffer.end)
        buffers.push_back({std::move(buffer.name), buffer.place,
                           times[buffer.begin], times[buffer.end + 1]});
  }
  return buffers;
}

FailureOr<TimedPlan> mlir::zero::timePlan(ModuleOp planned,
                                          const Machine &machine) {
  TimedPlan timed;
  FailureOr<zrt::Program> program =
      translateToProgram(planned, &timed.firstCommands);
  if (failed(program))
    return failure();
  CostModel model(machine, program->training.ranks);
  timed.timeline =
      simulate(std::make_shared<zrt::Program>(std::move(*program)), model);
  return std::move(timed);
}
