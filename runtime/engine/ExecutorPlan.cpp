// What the executor resolves before it runs: communicators, kernels, addresses
// and transfers of all commands.
#include "engine/ExecutorAction.h"

#include "communicator/Traffic.h"
#include "io/ErrorText.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

using namespace zrt;

static constexpr size_t kWorkspaceAlignment = 64;

/// A group that no command names has no communicator.
void Executor::makeGroups() {
  groups.clear();
  groups.resize(program.mesh.groups.size());
  sent.groups.assign(program.mesh.groups.size(), {});
  for (uint32_t group = kAllRanks + 1; group < groups.size(); ++group) {
    // All ranks make the same ones, also where they run different stages.
    bool isNamed = program.pipeline.isCut();
    for (const auto &[name, region] : program.regions())
      for (const Command &command : region->commands)
        isNamed |= !command.parts.empty() && command.group == group;
    if (isNamed)
      groups[group] = communicator.makeGroup(program.mesh, group);
  }
}

Communicator &Executor::communicatorOf(uint32_t group) const {
  return group < groups.size() && groups[group] ? *groups[group] : communicator;
}

void Executor::makeWorkspace() {
  if (memory) {
    if (workspaceSize)
      workspace =
          memory->allocateScratch(workspaceSize, "the kernels' workspace");
    return;
  }
  workspaceStorage.reset(new std::byte[workspaceSize + kWorkspaceAlignment]);
  const auto begin = reinterpret_cast<uintptr_t>(workspaceStorage.get());
  workspace = workspaceStorage.get() +
              (kWorkspaceAlignment - begin % kWorkspaceAlignment);
}

void *Executor::address(const BufferRef &buffer) const {
  const int space = buffer.space();
  const bool isKnown = space >= 0 && space < kSpaceCount;
  const int64_t index = program.mesh.indexIn(buffer.group, communicator.rank());
  uint64_t offset = buffer.offset;
  if (isKnown && buffer.arena == Arena::Stash)
    offset = program.pipeline.stashOffset(offset, place);
  offset += uint64_t(index) * buffer.stride;
  if (!isKnown || buffer.bytes > program.arenaBytes[space] ||
      offset > program.arenaBytes[space] - buffer.bytes)
    throw std::runtime_error(
        std::string("buffer of ") + std::to_string(buffer.bytes) +
        " bytes at offset " + std::to_string(offset) +
        " is outside the arena " +
        (isKnown ? nameOfSpace(space) : "(unknown)") + " of " +
        std::to_string(isKnown ? program.arenaBytes[space] : 0) + " bytes");
  return static_cast<std::byte *>(arenas[space]) + offset;
}

uint32_t Executor::countPlaces() const {
  return uint32_t(std::min(uint64_t(program.training.accumulation),
                           program.pipeline.period()));
}

Executor::Action Executor::planKernel(const Command &command) {
  if (command.kernel >= kernels.size())
    throw std::runtime_error("kernel " + std::to_string(command.kernel) +
                             " is not in the program");
  const KernelSpec &spec = program.kernels[command.kernel];
  const size_t wanted = spec.operands.size() + spec.results.size();
  if (command.buffers.size() != wanted)
    throw std::runtime_error("has " + std::to_string(command.buffers.size()) +
                             " buffers, its kernel wants " +
                             std::to_string(wanted));
  Action action;
  action.kernel = kernels[command.kernel].get();
  for (const BufferRef &buffer : command.buffers)
    action.buffers.push_back(address(buffer));
  action.kernel->admit(action.buffers.data(), workspace);
  return action;
}

Executor::Action Executor::planCollective(const Command &command) {
  Action action;
  Communicator &group = communicatorOf(command.group);
  // From units of the group's ranks to those of all.
  const auto share = uint64_t(communicator.ranks() / group.ranks());
  action.communicator = &group;
  action.reduction =
      command.prescaled ? Reduction::PrescaledSum : Reduction::Sum;
  for (const CollectivePart &part : command.parts) {
    Transfer transfer;
    transfer.send = address(part.send);
    transfer.receive = address(part.receive);
    transfer.count = part.count;
    transfer.type = part.type;
    transfer.root = part.root;
    transfer.lane = part.lane;
    action.transfers.push_back(transfer);
    const uint64_t elements =
        share * sentElements(command.collective, part.count, group.ranks(),
                             group.rank(), part.root);
    action.elements += elements;
    action.bytes += elements * sizeOf(part.type);
  }
  group.admit(command.collective, action.reduction, action.transfers);
  return action;
}

