//===- VerifyStages.cpp - the programs of a pipeline, proven together -----===//
//
// All stages run their tables side by side, each command of a transfer as the
// runtime does it: a send does not wait, a receive gets the next message of its
// neighbour on its lane, a wait waits; a collective of ranks in all stages is
// over once all have started it. Two updates, since a pass may wait for what
// one of the update before has sent. What several stages have of one name is
// one parameter.
//
//===----------------------------------------------------------------------===//

#include "zero/Conversion/VerifyStages.h"

#include "StageContents.h"
#include "StageFaults.h"
#include "StageMemory.h"
#include "StageQueues.h"

#include "program/Collective.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

using zrt::Collective;
using zrt::Command;
using zrt::Opcode;
using zrt::Program;

namespace {

/// What is sent: of which micro-batch, and what a person calls it.
struct Message {
  std::string name;
  uint32_t micro = 0;
  uint64_t count = 0;
  zrt::DataType type = zrt::DataType::F32;
  bool isTaken = false;
};

/// Messages from one stage to another on one lane, all that were ever sent.
struct Channel {
  std::vector<Message> messages;
  size_t expected = 0; ///< receives that were started
};

/// A send, a receive or a collective of all stages that a stage has started.
struct Started {
  bool isSend = false, isOfAll = false;
  size_t from = 0, to = 0, number = 0;
  const Command *command = nullptr;
  /// The slot of a ring of the stash that is sent from.
  std::optional<std::pair<size_t, uint32_t>> source;
};

/// One pass of a stage; what is no pass of a micro-batch has no turn.
struct Pass {
  const zrt::Region *region = nullptr;
  const char *name = nullptr; ///< of one without a turn
  std::optional<zrt::Turn> turn;
  uint32_t slot = 0; ///< whose operations are its own
  /// What its commands do to memory is looked at: in each slot of the first two
  /// micro-batches, of which the second finds what the first still sends.
  /// Passes of later ones do the same in the same slots, and wait in the same
  /// places.
  bool showsMemory = true;

  uint32_t micro() const { return turn ? turn->micro : 0; }
};

/// The slots of the stash that hold what passes of one chunk leave for others.
struct Ring {
  /// The regions of a micro-batch that use the ring, the first and the last.
  std::set<const zrt::Region *> users;
  const zrt::Region *first = nullptr, *last = nullptr;
  /// The micro-batch whose first pass has filled a slot.
  std::vector<std::optional<uint32_t>> slots;
};

struct Stage {
  const Program *program = nullptr;
  std::vector<Pass> passes;
  size_t pass = 0, command = 0;
  bool isInPass = false;
  /// By slot and ticket.
  std::map<std::pair<uint32_t, uint32_t>, Started> started;
  zrt::TransferMemory inFlight;
  zrt::StashContents contents;
  std::vector<Ring> rings;
  /// Slots that the pass fills anew, and from which something is still sent.
  std::vector<std::pair<size_t, uint32_t>> sentFrom;
  /// The collectives of ranks in all stages that it has started.
  std::vector<const Command *> ofAll;

  bool isDone() const { return pass == passes.size(); }
};

class Simulation {
public:
  explicit Simulation(const std::vector<Program> &programs);
  /// "", or what is wrong.
  std::string run();

private:
  bool advance(size_t stage);
  bool visit(size_t stage, const Pass &pass, const Command &command);
  void start(size_t stage, const Pass &pass, const Command &command);
  void startOfAll(size_t stage, const Pass &pass, const Command &command);
  bool wait(size_t stage, const Pass &pass, Started &started);
  bool waitForAll(size_t stage, const Pass &pass, const Started &started);
  void enter(Stage &stage, const Pass &pass);
  void fill(Stage &stage, const Pass &pass, size_t ring);
  void checkSent(size_t stage, const Pass &pass, const Command &command);
  std::string describe(size_t stage) const;
  std::string nameOf(size_t stage, const Pass &pass) const;

  std::vector<Stage> stages;
  std::map<std::tuple<size_t, size_t, uint32_t>, Channel> channels;
  std::string error;
};

} // namespace

