//===- Simulate.cpp - when each command of a plan runs --------------------===//

#include "zero/Conversion/Translate.h"
#include "zero/Timeline/Timeline.h"

#include "program/Trace.h"

#include <deque>
#include <numeric>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The queue of a stream: what was started on it and is not done.
struct Queue {
  struct Entry {
    size_t event;
    uint32_t ticket;
    double seconds; ///< that are left, alone on the links
  };
  std::deque<Entry> entries;
};

class Simulation {
public:
  Simulation(std::shared_ptr<const zrt::Program> program,
             const CostModel &model);

  Timeline run();
  /// One run of a region by itself; what other stages of a pipeline
  /// send is there, and what they take takes no time.
  Timeline measure(const zrt::Region &region);

private:
  enum class State { Idle, Running, Done };
  /// A ticket: its state, and on machines that work at the wait its event and
  /// seconds.
  struct Ticket {
    State state = State::Idle;
    const zrt::Command *command = nullptr;
    double issued = 0;
    int64_t left = 0; ///< of what was started under it, not done
  };

  void runUpdate(int64_t update);
  void runRegion(const zrt::Region &region, TimedRegion kind);
  void work(double left);
  void runKernel(const zrt::Command &command);
  void start(const zrt::Command &command);
  void startKernel(const zrt::Command &command);
  void wait(const zrt::Command &command);
  void finish(const Ticket &ticket);
  GroupSpan spanOf(const zrt::Command &command) const;
  double secondsOf(const zrt::Command &command) const;
  size_t record(const zrt::Command &command, zrt::Stream stream);
  /// Lets `seconds` pass on all streams.
  void advance(double seconds);
  int64_t busyQueues() const;
  /// When the first of the running collectives ends, from now.
  double untilNextEnd() const;
  void summarize();
  void sortByBegin();

  const CostModel &model;
  const Machine &machine;
  Timeline timeline;
  std::vector<double> kernelSeconds; ///< by kernel
  std::vector<Ticket> tickets;
  std::array<Queue, zrt::kCountOf<zrt::Stream>> queues;
  TimelineEvent next; ///< region, update and micro-batch of what comes
  double now = 0;
  bool isAlone = false; ///< without other stages
};

} // namespace

