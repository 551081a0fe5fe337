//===- StageQueues.cpp - stages whose ranks are devices ----------------===//
//
// On a device a message waits as well, for those before it. What a stage starts
// is queued: collectives on one queue, messages on one for each other stage,
// direction and lane. An operation begins once compute, which is in order and
// stops at waits, has come to its start and what its queue had before is over;
// it is over once all who take part have begun it. Two updates and an
// evaluation run so, as far as they get.
//
//===----------------------------------------------------------------------===//

#include "StageQueues.h"

#include "program/Collective.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

using zrt::Command;
using zrt::Opcode;
using zrt::Program;

namespace {

/// What operations of a stage wait for each other on: of a message the other
/// stage, whether it is sent, and the lane. Collectives have one queue.
using Queue = std::optional<std::tuple<size_t, bool, uint32_t>>;

/// Which of all operations it is, for everybody who takes part: the stages
/// from and to which a message goes, its lane and its number; of collectives
/// of all stages their number.
using Meeting = std::tuple<size_t, size_t, uint32_t, size_t>;

struct Operation {
  const Command *command = nullptr;
  std::string_view pass;           ///< where it is in no turn
  const zrt::Turn *turn = nullptr; ///< else
  Queue queue;
  std::optional<Meeting> meeting; ///< none: ranks of one stage are in step
  std::optional<size_t> before;   ///< on the same queue
};

/// One thing that compute does: it starts an operation or waits for one.
struct Event {
  bool isWait = false;
  size_t operation = 0;
};

struct Device {
  std::vector<Operation> operations;
  std::vector<Event> events;
  size_t event = 0; ///< compute's next
  /// Operations that compute has come to, and have not begun, in order.
  std::vector<size_t> queued;
  std::vector<char> hasBegun; ///< by operation
};

/// What a stage queues, in its order.
class Reader {
public:
  explicit Reader(const Program &program) : program(program) {}
  Device read();

private:
  void readPass(const zrt::Region &region, std::string_view name,
                const zrt::Turn *turn = nullptr);
  void start(const Command &command, Operation operation, uint32_t slot);
  std::optional<Meeting> meetingOf(const Command &command);
  Queue queueOf(const Command &command) const;

  const Program &program;
  Device device;
  std::map<std::pair<uint32_t, uint32_t>, size_t> running; ///< slot, ticket
  std::map<std::tuple<size_t, size_t, uint32_t>, size_t> messages;
  std::map<Queue, size_t> last;
  size_t ofAll = 0;
};

} // namespace

Queue Reader::queueOf(const Command &command) const {
  if (!isBetweenTwo(command.collective))
    return std::nullopt;
  const zrt::CollectivePart &part = command.parts.front();
  return std::tuple(size_t(part.root),
                    command.collective == zrt::Collective::Send, part.lane);
}

std::optional<Meeting> Reader::meetingOf(const Command &command) {
  if (!isBetweenTwo(command.collective)) {
    if (!program.mesh.meet(command.group, program.pipeline.group))
      return std::nullopt;
    return Meeting(0, 0, 0, ofAll++);
  }
  const zrt::CollectivePart &part = command.parts.front();
  std::pair<size_t, size_t> ends(program.pipeline.stage, part.root);
  if (command.collective == zrt::Collective::Receive)
    std::swap(ends.first, ends.second);
  size_t &number = messages[{ends.first, ends.second, part.lane}];
  return Meeting(ends.first, ends.second, part.lane, number++);
}

void Reader::start(const Command &command, Operation operation, uint32_t slot) {
  const size_t number = device.operations.size();
  operation.command = &command;
  operation.queue = queueOf(command);
  operation.meeting = meetingOf(command);
  if (const auto [known, isNew] = last.try_emplace(operation.queue, number);
      !isNew)
    operation.before = std::exchange(known->second, number);
  device.operations.push_back(operation);
  device.events.push_back({false, number});
  running[{slot, command.ticket}] = number;
}