/// The rings with the first and the last pass that use them. Inputs are filled
/// before the first of all passes.
static std::vector<Ring> findRings(const Program &program) {
  std::vector<Ring> rings;
  for (const zrt::StashRing &ring : program.pipeline.rings)
    rings.emplace_back().slots.resize(ring.slots);
  rings.front().first = &program.forward.front();
  rings.front().last = &program.backward.front();
  auto visit = [&](const zrt::Region &region) {
    for (const Command &command : region.commands)
      zrt::forEachBuffer(command, [&](const zrt::BufferRef &buffer) {
        std::optional<size_t> ring = zrt::ringOf(program, buffer);
        if (!ring)
          return;
        rings[*ring].users.insert(&region);
        if (*ring == 0)
          return;
        if (!rings[*ring].first)
          rings[*ring].first = &region;
        rings[*ring].last = &region;
      });
  };
  for (const zrt::Region &region : program.forward)
    visit(region);
  for (auto region = program.backward.rbegin();
       region != program.backward.rend(); ++region)
    visit(*region);
  return rings;
}

Simulation::Simulation(const std::vector<Program> &programs) {
  for (const Program &program : programs) {
    Stage &stage = stages.emplace_back();
    stage.program = &program;
    stage.rings = findRings(program);
    for (int update = 0; update < 2; ++update) {
      for (const zrt::Turn &turn : program.pipeline.order)
        stage.passes.push_back(
            {&program.regionOf(turn), nullptr, turn,
             program.pipeline.slotOf(turn),
             uint64_t(update) * program.training.accumulation + turn.micro <
                 2 * program.pipeline.period()});
      stage.passes.push_back({&program.apply, "update", std::nullopt});
    }
    stage.passes.push_back({&program.evaluate, "evaluation", std::nullopt});
  }
}

std::string Simulation::nameOf(size_t stage, const Pass &pass) const {
  return "stage " + std::to_string(stage) + " in the " +
         (pass.turn ? stages[stage].program->describe(*pass.turn) : pass.name);
}

/// A slot that is filled anew may be written once all that was sent from it is
/// taken.
void Simulation::fill(Stage &stage, const Pass &pass, size_t ring) {
  const auto slots = uint32_t(stage.rings[ring].slots.size());
  const std::pair slot(ring, pass.micro() % slots);
  for (const auto &[ticket, started] : stage.started)
    if (started.source == slot)
      stage.sentFrom.push_back(slot);
}

/// Each slot is filled by the first pass of a micro-batch that uses its ring,
/// and holds what the others of the same micro-batch read until the last of
/// them.
void Simulation::enter(Stage &stage, const Pass &pass) {
  stage.sentFrom.clear();
  if (!pass.turn)
    return;
  const auto where = [&] { return nameOf(&stage - stages.data(), pass); };
  for (size_t number = 0; number < stage.rings.size(); ++number) {
    Ring &ring = stage.rings[number];
    const size_t slot = pass.micro() % ring.slots.size();
    std::optional<uint32_t> &holds = ring.slots[slot];
    if (pass.region == ring.first) {
      if (holds)
        error = where() + " writes slot " + std::to_string(slot) +
                ", which still holds micro-batch " + std::to_string(*holds);
      holds = pass.micro();
      stage.contents.fill(*stage.program, number, pass.micro());
      fill(stage, pass, number);
    } else if (holds != pass.micro() &&
               (ring.users.count(pass.region) || pass.region == ring.last)) {
      error = where() + " reads slot " + std::to_string(slot) +
              ", which holds " +
              (holds ? "micro-batch " + std::to_string(*holds) : "nothing");
    }
    if (pass.region == ring.last)
      holds.reset();
  }
}

/// A command touches no slot from which something is still sent that another
/// micro-batch has left there.
void Simulation::checkSent(size_t number, const Pass &pass,
                           const Command &command) {
  Stage &stage = stages[number];
  zrt::forEachBuffer(command, [&](const zrt::BufferRef &buffer) {
    const std::optional<size_t> ring = zrt::ringOf(*stage.program, buffer);
    for (const auto &[sent, slot] : stage.sentFrom)
      if (ring == sent)
        error = nameOf(number, pass) + ": '" + command.label + "' uses slot " +
                std::to_string(slot) +
                " of the stash, from which another micro-batch is still sent";
  });
}

