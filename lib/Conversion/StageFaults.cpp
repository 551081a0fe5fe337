//===- StageFaults.cpp - what is wrong with stages before they run --------===//

#include "StageFaults.h"

#include "program/Collective.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

using zrt::Collective;
using zrt::Command;
using zrt::Opcode;
using zrt::Program;

std::optional<size_t> zrt::ringOf(const Program &program,
                                  const zrt::BufferRef &buffer) {
  const zrt::Pipeline &pipeline = program.pipeline;
  const size_t ring = pipeline.ringOf(buffer.offset, buffer.bytes);
  if (buffer.arena != zrt::Arena::Stash || ring == pipeline.rings.size())
    return std::nullopt;
  return ring;
}

std::string zrt::valueOf(const Command &command) {
  return command.label.substr(command.label.find(' ') + 1);
}

/// Whether the stage adds the gradient of a parameter up with another one.
static bool ties(const Program &stage, const std::string &parameter) {
  return std::any_of(stage.apply.commands.begin(), stage.apply.commands.end(),
                     [&](const Command &command) {
                       return command.opcode == Opcode::Start &&
                              isBetweenTwo(command.collective) &&
                              valueOf(command) ==
                                  "tied gradient of " + parameter;
                     });
}

/// What is wrong with `parameter`, which `other` has as well.
static std::string compareParameters(const Program &stage,
                                     const zrt::Parameter &parameter,
                                     const Program &other,
                                     const zrt::Parameter &same) {
  const auto isTrained = [](const Program &program,
                            const zrt::Parameter &which) {
    return program.partitions[size_t(which.partition)].trainable;
  };
  const std::string who = "stages " + std::to_string(stage.pipeline.stage) +
                          " and " + std::to_string(other.pipeline.stage) +
                          " have the parameter '" + parameter.name + "'";
  if (parameter.shape != same.shape || parameter.modelType != same.modelType)
    return who + " in different shapes or types";
  if (isTrained(stage, parameter) != isTrained(other, same))
    return who + ", and one of them trains it";
  if (isTrained(stage, parameter) &&
      !(ties(stage, parameter.name) && ties(other, parameter.name)))
    return who + ", and do not add up its gradients";
  return "";
}

/// All slots are in the arena of the stash.
static std::string findSlotFault(const Program &program) {
  uint64_t bytes = 0;
  for (const zrt::StashRing &ring : program.pipeline.rings)
    bytes += ring.bytes * ring.slots;
  const uint64_t known =
      program.arenaBytes[spaceOf(zrt::Arena::Stash, zrt::Tier::Device)];
  if (bytes <= known)
    return "";
  return "stage " + std::to_string(program.pipeline.stage) + " has slots of " +
         std::to_string(bytes) + " bytes in a stash of " +
         std::to_string(known);
}

/// What is stashed lies in one slot, and what is sent and not waited for in its
/// pass in the stash.
static std::string findStashFault(const Program &program) {
  std::string fault;
  for (const auto &[name, region] : program.regions()) {
    std::set<uint32_t> waited;
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Wait)
        waited.insert(command.ticket);
    for (const Command &command : region->commands) {
      const std::string what = "'" + command.label + "' in the region " + name +
                               " of stage " +
                               std::to_string(program.pipeline.stage);
      forEachBuffer(command, [&](const zrt::BufferRef &buffer) {
        if (buffer.arena == zrt::Arena::Stash && buffer.bytes > 0 &&
            !ringOf(program, buffer))
          fault = what + " has a buffer in no single slot of the stash";
      });
      const bool isCarried = command.opcode == Opcode::Start &&
                             command.collective == Collective::Send &&
                             !waited.count(command.ticket);
      if (isCarried && !ringOf(program, command.parts.front().send))
        fault = what + " sends after its pass what is not in the stash";
    }
  }
  return fault;
}

static std::string findParameterFault(const std::vector<Program> &stages) {
  std::map<std::string, std::pair<const Program *, const zrt::Parameter *>>
      known;
  for (const Program &stage : stages)
    for (const zrt::Parameter &parameter : stage.parameters) {
      const auto [first, isNew] =
          known.try_emplace(parameter.name, &stage, &parameter);
      if (isNew)
        continue;
      if (std::string fault = compareParameters(
              *first->second.first, *first->second.second, stage, parameter);
          !fault.empty())
        return fault;
    }
  return "";
}

/// The backward pass of an update's first micro-batch overwrites the gradients
/// of the one before, so that it comes before the others of its chunk.
static std::string findOrderFault(const Program &program) {
  std::set<uint32_t> begun;
  for (const zrt::Turn &turn : program.pipeline.order)
    if (turn.isBackward && begun.insert(turn.chunk).second && turn.micro != 0)
      return "stage " + std::to_string(program.pipeline.stage) +
             " begins with the " + program.describe(turn) +
             ", and micro-batch 0 overwrites its gradients later";
  return "";
}

std::string zrt::findStaticFault(const std::vector<Program> &stages) {
  std::string fault = findParameterFault(stages);
  for (size_t stage = 0; stage < stages.size() && fault.empty(); ++stage) {
    for (auto *find : {findSlotFault, findStashFault, findOrderFault})
      if (fault.empty())
        fault = find(stages[stage]);
    if (stages[stage].pipeline.stage != stage)
      fault = "stage " + std::to_string(stages[stage].pipeline.stage) +
              " is number " + std::to_string(stage) + " of all";
  }
  return fault;
}
