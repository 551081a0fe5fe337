//===- StageMutants.cpp - programs of stages with one change each ---------===//

#include "Verify/StageMutants.h"

#include <random>
#include <utility>

using namespace zrt;
using namespace zrt::test;

using Commands = std::vector<Command>;

bool zrt::test::isTransfer(const Command &command) {
  return command.opcode == Opcode::Start && isBetweenTwo(command.collective);
}

/// The commands of a region, by its place among those of the program.
static Commands &commandsOf(std::vector<Program> &stages, size_t stage,
                            size_t region) {
  return const_cast<Region *>(stages[stage].regions()[region].second)->commands;
}

/// Calls `visit` with each command of each region that `isMeant`.
static void
forEachCommand(const std::vector<Program> &stages,
               const std::function<bool(const Commands &, size_t)> &isMeant,
               const std::function<void(size_t, size_t, size_t)> &visit) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const auto regions = stages[stage].regions();
    for (size_t region = 0; region < regions.size(); ++region)
      for (size_t i = 0; i < regions[region].second->commands.size(); ++i)
        if (isMeant(regions[region].second->commands, i))
          visit(stage, region, i);
  }
}

//===----------------------------------------------------------------------===//
// Tables and slots
//===----------------------------------------------------------------------===//

/// Changes of one pass of one stage.
static void mutatePass(const std::vector<Program> &stages, size_t stage,
                       size_t i, const VisitMutant &visit) {
  const std::vector<Turn> &order = stages[stage].pipeline.order;
  const std::string where =
      ", stage " + std::to_string(stage) + ", pass " + std::to_string(i);
  const auto change = [&](const char *what, bool mayPass, auto apply) {
    StageMutant mutant{what + where, stages, mayPass};
    apply(mutant.stages[stage].pipeline.order);
    visit(mutant);
  };
  using Order = std::vector<Turn> &;
  change("dropped", false, [&](Order o) { o.erase(o.begin() + long(i)); });
  change("doubled", false,
         [&](Order o) { o.insert(o.begin() + long(i), order[i]); });
  change("turned", false, [&](Order o) { o[i].isBackward ^= true; });
  change("of another micro-batch", false, [&](Order o) { o[i].micro ^= 1; });
  const auto chunks = uint32_t(stages[stage].pipeline.rings.size());
  if (chunks > 1)
    change("of another chunk", false,
           [&](Order o) { o[i].chunk = (o[i].chunk + 1) % chunks; });
  // Passes that do not depend on each other may change places.
  if (i + 1 < order.size())
    change("swapped", true, [&](Order o) { std::swap(o[i], o[i + 1]); });
}

/// Changes of the slots of one ring.
static void mutateRing(const std::vector<Program> &stages, size_t stage,
                       size_t ring, const VisitMutant &visit) {
  const std::string where = " slots, stage " + std::to_string(stage) +
                            ", ring " + std::to_string(ring);
  const auto change = [&](const char *what, auto apply) {
    StageMutant mutant{what + where, stages};
    apply(mutant.stages[stage].pipeline.rings[ring]);
    visit(mutant);
  };
  change("more", [](StashRing &changed) { ++changed.slots; });
  change("larger", [](StashRing &changed) { changed.bytes += 64; });
  change("smaller", [](StashRing &changed) { changed.bytes -= 64; });
  if (stages[stage].pipeline.rings[ring].slots > 1)
    change("fewer", [](StashRing &changed) { --changed.slots; });
}

void zrt::test::forEachOrderMutant(const std::vector<Program> &stages,
                                   const VisitMutant &visit) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    for (size_t i = 0; i < stages[stage].pipeline.order.size(); ++i)
      mutatePass(stages, stage, i, visit);
    for (size_t ring = 0; ring < stages[stage].pipeline.rings.size(); ++ring)
      mutateRing(stages, stage, ring, visit);
  }
}

void zrt::test::forEachShuffledMutant(const std::vector<Program> &stages,
                                      size_t count, const VisitMutant &visit) {
  std::minstd_rand random(3);
  for (size_t i = 0; i < count; ++i) {
    const size_t passes = stages.front().pipeline.order.size();
    const size_t only = random() % (2 * stages.size());
    const size_t a = random() % passes, b = random() % passes;
    StageMutant mutant{"", stages, true};
    for (size_t stage = 0; stage < stages.size(); ++stage)
      if (only >= stages.size() || only == stage) {
        std::vector<Turn> &order = mutant.stages[stage].pipeline.order;
        std::swap(order[a], order[b]);
        mutant.what += "stage " + std::to_string(stage) + ", ";
      }
    mutant.what += "passes " + std::to_string(a) + " and " + std::to_string(b);
    visit(mutant);
  }
}