void Simulation::start(size_t stage, const Pass &pass, const Command &command) {
  const zrt::CollectivePart &part = command.parts.front();
  const bool isSend = command.collective == Collective::Send;
  const auto peer = static_cast<size_t>(part.root);
  if (peer >= stages.size() || peer == stage) {
    error = nameOf(stage, pass) + ": '" + command.label + "' is with stage " +
            std::to_string(part.root) + " of " + std::to_string(stages.size());
    return;
  }
  Started started;
  started.isSend = isSend;
  started.from = isSend ? stage : peer;
  started.to = isSend ? peer : stage;
  started.command = &command;
  const Program &program = *stages[stage].program;
  if (std::optional<size_t> ring = zrt::ringOf(program, part.send);
      isSend && ring)
    started.source.emplace(
        *ring,
        pass.micro() % uint32_t(stages[stage].rings[*ring].slots.size()));
  Channel &channel = channels[{started.from, started.to, part.lane}];
  started.number = isSend ? channel.messages.size() : channel.expected++;
  if (isSend)
    channel.messages.push_back(
        {zrt::valueOf(command), pass.micro(), part.count, part.type});
  stages[stage].inFlight.start(program, {pass.slot, command.ticket}, command,
                               pass.micro());
  const auto [other, isNew] =
      stages[stage].started.try_emplace({pass.slot, command.ticket}, started);
  if (!isNew)
    error = nameOf(stage, pass) + ": '" + command.label +
            "' is started again before it was waited for";
}

/// Whether ranks in several stages run a collective together.
static bool isOfAll(const Program &program, const Command &command) {
  return command.opcode == Opcode::Start && !isBetweenTwo(command.collective) &&
         program.mesh.meet(command.group, program.pipeline.group);
}

void Simulation::startOfAll(size_t number, const Pass &pass,
                            const Command &command) {
  Stage &stage = stages[number];
  Started started;
  started.isOfAll = true;
  started.number = stage.ofAll.size();
  started.command = &command;
  stage.ofAll.push_back(&command);
  stage.started.insert_or_assign({pass.slot, command.ticket}, started);
}

/// "all-reduce of 8 x f64 over all ranks"
static std::string describeCollective(const Program &program,
                                      const Command &command) {
  std::string text = zrt::nameOf(command.collective);
  for (const zrt::CollectivePart &part : command.parts)
    text += " of " + std::to_string(part.count) + " x " + nameOf(part.type);
  return text + " over " + program.mesh.nameOf(command.group);
}

/// Whether all stages have started what `started` is, which has to be the same.
bool Simulation::waitForAll(size_t number, const Pass &pass,
                            const Started &started) {
  const std::string own =
      describeCollective(*stages[number].program, *started.command);
  for (const Stage &stage : stages) {
    if (stage.ofAll.size() <= started.number)
      return false;
    const std::string other =
        describeCollective(*stage.program, *stage.ofAll[started.number]);
    if (other != own)
      error = nameOf(number, pass) + ": an " + own + " meets an " + other +
              " of stage " + std::to_string(&stage - stages.data());
  }
  return true;
}

/// Whether it is over.
bool Simulation::wait(size_t stage, const Pass &pass, Started &started) {
  const zrt::CollectivePart &part = started.command->parts.front();
  Channel &channel = channels[{started.from, started.to, part.lane}];
  if (started.number >= channel.messages.size())
    return false;
  Message &message = channel.messages[started.number];
  if (started.isSend)
    return message.isTaken;
  if (message.name != zrt::valueOf(*started.command) ||
      message.micro != pass.micro() || message.count != part.count ||
      message.type != part.type)
    error = nameOf(stage, pass) + ": '" + started.command->label + "' of " +
            std::to_string(part.count) + " elements gets '" + message.name +
            "' of micro-batch " + std::to_string(message.micro) + ", of " +
            std::to_string(message.count) + " elements";
  return message.isTaken = true;
}

