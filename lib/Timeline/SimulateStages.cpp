//===- SimulateStages.cpp - when each pass of a pipeline runs -------------===//

#include "zero/Timeline/StagesTimeline.h"

#include "program/Trace.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>

using namespace mlir;
using namespace mlir::zero;

/// Seconds in which what the region sends to a neighbouring stage is there.
static double sendSeconds(const zrt::Program &program,
                          const zrt::Region &region, const CostModel &model) {
  double seconds = 0;
  const GroupSpan span =
      spanOf(program, program.pipeline.group, model.getMachine());
  for (const zrt::Command &command : region.commands)
    if (command.opcode == zrt::Opcode::Start &&
        command.collective == zrt::Collective::Send)
      seconds += model.collectiveSeconds(
          command.collective,
          static_cast<double>(zrt::spannedBytes(command, 2)),
          command.parts.front().type, span);
  return seconds;
}

static StageSeconds measureStage(const zrt::Program &stage,
                                 const Machine &machine) {
  CostModel model(machine, stage.training.ranks);
  auto program = std::make_shared<const zrt::Program>(stage);
  StageSeconds seconds;
  auto measure = [&](const zrt::Region &region, double times) {
    Timeline timeline = measureRegion(program, region, model);
    seconds.shares.add(shareTime(timeline, machine), times);
    return timeline.stepSeconds();
  };
  const double micros = stage.training.accumulation;
  for (const auto &[forward, backward] :
       llvm::zip_equal(program->forward, program->backward)) {
    ChunkSeconds &chunk = seconds.chunks.emplace_back();
    seconds.forward += chunk.forward = measure(forward, micros);
    seconds.backward += chunk.backward = measure(backward, micros);
    chunk.send = sendSeconds(*program, forward, model);
    chunk.sendBack = sendSeconds(*program, backward, model);
  }
  seconds.update = measure(program->apply, 1);
  return seconds;
}

double StagesTimeline::bubble() const {
  double busy = 0;
  for (const PassTime &pass : passes)
    busy += pass.end - pass.begin;
  double all = passSeconds * static_cast<double>(stages.size());
  return all > 0 ? 1 - busy / all : 0;
}

TimeShares StagesTimeline::shares() const {
  TimeShares mean;
  for (const StageSeconds &stage : stages)
    mean.add(stage.shares, 1 / static_cast<double>(stages.size()));
  // In what is left of it, a stage waits.
  mean.seconds[static_cast<int>(Limit::Stages)] +=
      std::max(0.0, seconds - mean.all());
  return mean;
}

namespace {

/// Passes that are over, and the stages' own clocks.
class Passes {
public:
  Passes(const std::vector<zrt::Program> &programs, StagesTimeline &timeline)
      : programs(programs), timeline(timeline), next(programs.size()),
        clocks(programs.size()) {}

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t stage = 0; stage < programs.size(); ++stage)
        while (advance(stage))
          moved = true;
    }
  }

private:
  /// Stage, chunk, micro-batch and direction.
  using Key = std::tuple<size_t, uint32_t, uint32_t, bool>;

  /// When the stage has what a pass reads of a neighbour; nothing while that
  /// is not known. Chunk c of stage s is part c p + s of the model.
  std::optional<double> arrival(uint32_t stage, const zrt::Turn &turn) const {
    const size_t part = turn.chunk * programs.size() + stage,
                 last = programs[stage].forward.size() * programs.size() - 1;
    if (part == (turn.isBackward ? last : 0))
      return 0;
    const size_t before = turn.isBackward ? part + 1 : part - 1;
    const size_t neighbour = before % programs.size();
    const auto chunk = static_cast<uint32_t>(before / programs.size());
    auto found = ends.find({neighbour, chunk, turn.micro, turn.isBackward});
    if (found == ends.end())
      return std::nullopt;
    const ChunkSeconds &from = timeline.stages[neighbour].chunks[chunk];
    return found->second + (turn.isBackward ? from.sendBack : from.send);
  }

  bool advance(uint32_t stage) {
    const std::vector<zrt::Turn> &order = programs[stage].pipeline.order;
    if (next[stage] == order.size())
      return false;
    const zrt::Turn &turn = order[next[stage]];
    std::optional<double> there = arrival(stage, turn);
    if (!there)
      return false;
    const ChunkSeconds &seconds = timeline.stages[stage].chunks[turn.chunk];
    PassTime pass{stage,
                  turn.chunk,
                  turn.micro,
                  turn.isBackward,
                  std::max(clocks[stage], *there),
                  0};
    pass.end =
        pass.begin + (turn.isBackward ? seconds.backward : seconds.forward);
    clocks[stage] = pass.end;
    ends[{stage, turn.chunk, turn.micro, turn.isBackward}] = pass.end;
    timeline.passes.push_back(pass);
    timeline.passSeconds = std::max(timeline.passSeconds, pass.end);
    ++next[stage];
    return true;
  }

  const std::vector<zrt::Program> &programs;
  StagesTimeline &timeline;
  std::vector<size_t> next;
  std::vector<double> clocks;
  std::map<Key, double> ends;
};

} // namespace

StagesTimeline
mlir::zero::simulateStages(const std::vector<zrt::Program> &programs,
                           const Machine &machine) {
  StagesTimeline timeline;
  double update = 0;
  for (const zrt::Program &program : programs) {
    timeline.stages.push_back(measureStage(program, machine));
    update = std::max(update, timeline.stages.back().update);
  }
  Passes(programs, timeline).run();
  // All stages meet in the norm of the gradients.
  timeline.seconds = timeline.passSeconds + update;
  return timeline;
}