void zrt::test::forEachJointMutant(const std::vector<Program> &stages,
                                   const VisitMutant &visit) {
  const auto micros = uint32_t(stages.front().training.accumulation);
  for (uint32_t a = 0; a < micros; ++a)
    for (uint32_t b = a + 1; b < micros; ++b) {
      StageMutant mutant{"micro-batches " + std::to_string(a) + " and " +
                             std::to_string(b) + " swapped in all stages",
                         stages, true};
      for (Program &program : mutant.stages)
        for (Turn &turn : program.pipeline.order)
          turn.micro = turn.micro == a ? b : turn.micro == b ? a : turn.micro;
      visit(mutant);
    }
  for (uint32_t a = 0; a + 1 < micros; ++a) {
    StageMutant mutant{"backward passes of micro-batches " + std::to_string(a) +
                           " and the next swapped in all stages",
                       stages, true};
    for (Program &program : mutant.stages)
      for (Turn &turn : program.pipeline.order)
        if (turn.isBackward && (turn.micro == a || turn.micro == a + 1))
          turn.micro = 2 * a + 1 - turn.micro;
    visit(mutant);
  }
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void zrt::test::forEachTransferMutant(const std::vector<Program> &stages,
                                      const VisitMutant &visit) {
  using Change = std::function<void(Commands &, size_t)>;
  const auto others = int32_t(stages.size());
  const std::vector<std::pair<const char *, Change>> changes = {
      {"dropped", [](Commands &c, size_t i) { c.erase(c.begin() + long(i)); }},
      {"doubled",
       [](Commands &c, size_t i) {
         const Command copy = c[i];
         c.insert(c.begin() + long(i), copy);
       }},
      {"of another size", [](Commands &c, size_t i) { ++c[i].parts[0].count; }},
      {"of another type",
       [](Commands &c, size_t i) { c[i].parts[0].type = DataType::BF16; }},
      {"of another value", [](Commands &c, size_t i) { c[i].label += "x"; }},
      {"with a stage that there is not",
       [](Commands &c, size_t i) { c[i].parts[0].root = 7; }},
      {"with another stage",
       [others](Commands &c, size_t i) {
         c[i].parts[0].root = (c[i].parts[0].root + 1) % others;
       }},
      {"on another lane",
       [](Commands &c, size_t i) { c[i].parts[0].lane ^= 1; }}};
  forEachCommand(
      stages, [](const Commands &c, size_t i) { return isTransfer(c[i]); },
      [&](size_t stage, size_t region, size_t i) {
        for (const auto &[name, change] : changes) {
          StageMutant mutant{name, stages};
          Commands &commands = commandsOf(mutant.stages, stage, region);
          mutant.what +=
              ": '" + commands[i].label + "' of stage " + std::to_string(stage);
          change(commands, i);
          visit(mutant);
        }
      });
}

void zrt::test::forEachStashMutant(const std::vector<Program> &stages,
                                   const VisitMutant &visit) {
  // What is written over an operand is there before, if it is another value.
  const auto isStashing = [](const Commands &c, size_t i) {
    if (c[i].opcode != Opcode::Kernel || c[i].buffers.empty())
      return false;
    const BufferRef &to = c[i].buffers.back();
    size_t same = 0;
    for (const BufferRef &buffer : c[i].buffers)
      same += buffer.arena == to.arena && buffer.offset == to.offset;
    return to.arena == Arena::Stash && same == 1;
  };
  forEachCommand(
      stages, isStashing, [&](size_t stage, size_t region, size_t i) {
        StageMutant mutant{"dropped: ", stages, true};
        Commands &commands = commandsOf(mutant.stages, stage, region);
        mutant.what +=
            "'" + commands[i].label + "' of stage " + std::to_string(stage);
        commands.erase(commands.begin() + long(i));
        visit(mutant);
      });
}

void zrt::test::forEachCollectiveMutant(const std::vector<Program> &stages,
                                        const VisitMutant &visit) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const Commands &commands = stages[stage].apply.commands;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].opcode != Opcode::Start || isTransfer(commands[i]) ||
          !stages[stage].mesh.meet(commands[i].group,
                                   stages[stage].pipeline.group))
        continue;
      const std::string what =
          ": '" + commands[i].label + "' of stage " + std::to_string(stage);
      StageMutant dropped{"dropped" + what, stages};
      Commands &left = dropped.stages[stage].apply.commands;
      left.erase(left.begin() + long(i));
      visit(dropped);
      StageMutant doubled{"doubled" + what, stages};
      Commands &more = doubled.stages[stage].apply.commands;
      more.insert(more.begin() + long(i), commands[i]);
      visit(doubled);
      StageMutant resized{"of another size" + what, stages};
      ++resized.stages[stage].apply.commands[i].parts[0].count;
      visit(resized);
    }
  }
}

/// Whether a transfer is waited for, which another region may have started.
static bool isWait(const Program &program, const Command &command) {
  if (command.opcode != Opcode::Wait)
    return false;
  for (const auto &[name, region] : program.regions())
    for (const Command &start : region->commands)
      if (isTransfer(start) && start.ticket == command.ticket)
        return true;
  return false;
}

void zrt::test::forEachWaitMutant(const std::vector<Program> &stages,
                                  const VisitMutant &visit) {
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const auto regions = stages[stage].regions();
    for (size_t region = 0; region < regions.size(); ++region) {
      const Commands &commands = regions[region].second->commands;
      for (size_t i = 0; i < commands.size(); ++i) {
        if (!isWait(stages[stage], commands[i]))
          continue;
        const std::string what = ": wait " + std::to_string(i) + " of " +
                                 regions[region].first + ", stage " +
                                 std::to_string(stage);
        StageMutant dropped{"dropped" + what, stages, true};
        Commands &left = commandsOf(dropped.stages, stage, region);
        left.erase(left.begin() + long(i));
        visit(dropped);
        if (i + 1 == commands.size())
          continue;
        StageMutant later{"behind the next command" + what, stages, true};
        Commands &moved = commandsOf(later.stages, stage, region);
        std::swap(moved[i], moved[i + 1]);
        visit(later);
        for (size_t j = i + 1; j < commands.size(); ++j)
          if (isWait(stages[stage], commands[j])) {
            StageMutant swapped{"with the next wait's ticket" + what, stages,
                                true};
            Commands &both = commandsOf(swapped.stages, stage, region);
            std::swap(both[i].ticket, both[j].ticket);
            visit(swapped);
            break;
          }
      }
    }
  }
}