bool Simulation::visit(size_t stage, const Pass &pass, const Command &command) {
  if (!stages[stage].sentFrom.empty() && command.opcode != Opcode::Wait)
    checkSent(stage, pass, command);
  std::string misuse;
  if (pass.showsMemory)
    misuse = stages[stage].inFlight.findMisuse(*stages[stage].program, command,
                                               pass.micro());
  if (pass.turn && pass.showsMemory && misuse.empty())
    misuse = stages[stage].contents.visit(*stages[stage].program, command,
                                          pass.micro());
  if (!misuse.empty())
    error = nameOf(stage, pass) + ": '" + command.label + "' " + misuse;
  if (command.opcode == Opcode::Start && isBetweenTwo(command.collective))
    return start(stage, pass, command), true;
  if (isOfAll(*stages[stage].program, command))
    return startOfAll(stage, pass, command), true;
  if (command.opcode != Opcode::Wait)
    return true;
  auto &known = stages[stage].started;
  const auto found = known.find({pass.slot, command.ticket});
  // What is no transfer, or was carried from nowhere yet.
  if (found == known.end())
    return true;
  if (!(found->second.isOfAll ? waitForAll(stage, pass, found->second)
                              : wait(stage, pass, found->second)))
    return false;
  if (auto &sent = stages[stage].sentFrom;
      found->second.source && !sent.empty())
    if (auto slot = std::find(sent.begin(), sent.end(), *found->second.source);
        slot != sent.end())
      sent.erase(slot);
  known.erase(found);
  stages[stage].inFlight.finish({pass.slot, command.ticket});
  return true;
}

/// Runs a stage until it waits; whether it went on at all.
bool Simulation::advance(size_t number) {
  Stage &stage = stages[number];
  bool moved = false;
  while (!stage.isDone() && error.empty()) {
    const Pass &pass = stage.passes[stage.pass];
    if (!std::exchange(stage.isInPass, true))
      enter(stage, pass);
    const std::vector<Command> &commands = pass.region->commands;
    while (stage.command < commands.size()) {
      if (!error.empty() || !visit(number, pass, commands[stage.command]))
        return moved;
      ++stage.command;
      moved = true;
    }
    stage.command = 0;
    stage.isInPass = false;
    ++stage.pass;
    moved = true;
  }
  return moved;
}

std::string Simulation::describe(size_t number) const {
  const Stage &stage = stages[number];
  if (stage.isDone())
    return "stage " + std::to_string(number) + " is done";
  const Pass &pass = stage.passes[stage.pass];
  const Command &command = pass.region->commands[stage.command];
  const auto found = stage.started.find({pass.slot, command.ticket});
  return nameOf(number, pass) + " waits for '" +
         (found == stage.started.end() ? "" : found->second.command->label) +
         "'";
}

std::string Simulation::run() {
  for (bool moved = true; moved && error.empty();) {
    moved = false;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      moved |= advance(stage);
  }
  if (!error.empty())
    return error;
  std::string waiting;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    if (!stages[stage].isDone())
      waiting += (waiting.empty() ? "" : "; ") + describe(stage);
  if (!waiting.empty())
    return "no stage can go on: " + waiting;
  for (const Stage &stage : stages)
    if (stage.ofAll.size() != stages.front().ofAll.size())
      return "stage 0 starts " + std::to_string(stages.front().ofAll.size()) +
             " collectives of all stages, and stage " +
             std::to_string(&stage - stages.data()) + " " +
             std::to_string(stage.ofAll.size());
  for (const auto &[ends, channel] : channels)
    for (const Message &message : channel.messages)
      if (!message.isTaken)
        return "stage " + std::to_string(std::get<0>(ends)) + " sends '" +
               message.name + "' of micro-batch " +
               std::to_string(message.micro) + ", which stage " +
               std::to_string(std::get<1>(ends)) + " never receives";
  return "";
}

std::string zrt::findStageFault(const std::vector<Program> &stages) {
  std::string fault = zrt::findStaticFault(stages);
  if (fault.empty())
    fault = Simulation(stages).run();
  return fault.empty() ? zrt::findQueueFault(stages) : fault;
}