void Reader::readPass(const zrt::Region &region, std::string_view name,
                      const zrt::Turn *turn) {
  const uint32_t slot = turn ? program.pipeline.slotOf(*turn) : 0;
  Operation here;
  here.pass = name;
  here.turn = turn;
  for (const Command &command : region.commands) {
    if (command.opcode == Opcode::Start)
      start(command, here, slot);
    if (command.opcode != Opcode::Wait)
      continue;
    const auto found = running.find({slot, command.ticket});
    if (found == running.end())
      continue;
    device.events.push_back({true, found->second});
    running.erase(found);
  }
}

Device Reader::read() {
  for (int update = 0; update < 2; ++update) {
    for (const zrt::Turn &turn : program.pipeline.order)
      readPass(program.regionOf(turn), "", &turn);
    readPass(program.apply, "update");
  }
  readPass(program.evaluate, "evaluation");
  return std::move(device);
}

namespace {

class Devices {
public:
  explicit Devices(const std::vector<Program> &programs);
  /// "", or who waits for what.
  std::string run();

private:
  bool isOver(size_t stage, size_t operation) const;
  bool begin(size_t stage);
  bool compute(size_t stage);
  std::string describe(size_t stage) const;

  const std::vector<Program> &programs;
  std::vector<Device> devices;
  /// Stages that take part in what is not of one stage, and who have launched.
  std::map<Meeting, size_t> wanted, arrived;
};

} // namespace

Devices::Devices(const std::vector<Program> &programs) : programs(programs) {
  for (const Program &program : programs) {
    Device &device = devices.emplace_back(Reader(program).read());
    device.hasBegun.assign(device.operations.size(), 0);
  }
  for (const Device &device : devices)
    for (const Operation &operation : device.operations)
      if (operation.meeting)
        ++wanted[*operation.meeting];
}

bool Devices::isOver(size_t stage, size_t number) const {
  const Device &device = devices[stage];
  if (!device.hasBegun[number])
    return false;
  const std::optional<Meeting> &meeting = device.operations[number].meeting;
  return !meeting || arrived.at(*meeting) == wanted.at(*meeting);
}

/// Begins what is at the front of its queue; whether anything was.
bool Devices::begin(size_t stage) {
  Device &device = devices[stage];
  std::vector<size_t> left;
  for (size_t number : device.queued) {
    const Operation &operation = device.operations[number];
    if (operation.before && !isOver(stage, *operation.before)) {
      left.push_back(number);
      continue;
    }
    if (operation.meeting)
      ++arrived[*operation.meeting];
    device.hasBegun[number] = 1;
  }
  const bool moved = left.size() < device.queued.size();
  device.queued = std::move(left);
  return moved;
}

/// Goes on to the first operation that is waited for and not over.
bool Devices::compute(size_t stage) {
  Device &device = devices[stage];
  bool moved = false;
  for (; device.event < device.events.size(); ++device.event) {
    const Event &event = device.events[device.event];
    if (event.isWait && !isOver(stage, event.operation))
      break;
    if (!event.isWait)
      device.queued.push_back(event.operation);
    moved = true;
  }
  return moved;
}

std::string Devices::describe(size_t stage) const {
  const Device &device = devices[stage];
  const size_t number = device.event < device.events.size()
                            ? device.events[device.event].operation
                            : device.queued.front();
  const Operation &operation = device.operations[number];
  return "stage " + std::to_string(stage) + " in the " +
         (operation.turn ? programs[stage].describe(*operation.turn)
                         : std::string(operation.pass)) +
         " waits for '" + operation.command->label + "'";
}

std::string Devices::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stage = 0; stage < devices.size(); ++stage) {
      moved |= compute(stage);
      moved |= begin(stage);
    }
  }
  std::string waiting;
  for (size_t stage = 0; stage < devices.size(); ++stage)
    if (devices[stage].event < devices[stage].events.size() ||
        !devices[stage].queued.empty())
      waiting += (waiting.empty() ? "" : "; ") + describe(stage);
  return waiting.empty() ? "" : "on devices no stage can go on: " + waiting;
}

std::string zrt::findQueueFault(const std::vector<Program> &stages) {
  return Devices(stages).run();
}
