#include "engine/Executor.h"

#include "communicator/Traffic.h"
#include "state/Gradients.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

using namespace zrt;

namespace {

constexpr size_t kWorkspaceAlignment = 64;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

/// Adds `more` to `sum` `sign` times.
static void add(SentCounts &sum, const SentCounts &more, uint64_t sign) {
  for (size_t i = 0; i < sum.elements.size(); ++i) {
    sum.elements[i] += sign * more.elements[i];
    sum.bytes[i] += sign * more.bytes[i];
  }
}

static void addAll(Traffic &sum, const Traffic &more, uint64_t sign) {
  add(sum, more, sign);
  sum.groups.resize(std::max(sum.groups.size(), more.groups.size()));
  for (size_t i = 0; i < more.groups.size(); ++i)
    add(sum.groups[i], more.groups[i], sign);
}

Traffic &Traffic::operator+=(const Traffic &more) {
  addAll(*this, more, 1);
  return *this;
}

Traffic Traffic::operator-(const Traffic &earlier) const {
  Traffic result = *this;
  addAll(result, earlier, uint64_t(-1));
  return result;
}

struct Executor::Action {
  const Command *command = nullptr;
  Kernel *kernel = nullptr;
  Communicator *communicator = nullptr; ///< of a start
  std::vector<void *> buffers;
  std::vector<Transfer> transfers;
  Reduction reduction = Reduction::Sum;
  uint64_t elements = 0, bytes = 0;
  /// Of a plain copy that runs beside others: its bytes, and whose it is; null
  /// where the kernel does it.
  uint64_t copied = 0;
  SideCopies *copies = nullptr;
  /// A wait whose start is in another region, which may not have run yet.
  bool mayBeIdle = false;
  std::string name; ///< for the record; empty where there is none
};

static FlightKind flightKindOf(const Command &command) {
  if (command.opcode == Opcode::Kernel)
    return FlightKind::Kernel;
  if (command.opcode == Opcode::Wait)
    return FlightKind::Wait;
  return isBetweenTwo(command.collective) ? FlightKind::Transfer
                                          : FlightKind::Meeting;
}

Executor::Executor(const Program &program, const ArenaAddresses &arenas,
                   Communicator &communicator, const KernelContext &context)
    : program(program), arenas(arenas), communicator(communicator),
      context(context) {}

SideCopies::~SideCopies() = default;

Executor::~Executor() { releaseWorkspace(); }

void Executor::releaseWorkspace() {
  if (memory && workspace)
    memory->release(workspace);
  workspace = nullptr;
}

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

namespace {
/// What a thread runs.
struct Running {
  const Executor *executor = nullptr;
  const Command *command = nullptr;
};
thread_local Running running;
} // namespace

std::string Executor::describeRunning() {
  if (!running.command)
    return "";
  return running.executor->placeOfPass() +
         running.executor->nameFor(*running.command);
}

std::string Executor::nameFor(const Command &command) const {
  // What it waits for says more than where it stands.
  if (command.opcode == Opcode::Wait && command.ticket < starts.size() &&
      starts[command.ticket])
    return std::string(nameOf(command)) + " for " +
           nameFor(*starts[command.ticket]);
  return program.describe(command);
}

std::string Executor::describe(const Command &command,
                               const std::string &what) const {
  return placeOfPass() + nameFor(command) + ": " + what;
}

std::string Executor::placeOfPass() const {
  if (!turn)
    return "";
  return program.describe(*turn) + " in pipeline stage " +
         std::to_string(program.pipeline.stage) + ": ";
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
          describe(command, "in region " + name + ": " + error.what()));
    }
  }
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
          throw std::runtime_error(describe(command, error.what()));
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

uint32_t Executor::countPlaces() const {
  return uint32_t(std::min(uint64_t(program.training.accumulation),
                           program.pipeline.period()));
}

/// Of a ticket, only one has copies, or none.
void Executor::waitForCopies(uint32_t ticket) {
  for (SideCopies *copies : {sideCopies, fileCopies})
    if (copies)
      copies->wait(ticket);
}

void Executor::runKernel(const Action &action) {
  const Command &command = *action.command;
  // What has no queue of its own runs here.
  if (action.copies)
    action.copies->start(command.ticket, command.stream, action.buffers[1],
                         action.buffers[0], action.copied);
  else
    action.kernel->run(action.buffers.data(), workspace);
}

/// What a copy to or from a file does to a bit, the file's own faults do.
void Executor::runFaulty(const Action &action) {
  const Command &command = *action.command;
  const KernelSpec &spec = program.kernels[command.kernel];
  const std::optional<InjectedFault> fault =
      faults->next(kKernelOperation, spec.name);
  if (fault == FaultKind::Skip)
    return;
  runKernel(action);
  if (fault == FaultKind::Double && !action.copies)
    runKernel(action);
  if (fault != FaultKind::Flip || action.buffers.empty() || action.copies)
    return;
  const size_t changed = spec.results.empty() ? 0 : spec.operands.size();
  flipBit(action.buffers[changed], command.buffers[changed].bytes, fault->bit);
}