Simulation::Simulation(std::shared_ptr<const zrt::Program> program,
                       const CostModel &model)
    : model(model), machine(model.getMachine()) {
  for (const zrt::KernelSpec &spec : program->kernels)
    kernelSeconds.push_back(model.kernelSeconds(spec));
  uint32_t count = 0;
  for (const auto &[name, region] : program->regions())
    for (const zrt::Command &command : region->commands)
      count = std::max(count, command.ticket + 1);
  tickets.resize(count);
  timeline.program = std::move(program);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

int64_t Simulation::busyQueues() const {
  return llvm::count_if(
      queues, [](const Queue &queue) { return !queue.entries.empty(); });
}

double Simulation::untilNextEnd() const {
  double least = std::numeric_limits<double>::infinity();
  for (const Queue &queue : queues)
    if (!queue.entries.empty())
      least = std::min(least, queue.entries.front().seconds);
  return least * busyQueues();
}

void Simulation::advance(double seconds) {
  int64_t sharing = busyQueues();
  now += seconds;
  for (Queue &queue : queues) {
    if (queue.entries.empty())
      continue;
    Queue::Entry &first = queue.entries.front();
    first.seconds -= seconds / sharing;
    // What is left of rounding would take no time that matters.
    constexpr double kNothing = 1e-15;
    if (first.seconds > kNothing)
      continue;
    timeline.events[first.event].end = now;
    if (--tickets[first.ticket].left == 0)
      tickets[first.ticket].state = State::Done;
    queue.entries.pop_front();
    if (!queue.entries.empty())
      timeline.events[queue.entries.front().event].begin = now;
  }
}

size_t Simulation::record(const zrt::Command &command, zrt::Stream stream) {
  TimelineEvent event = next;
  event.command = &command;
  event.stream = stream;
  event.begin = event.end = event.issued = now;
  if (command.opcode == zrt::Opcode::Kernel) {
    const zrt::KernelSpec &spec = timeline.program->kernels[command.kernel];
    event.flops = spec.flops;
    event.bytes = spec.bytes;
  } else {
    event.bytes = zrt::spannedBytes(command, spanOf(command).ranks);
  }
  timeline.events.push_back(event);
  return timeline.events.size() - 1;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

GroupSpan mlir::zero::spanOf(const zrt::Program &program, uint32_t group,
                             const Machine &machine) {
  GroupSpan span;
  span.ranks = program.ranksOf(group);
  span.local = 0;
  for (int64_t rank = 0, end = machine.localRanks(program.training.ranks);
       rank < end; ++rank)
    span.local += program.mesh.numberOf(group, rank) == 0;
  return span;
}

GroupSpan Simulation::spanOf(const zrt::Command &command) const {
  return zero::spanOf(*timeline.program, command.group, machine);
}

double Simulation::secondsOf(const zrt::Command &command) const {
  if (command.parts.empty() || (isAlone && isBetweenTwo(command.collective)))
    return 0;
  GroupSpan group = spanOf(command);
  return model.collectiveSeconds(command.collective,
                                 zrt::spannedBytes(command, group.ranks),
                                 command.parts.front().type, group);
}

/// Compute works for `left` seconds, beside what other queues hold.
void Simulation::work(double left) {
  while (left > 0) {
    double slowdown = busyQueues() > 0 ? machine.overlapSlowdown : 1;
    double seconds = std::min(left * slowdown, untilNextEnd());
    advance(seconds);
    left = seconds == left * slowdown ? 0 : left - seconds / slowdown;
  }
}

void Simulation::runKernel(const zrt::Command &command) {
  size_t event = record(command, zrt::Stream::Compute);
  work(kernelSeconds[command.kernel]);
  timeline.events[event].end = now;
}

void Simulation::start(const zrt::Command &command) {
  Ticket &ticket = tickets[command.ticket];
  ticket = {State::Running, &command, now, /*left=*/1};
  if (machine.worksAtWait)
    return;
  Queue &queue = queues[static_cast<int>(command.stream)];
  size_t event = record(command, command.stream);
  queue.entries.push_back({event, command.ticket, secondsOf(command)});
  if (command.stream == zrt::Stream::Compute)
    finish(ticket);
}

/// A kernel on another queue than compute's; several may share a ticket.
void Simulation::startKernel(const zrt::Command &command) {
  Ticket &ticket = tickets[command.ticket];
  if (ticket.state != State::Running)
    ticket = {State::Running, &command, now};
  ++ticket.left;
  size_t event = record(command, command.stream);
  queues[static_cast<int>(command.stream)].entries.push_back(
      {event, command.ticket,
       model.kernelSeconds(timeline.program->kernels[command.kernel],
                           fromRuntime(command.stream))});
}

/// Whether the disk does the work, beside cores that wait for nobody.
static bool isFileQueue(const zrt::Command &command) {
  return command.stream == zrt::Stream::Read ||
         command.stream == zrt::Stream::Write;
}

void Simulation::finish(const Ticket &ticket) {
  while (ticket.state != State::Done)
    advance(untilNextEnd());
}

void Simulation::wait(const zrt::Command &command) {
  Ticket &ticket = tickets[command.ticket];
  if (ticket.state == State::Idle)
    return;
  const zrt::Command &started = *ticket.command;
  size_t event = record(command, zrt::Stream::Compute);
  timeline.events[event].started = &started;
  timeline.events[event].bytes =
      zrt::spannedBytes(started, spanOf(started).ranks);
  if (machine.worksAtWait && !isFileQueue(started)) {
    size_t inside = started.stream == zrt::Stream::Compute
                        ? event
                        : record(started, started.stream);
    timeline.events[inside].command = &started;
    timeline.events[inside].issued = ticket.issued;
    work(secondsOf(started));
    timeline.events[inside].end = now;
  } else {
    finish(ticket);
  }
  ticket.state = State::Idle;
  timeline.events[event].end = now;
}

void Simulation::runRegion(const zrt::Region &region, TimedRegion kind) {
  next.region = kind;
  for (const zrt::Command &command : region.commands) {
    if (zrt::runsBeside(command) &&
        (!machine.worksAtWait || isFileQueue(command)))
      startKernel(command);
    else if (command.opcode == zrt::Opcode::Kernel)
      runKernel(command);
    else if (command.opcode == zrt::Opcode::Wait)
      wait(command);
    else
      start(command);
  }
}

void Simulation::runUpdate(int64_t update) {
  next.update = update;
  for (int32_t i = 0; i < timeline.program->training.accumulation; ++i) {
    next.micro = i;
    runRegion(timeline.program->regionOfMicro(i), TimedRegion::Micro);
  }
  runRegion(timeline.program->apply, TimedRegion::Apply);
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

void Simulation::summarize() {
  for (const TimelineEvent &event : timeline.events) {
    double begin = std::max(event.begin, timeline.begin);
    double seconds = std::max(0.0, std::min(event.end, timeline.end) - begin);
    if (event.holdsUpCompute())
      timeline.exposed += seconds;
    else
      timeline.busy[static_cast<int>(event.stream)] += seconds;
  }
}

void Simulation::sortByBegin() {
  // Commands that begin together keep the order in which they were issued.
  std::vector<size_t> order(timeline.events.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t left, size_t right) {
    return std::make_pair(timeline.events[left].begin, left) <
           std::make_pair(timeline.events[right].begin, right);
  });
  std::vector<TimelineEvent> sorted;
  sorted.reserve(order.size());
  for (size_t index : order)
    sorted.push_back(timeline.events[index]);
  timeline.events = std::move(sorted);
}

Timeline Simulation::run() {
  runUpdate(0);
  timeline.begin = now;
  runUpdate(1);
  timeline.end = now;
  // What the last update leaves running ends after it.
  while (busyQueues() > 0)
    advance(untilNextEnd());
  summarize();
  sortByBegin();
  return std::move(timeline);
}

Timeline Simulation::measure(const zrt::Region &region) {
  isAlone = true;
  timeline.begin = now;
  runRegion(region, &region == &timeline.program->apply ? TimedRegion::Apply
                                                        : TimedRegion::Micro);
  while (busyQueues() > 0)
    advance(untilNextEnd());
  timeline.end = now;
  return std::move(timeline);
}

Timeline mlir::zero::measureRegion(std::shared_ptr<const zrt::Program> program,
                                   const zrt::Region &region,
                                   const CostModel &model) {
  return Simulation(std::move(program), model).measure(region);
}

Timeline mlir::zero::simulate(std::shared_ptr<const zrt::Program> program,
                              const CostModel &model) {
  return Simulation(std::move(program), model).run();
}

FailureOr<Timeline> mlir::zero::simulate(ModuleOp plannedModule,
                                         const Machine &machine) {
  FailureOr<zrt::Program> program = translateToProgram(plannedModule);
  if (failed(program))
    return failure();
  CostModel model(machine, program->training.ranks);
  return simulate(std::make_shared<zrt::Program>(std::move(*program)), model);
}
