//===- SimulateStages.cpp - when each pass of a pipeline runs -------------===//

#include "zero/Timeline/StagesTimeline.h"

#include "program/Trace.h"

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
  seconds.forward = measureRegion(program, program->forward, model);
  seconds.backward = measureRegion(program, program->micro, model);
  seconds.update = measureRegion(program, program->apply, model);
  seconds.send = sendSeconds(*program, program->forward, model);
  seconds.sendBack = sendSeconds(*program, program->micro, model);
  return seconds;
}

double StagesTimeline::bubble() const {
  double busy = 0;
  for (const PassTime &pass : passes)
    busy += pass.end - pass.begin;
  double all = passSeconds * static_cast<double>(stages.size());
  return all > 0 ? 1 - busy / all : 0;
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
  using Key = std::tuple<uint32_t, uint32_t, bool>;

  /// When the stage has what a pass reads of a neighbour; nothing while that
  /// is not known.
  std::optional<double> arrival(uint32_t stage, const zrt::Turn &turn) const {
    const bool isFirst =
        turn.isBackward ? stage + 1 == programs.size() : stage == 0;
    if (isFirst)
      return 0;
    const uint32_t neighbour = turn.isBackward ? stage + 1 : stage - 1;
    auto found = ends.find({neighbour, turn.micro, turn.isBackward});
    if (found == ends.end())
      return std::nullopt;
    const StageSeconds &from = timeline.stages[neighbour];
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
    const StageSeconds &seconds = timeline.stages[stage];
    PassTime pass{stage, turn.micro, turn.isBackward,
                  std::max(clocks[stage], *there), 0};
    pass.end =
        pass.begin + (turn.isBackward ? seconds.backward : seconds.forward);
    clocks[stage] = pass.end;
    ends[{stage, turn.micro, turn.isBackward}] = pass.end;
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
