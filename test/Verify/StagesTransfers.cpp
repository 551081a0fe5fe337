//===- StagesTransfers.cpp - what stages send each other ------------------===//

#include "Verify/StagesInterpreter.h"

#include <algorithm>

using namespace zrt;
using namespace zrt::test;

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

bool StagesInterpreter::startTransfer(size_t number, const Pass &pass,
                                      const Command &command) {
  const CollectivePart &part = command.parts.front();
  const auto peer = size_t(part.root);
  if (peer >= stages.size() || peer == number)
    return fail(number, "'" + command.label + "' is with no other stage");
  Flight flight;
  flight.command = &command;
  flight.isSend = command.collective == Collective::Send;
  flight.channel = flight.isSend ? ChannelKey(number, peer, part.lane)
                                 : ChannelKey(peer, number, part.lane);
  Transfer transfer;
  transfer.count = part.count;
  transfer.type = part.type;
  if (!locate(stages[number], flight.isSend ? part.send : part.receive,
              pass.micro, transfer.place))
    return false;
  if (transfer.place.bytes != part.count * sizeOf(part.type))
    return fail(number, "'" + command.label + "' has another size");
  // What is received may be there from now on, or only at the wait.
  if (!flight.isSend)
    poison(number, transfer.place);
  Channel &channel = channels[flight.channel];
  auto &side = flight.isSend ? channel.sends : channel.receives;
  flight.number = side.size();
  side.push_back(transfer);
  stages[number].flights[{pass.slot, command.ticket}] = flight;
  return true;
}

template <typename PlaceT>
static bool isOverlapping(const PlaceT &a, const PlaceT &b) {
  return a.space == b.space && a.begin < b.begin + b.bytes &&
         b.begin < a.begin + a.bytes;
}

/// Ranks of one stage are all alike, so that a collective among them gives
/// what follows from the own part.
bool StagesInterpreter::startCollective(size_t number, const Pass &pass,
                                        const Command &command) {
  Stage &stage = stages[number];
  Flight flight;
  flight.command = &command;
  flight.isOfAll =
      stage.program->mesh.meet(command.group, stage.program->pipeline.group);
  flight.number = stage.ofAll.size();
  Marks given;
  for (const CollectivePart &part : command.parts) {
    Place place;
    if (!locate(stage, part.send, pass.micro, place))
      return false;
    const Marks own = read(number, place);
    given.insert(given.end(), own.begin(), own.end());
    Place target;
    if (!locate(stage, part.receive, pass.micro, target))
      return false;
    if (flight.isOfAll || isOverlapping(place, target))
      continue;
    flight.received.emplace_back(target, makeMarks(hashOf(own), target.bytes));
    poison(number, target);
  }
  if (flight.isOfAll)
    stage.ofAll.emplace_back(&command, given);
  stage.flights[{pass.slot, command.ticket}] = flight;
  return true;
}

bool StagesInterpreter::start(size_t number, const Pass &pass,
                              const Command &command) {
  if (stages[number].flights.count({pass.slot, command.ticket}))
    return fail(number, "'" + command.label + "' is still running");
  return isBetweenTwo(command.collective)
             ? startTransfer(number, pass, command)
             : startCollective(number, pass, command);
}

/// It is over once all stages have started it, which has to be the same.
bool StagesInterpreter::waitForAll(size_t number, const Flight &flight,
                                   bool &isOver) {
  for (const Stage &stage : stages) {
    if (stage.ofAll.size() <= flight.number)
      return true;
    const Command &other = *stage.ofAll[flight.number].first;
    bool isSame = other.collective == flight.command->collective &&
                  other.parts.size() == flight.command->parts.size();
    for (size_t i = 0; isSame && i < other.parts.size(); ++i)
      isSame = other.parts[i].count == flight.command->parts[i].count &&
               other.parts[i].type == flight.command->parts[i].type;
    if (!isSame)
      return fail(number,
                  "'" + flight.command->label + "' meets another collective");
  }
  isOver = true;
  return true;
}

/// A wait for what is carried from nowhere yet is over at once.
bool StagesInterpreter::wait(size_t number, const Pass &pass,
                             const Command &command, bool &isOver) {
  Stage &stage = stages[number];
  const auto found = stage.flights.find({pass.slot, command.ticket});
  if (found == stage.flights.end())
    return isOver = true;
  const Flight &flight = found->second;
  if (flight.isOfAll) {
    if (!waitForAll(number, flight, isOver))
      return false;
  } else if (isBetweenTwo(flight.command->collective)) {
    const Channel &channel = channels[flight.channel];
    isOver = flight.number < channel.moved;
  } else {
    isOver = true;
  }
  if (!isOver)
    return true;
  for (const auto &[place, marks] : flight.received)
    write(number, place, marks);
  stage.flights.erase(found);
  return true;
}

