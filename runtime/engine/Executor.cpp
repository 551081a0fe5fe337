#include "engine/ExecutorAction.h"

#include "io/ErrorText.h"
#include "state/Gradients.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

using namespace zrt;

namespace {

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

/// Waits for the copies of `ticket`; at most one of the two has any.
void Executor::waitForCopies(uint32_t ticket) {
  for (SideCopies *copies : {sideCopies, fileCopies})
    if (copies)
      copies->wait(ticket);
}

void Executor::runKernel(const Action &action) {
  const Command &command = *action.command;
  // A command without a queue of its own runs here.
  if (action.copies)
    action.copies->start(command.ticket, command.stream, action.buffers[1],
                         action.buffers[0], action.copied);
  else
    action.kernel->run(action.buffers.data(), workspace);
}

/// Runs a kernel with the fault to inject, if there is one. Bits of copies to
/// or from a file are flipped by the file's own faults.
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
}

/// Of an operation that is postponed, the update in which it would have begun.
void Executor::count(const Action &action) {
  const Command &command = *action.command;
  const auto kind = static_cast<size_t>(command.traffic);
  const auto countIn = [&](SentCounts &counts) {
    counts.elements[kind] += action.elements;
    counts.bytes[kind] += action.bytes;
  };
  countIn(sent);
  if (!sent.groups.empty())
    countIn(sent.groups[command.group]);
}

void Executor::copyGradientsAgain() {
  for (const auto &[name, region] : program.regions()) {
    const auto planned = plans.find(region);
    if (planned == plans.end() || planned->second.empty())
      continue;
    for (const Action &action : planned->second.front()) {
      const Command &command = *action.command;
      if (command.opcode == Opcode::Kernel && judgesGradients(program, command))
        break; // what is copied later copies what is there then
      if (!copiesGradients(program, command))
        continue;
      waitForCopies(command.ticket);
      action.kernel->run(action.buffers.data(), workspace);
    }
  }
}

void Executor::judgeAgain() {
  copyGradientsAgain();
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
    if (command.opcode == Opcode::Start) {
      added.insert(command.ticket);
      count(action);
    }
    // The verdict divides by the weights of all ranks.
    if (judgesGradients(program, command))
      context.control->weightSum = weight;
    execute(action);
    if (judgesGradients(program, command))
      break;
  }
  context.control->lossSum = loss;
}

bool Executor::willPostpone() const {
  if (!postponesStarts || program.pipeline.isCut())
    return postponesStarts; // the same in all stages of a pipeline
  const std::vector<Action> &actions = plans.at(&program.apply).front();
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action &each) { return each.mayBePostponed; });
}

void Executor::startPostponed() {
  if (!std::exchange(isPostponed, false))
    return;
  uint32_t number = 0;
  for (const Action &action : plans.at(&program.apply).front()) {
    if (action.mayBePostponed)
      run(action, number);
    ++number;
  }
}

void Executor::run(const Region &region) {
  if (flight)
    flight->beginRegion(placeOfPass());
  uint32_t number = 0;
  for (const Action &action : plans.at(&region)[place]) {
    if (action.command->opcode == Opcode::Start)
      count(action);
    if (!postponesStarts || !action.mayBePostponed)
      run(action, number);
    ++number;
  }
  isPostponed |= &region == &program.apply && willPostpone();
}

void Executor::run(const Action &action, uint32_t number) {
  FlightOperation operation(flight, flightKindOf(*action.command), action.name,
                            number);
  const int64_t begin = hook ? now() : 0;
  if (mark)
    mark(action.command);
  running = {this, action.command};
  try {
    execute(action);
  } catch (const CommunicationError &error) {
    running = {};
    throw CommunicationError(describe(*action.command, error.what()));
  } catch (const std::exception &error) {
    running = {};
    throw std::runtime_error(describe(*action.command, textOf(error)));
  }
  running = {};
  operation.finish();
  if (mark)
    mark(nullptr);
  if (hook)
    hook(*action.command, begin, now());
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
  startPostponed();
  waitForStarted();
}

void Executor::waitForStarted() {
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