void Executor::execute(const Action &action) {
  const Command &command = *action.command;
  // Each slot has operations of its own in flight.
  const size_t ticket = command.ticket + slot * starts.size();
  if (command.opcode == Opcode::Kernel) {
    if (faults)
      runFaulty(action);
    else
      runKernel(action);
    if (runsBeside(command))
      done[ticket] = 1;
    return;
  }
  if (command.opcode == Opcode::Wait) {
    if (std::exchange(done[ticket], 0))
      return waitForCopies(command.ticket);
    if (!started[ticket]) {
      if (action.mayBeIdle)
        return;
      throw std::logic_error("waits for an operation that was not started");
    }
    Communicator *owner = std::exchange(started[ticket], nullptr);
    owner->wait(tickets[ticket]);
    return;
  }
  if (started[ticket])
    throw std::logic_error("starts an operation that is still running");
  tickets[ticket] = action.communicator->startOn(
      command.stream, command.collective, action.reduction, action.transfers);
  started[ticket] = action.communicator;
  const auto kind = static_cast<size_t>(command.traffic);
  const auto count = [&](SentCounts &counts) {
    counts.elements[kind] += action.elements;
    counts.bytes[kind] += action.bytes;
  };
  count(sent);
  if (!sent.groups.empty())
    count(sent.groups[command.group]);
}

void Executor::judgeAgain() {
  // Loss and weights are reduced together with the measures, and are already.
  const double loss = context.control->lossSum,
               weight = context.control->weightSum;
  std::set<uint32_t> added;
  for (const Action &action : plans.at(&program.apply).front()) {
    const Command &command = *action.command;
    const bool isPart = command.opcode == Opcode::Wait
                            ? added.count(command.ticket) != 0
                            : measuresGradients(program, command);
    if (!isPart)
      continue;
    if (command.opcode == Opcode::Start)
      added.insert(command.ticket);
    // The verdict divides by the weights of all ranks.
    if (judgesGradients(program, command))
      context.control->weightSum = weight;
    execute(action);
    if (judgesGradients(program, command))
      break;
  }
  context.control->lossSum = loss;
}

void Executor::run(const Region &region) {
  if (flight)
    flight->beginRegion(placeOfPass());
  uint32_t number = 0;
  for (const Action &action : plans.at(&region)[place]) {
    FlightOperation operation(flight, flightKindOf(*action.command),
                              action.name, number++);
    const int64_t begin = hook ? now() : 0;
    if (mark)
      mark(action.command);
    running = {this, action.command};
    try {
      execute(action);
    } catch (const CommunicationError &error) {
      running = {};
      throw CommunicationError(describe(*action.command, error.what()));
    } catch (const std::bad_alloc &) {
      running = {};
      throw std::runtime_error(
          describe(*action.command, "there is not enough memory"));
    } catch (const std::exception &error) {
      running = {};
      throw std::runtime_error(describe(*action.command, error.what()));
    }
    running = {};
    operation.finish();
    if (mark)
      mark(nullptr);
    if (hook)
      hook(*action.command, begin, now());
  }
}

void Executor::runInitialize() { run(program.initialize); }

void Executor::run(const Turn &pass) {
  turn = &pass;
  place = pass.micro % countPlaces();
  slot = program.pipeline.slotOf(pass);
  run(program.regionOf(pass));
  place = slot = 0;
  turn = nullptr;
}

void *Executor::addressFor(uint32_t micro, const BufferRef &buffer) {
  place = micro;
  void *found = address(buffer);
  place = 0;
  return found;
}

void Executor::runMicro(int64_t index) { run(program.regionOfMicro(index)); }
void Executor::runApply() { run(program.apply); }
void Executor::runEvaluate() { run(program.evaluate); }

void Executor::drain() {
  for (size_t i = 0; i < tickets.size(); ++i) {
    if (Communicator *owner = std::exchange(started[i], nullptr))
      owner->wait(tickets[i]);
    if (std::exchange(done[i], 0))
      waitForCopies(uint32_t(i));
  }
}

bool Executor::isIdle() const {
  return std::all_of(started.begin(), started.end(),
                     [](const Communicator *owner) { return !owner; }) &&
         std::all_of(done.begin(), done.end(), [](char each) { return !each; });
}

void Executor::forget() {
  for (size_t i = 0; i < tickets.size(); ++i)
    if (Communicator *owner = std::exchange(started[i], nullptr))
      owner->forget(tickets[i]);
  done.assign(done.size(), 0);
  for (SideCopies *copies : {sideCopies, fileCopies})
    if (copies)
      copies->forget();
}

const Traffic &Executor::traffic() const { return sent; }
size_t Executor::workspaceBytes() const { return workspaceSize; }

std::string zrt::readable(const TensorType &type) {
  std::string text = "tensor<";
  for (int64_t extent : type.shape)
    text += std::to_string(extent) + "x";
  text += nameOf(type.type);
  for (size_t i = 0; i < type.strides.size(); ++i)
    text += (i ? "x" : ", strides ") + std::to_string(type.strides[i]);
  return text + ">";
}

std::vector<std::string> Executor::choices() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string choice = kernels[i]->choice();
    if (choice.empty())
      continue;
    const KernelSpec &spec = program.kernels[i];
    std::string line = spec.name + " of";
    for (const TensorType &operand : spec.operands)
      line += " " + readable(operand);
    line += ": " + choice;
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(line);
  }
  return lines;
}

void Executor::setCommandHook(CommandHook replacement) {
  hook = std::move(replacement);
}
void Executor::setMark(std::function<void(const Command *command)> hook) {
  mark = std::move(hook);
}