void Executor::planRegion(const Region &region, std::vector<Action> &actions,
                          const std::string &name) {
  std::vector<char> startedHere(starts.size(), 0);
  for (const Command &command : region.commands) {
    try {
      Action action;
      if (command.opcode == Opcode::Kernel) {
        action = planKernel(command);
        action.copied = bytesCopiedBeside(program, command);
        action.copies = chooseCopies(command);
        if (runsBeside(command))
          startedHere[command.ticket] = 1;
      } else if (command.opcode == Opcode::Wait) {
        action.mayBeIdle = !startedHere[command.ticket];
        startedHere[command.ticket] = 0;
      } else {
        action = planCollective(command);
        startedHere[command.ticket] = 1;
      }
      action.command = &command;
      if (flight)
        action.name = nameFor(command);
      actions.push_back(std::move(action));
    } catch (const std::exception &error) {
      throw std::runtime_error(
          describe(command, "in region " + name + ": " + textOf(error)));
    }
  }
  for (Action &action : actions)
    action.mayBePostponed = &region == &program.apply &&
                            action.command->opcode == Opcode::Start &&
                            startedHere[action.command->ticket];
}

/// A file is read and written, and nothing else is done with it.
SideCopies *Executor::chooseCopies(const Command &command) const {
  if (!namesFile(command))
    return bytesCopiedBeside(program, command) ? sideCopies : nullptr;
  if (!isFileCopy(program, command))
    throw std::runtime_error("has a buffer in a file, wanted a copy between a "
                             "file and host memory");
  if (!fileCopies)
    throw std::runtime_error("copies from or to a file, and this processor has "
                             "none; compile the model without files");
  return fileCopies;
}

std::unique_ptr<Kernel> Executor::makeOne(size_t kernel,
                                          const KernelMaker &make) const {
  try {
    return make(program.kernels[kernel], context);
  } catch (const std::exception &error) {
    for (const auto &[name, region] : program.regions())
      for (const Command &command : region->commands)
        if (command.opcode == Opcode::Kernel && command.kernel == kernel)
          throw std::runtime_error(describe(command, textOf(error)));
    throw;
  }
}

void Executor::plan(const KernelMaker &make, Memory *where) {
  releaseWorkspace();
  makeGroups();
  memory = where;
  kernels.clear();
  workspaceSize = 0;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    kernels.push_back(makeOne(i, make));
    workspaceSize = std::max(workspaceSize, kernels.back()->workspaceBytes());
  }
  makeWorkspace();

  size_t ticketCount = 0;
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode != Opcode::Kernel || runsBeside(command))
        ticketCount = std::max<size_t>(ticketCount, command.ticket + 1ul);
  size_t slots = 1;
  for (const StashRing &ring : program.pipeline.rings)
    slots = std::max<size_t>(slots, ring.slots);
  tickets.assign(ticketCount * slots, 0);
  started.assign(ticketCount * slots, nullptr);
  done.assign(ticketCount * slots, 0);

  starts.assign(ticketCount, nullptr);
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Start || runsBeside(command))
        starts[command.ticket] = &command;

  plans.clear();
  for (const auto &[name, region] : program.regions()) {
    plans[region].resize(isPass(*region) ? countPlaces() : 1);
    for (place = 0; place < plans[region].size(); ++place)
      planRegion(*region, plans[region][place], name);
  }
  place = 0;
}

bool Executor::isPass(const Region &region) const {
  for (const std::vector<Region> *passes :
       {&program.forward, &program.backward})
    for (const Region &pass : *passes)
      if (&pass == &region)
        return true;
  return false;
}