//===----------------------------------------------------------------------===//
// What moves
//===----------------------------------------------------------------------===//

/// The oldest message of a channel goes to the oldest receive.
bool StagesInterpreter::move(const ChannelKey &key, Channel &channel) {
  const auto &[from, to, lane] = key;
  const Transfer &send = channel.sends[channel.moved],
                 &receive = channel.receives[channel.moved];
  ++channel.moved;
  if (send.count != receive.count || send.type != receive.type)
    return fail(to, "receives another size or type than stage " +
                        std::to_string(from) + " sends");
  write(to, receive.place, read(from, send.place));
  return true;
}

/// Moves one message that can; whether there was one.
bool StagesInterpreter::moveSome() {
  std::vector<std::pair<const ChannelKey, Channel> *> able;
  for (auto &channel : channels)
    if (canMove(channel.second))
      able.push_back(&channel);
  if (able.empty())
    return false;
  auto &[key, channel] = *able[random64() % able.size()];
  move(key, channel);
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

bool StagesInterpreter::execute(size_t number, const Pass &pass,
                                const Command &command) {
  switch (command.opcode) {
  case Opcode::Kernel:
    return runKernel(number, pass, command);
  case Opcode::Start:
    return start(number, pass, command);
  default:
    return fail(number, "an unknown command");
  }
}

/// Runs the next command of a stage; false where it waits.
bool StagesInterpreter::advance(size_t number) {
  Stage &stage = stages[number];
  if (stage.isDone() || !failure.empty())
    return false;
  const Pass &pass = stage.passes[stage.pass];
  if (stage.command == 0 && pass.fillsInputs)
    fillInputs(stage, pass);
  if (stage.command < pass.region->commands.size()) {
    const Command &command = pass.region->commands[stage.command];
    if (command.opcode == Opcode::Wait) {
      bool isOver = false;
      if (!wait(number, pass, command, isOver) || !isOver)
        return false;
    } else if (!execute(number, pass, command)) {
      return false;
    }
    ++stage.command;
  }
  if (stage.command >= pass.region->commands.size()) {
    if (pass.isApply)
      recordUpdate(number);
    if (pass.isEvaluation)
      recordOutputs(number);
    stage.command = 0;
    ++stage.pass;
  }
  return true;
}

void StagesInterpreter::listPasses(size_t number, int updates) {
  Stage &stage = stages[number];
  const Program &program = *stage.program;
  Pass pass;
  pass.region = &program.initialize;
  stage.passes.push_back(pass);
  for (int update = 0; update < updates; ++update) {
    for (const Turn &turn : program.pipeline.order) {
      pass = {};
      pass.region =
          &(turn.isBackward ? program.backward : program.forward)[turn.chunk];
      pass.micro = turn.micro;
      pass.slot = turn.micro % program.pipeline.rings[turn.chunk].slots;
      pass.batch =
          uint64_t(update * program.training.accumulation) + turn.micro;
      pass.fillsInputs = !turn.isBackward && turn.chunk == 0;
      stage.passes.push_back(pass);
    }
    pass = {};
    pass.region = &program.apply;
    pass.isApply = true;
    stage.passes.push_back(pass);
  }
  pass = {};
  pass.region = &program.evaluate;
  pass.batch = uint64_t(-1);
  pass.fillsInputs = pass.isEvaluation = true;
  stage.passes.push_back(pass);
}

StagesInterpreter::StagesInterpreter(const std::vector<Program> &programs,
                                     Moving moving, unsigned seed)
    : stages(programs.size()), moving(moving), random(seed),
      updatesDone(programs.size()) {
  for (size_t i = 0; i < programs.size(); ++i) {
    stages[i].program = &programs[i];
    fillMemory(stages[i]);
  }
}

StagesResult StagesInterpreter::run(int updates) {
  for (size_t i = 0; i < stages.size(); ++i)
    listPasses(i, updates);
  std::vector<size_t> order(stages.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  for (bool moved = true; moved && failure.empty();) {
    moved = moving == Moving::Early && moveSome();
    moved |= moving == Moving::Random && random64() % 4 == 0 && moveSome();
    std::shuffle(order.begin(), order.end(), random);
    for (size_t stage : order)
      // Some run ahead as far as they can.
      for (uint64_t steps = random64() % 3 == 0 ? 1000 : 1;
           steps > 0 && advance(stage); --steps)
        moved = true;
    if (!moved)
      moved = moveSome();
  }
  return finish();
}

/// Goes through all passes one by one, each to its end.
StagesResult StagesInterpreter::runInTurn(int updates) {
  for (size_t i = 0; i < stages.size(); ++i)
    listPasses(i, updates);
  const auto runPass = [&](size_t stage) {
    for (const size_t pass = stages[stage].pass;
         stages[stage].pass == pass && failure.empty();)
      if (!advance(stage) && !moveSome())
        return;
  };
  const auto runAll = [&] {
    for (bool moved = true; moved && failure.empty();) {
      moved = false;
      for (size_t i = 0; i < stages.size(); ++i)
        while (advance(i))
          moved = true;
      moved |= moveSome();
    }
  };
  for (size_t i = 0; i < stages.size(); ++i)
    runPass(i);
  const Pipeline &pipeline = stages.front().program->pipeline;
  const size_t chunks = pipeline.rings.size();
  const size_t micros = pipeline.order.size() / (2 * chunks);
  const size_t parts = chunks * stages.size();
  for (size_t micro = 0; micro < micros; ++micro)
    for (size_t i = 0; i < 2 * parts; ++i)
      runPass((i < parts ? i : 2 * parts - 1 - i) % stages.size());
  runAll();
  return finish();
}

/// Sent and never received, or the other way round, is a failure as well.
StagesResult StagesInterpreter::finish() {
  std::string waiting;
  for (size_t i = 0; i < stages.size(); ++i)
    if (!stages[i].isDone())
      waiting += " " + std::to_string(i);
  if (failure.empty() && !waiting.empty())
    failure = "stages wait for each other for ever:" + waiting;
  for (const auto &[key, channel] : channels)
    if (failure.empty() && (channel.moved < channel.sends.size() ||
                            channel.moved < channel.receives.size()))
      failure = "stages " + std::to_string(std::get<0>(key)) + " and " +
                std::to_string(std::get<1>(key)) + " have a message left";
  for (const Stage &stage : stages)
    if (failure.empty() && stage.ofAll.size() != stages.front().ofAll.size())
      failure = "stages run different numbers of collectives";
  StagesResult result;
  result.failure = failure;
  for (const auto &[key, marks] : recorded)
    result.states.emplace_back(
        "update " + std::to_string(std::get<0>(key)) + ", stage " +
            std::to_string(std::get<1>(key)) + ", " + std::get<2>(key),
        marks);
  return result;
}

//===----------------------------------------------------------------------===//
// What tests call
//===----------------------------------------------------------------------===//

/// The same stages with a table of one micro-batch after the other, and as many
/// slots as there are.
StagesResult zrt::test::runInTurn(const std::vector<Program> &stages) {
  std::vector<Program> inTurn = stages;
  for (Program &program : inTurn) {
    Pipeline &pipeline = program.pipeline;
    const auto chunks = uint32_t(pipeline.rings.size());
    const auto micros = uint32_t(pipeline.order.size() / (2 * chunks));
    pipeline.order.clear();
    for (uint32_t micro = 0; micro < micros; ++micro)
      for (uint32_t i = 0; i < 2 * chunks; ++i)
        pipeline.order.push_back(
            {i >= chunks, i < chunks ? i : 2 * chunks - 1 - i, micro});
    uint64_t bytes = 0;
    for (StashRing &ring : pipeline.rings) {
      ring.slots = micros;
      bytes += ring.bytes * micros;
    }
    program.arenaBytes[spaceOf(Arena::Stash, Tier::Device)] = bytes;
  }
  return StagesInterpreter(inTurn, Moving::Early, /*seed=*/1).runInTurn(2);
}

StagesResult zrt::test::runStages(const std::vector<Program> &stages,
                                  unsigned seed) {
  const Moving moving[] = {Moving::Late, Moving::Early, Moving::Random};
  return StagesInterpreter(stages, moving[seed % 3], seed + 100).run(2);
}

std::string zrt::test::compare(const StagesResult &found,
                               const StagesResult &wanted) {
  if (found.failure != wanted.failure)
    return found.failure + (wanted.failure.empty() ? "" : ", wanted ") +
           wanted.failure;
  if (found.states.size() != wanted.states.size())
    return "other states";
  for (size_t i = 0; i < found.states.size(); ++i)
    if (found.states[i] != wanted.states[i])
      return found.states[i].first + " is another value than wanted";
  return "";
}
