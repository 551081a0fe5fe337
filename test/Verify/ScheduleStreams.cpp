//===- ScheduleStreams.cpp - when started operations run ------------------===//
//
// Between start and wait an operation reads, then writes; an evaluation begins
// when all have. A device's stream runs its operations in order, and so do
// early and random completion; a communicator of the host may end each at its
// own wait alone, and so does late completion.
//
//===----------------------------------------------------------------------===//

#include "ScheduleInterpreter.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"

using namespace mlir;
using namespace mlir::zero;

/// Reads, where that is not done, or else writes.
bool ScheduleInterpreter::advance(Flight &flight) {
  return flight.isRead ? write(flight) : read(flight);
}

/// Runs `handle` to its end, and before it what its stream has before it.
bool ScheduleInterpreter::finish(Value handle) {
  auto &queue = queues[static_cast<int>(getStream(flights[handle].op))];
  auto last = llvm::find(queue, handle);
  auto first = options.completion == Completion::Late ? last : queue.begin();
  for (auto next = first; next <= last; ++next)
    while (!flights[*next].isDone)
      if (!advance(flights[*next]))
        return false;
  queue.erase(first, last + 1);
  return true;
}

/// By chance, lets a stream go on by one step.
bool ScheduleInterpreter::runSome() {
  if (options.completion != Completion::Random || random() % 2)
    return true;
  auto &queue = queues[random() % std::size(queues)];
  if (queue.empty())
    return true;
  Flight &first = flights[queue.front()];
  if (!advance(first))
    return false;
  if (first.isDone)
    queue.erase(queue.begin());
  return true;
}

bool ScheduleInterpreter::drain() {
  for (auto &queue : queues)
    while (!queue.empty())
      if (!finish(queue.front()))
        return false;
  flights.clear();
  carried.clear();
  return true;
}

bool ScheduleInterpreter::start(AsyncOpInterface op) {
  if (step.getTraining()->isSilent() && isCollective(op))
    return fail(*op, "has no other rank");
  Value handle = op.getPending();
  if (flights.contains(handle))
    return fail(*op, "starts while it is running");
  flights[handle].op = op;
  queues[static_cast<int>(op.getStream())].push_back(handle);
  poisonTargets(op);
  return options.completion != Completion::Early || finish(handle);
}

bool ScheduleInterpreter::carry(CarryOp op) {
  auto found = flights.find(op.getPending());
  if (found == flights.end())
    return fail(*op, "carries what is not in flight");
  if (found->second.isCarried)
    return fail(*op, "carries a second time");
  Value &named = carried[op.getHandle()];
  if (named)
    return fail(*op, "loses what is in flight under its name");
  named = op.getPending();
  found->second.isCarried = true;
  return true;
}

bool ScheduleInterpreter::take(CarriedOp op) {
  Value &named = carried[op.getHandle()];
  taken[op.getPending()] = named;
  if (named)
    flights[named].isCarried = false;
  named = Value();
  return true;
}

bool ScheduleInterpreter::wait(WaitOp op) {
  Value handle = op.getPending();
  bool isTaken = handle.getDefiningOp<CarriedOp>() != nullptr;
  if (isTaken) {
    auto found = taken.find(handle);
    if (found == taken.end())
      return fail(*op, "waits a second time");
    handle = found->second;
    taken.erase(found);
    if (!handle)
      return op.getNumResults() == 0 ||
             fail(*op, "wants tensors where nothing is in flight");
  }
  if (!flights.contains(handle))
    return fail(*op, "waits for what is not in flight");
  if (flights[handle].isCarried)
    return fail(*op, "waits for what it has carried");
  if (!flights[handle].isDone && !finish(handle))
    return false;
  Flight flight = std::move(flights[handle]);
  flights.erase(handle);
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Array value = Array::zeros(result.getType());
      // Bytes of a packed slice stand for its elements, which are not rounded.
      const bool isPacked = cast<RankedTensorType>(result.getType())
                                .getElementType()
                                .isInteger(8);
      if (index >= flight.payload[rank].size() ||
          (!isPacked &&
           value.reals.size() != flight.payload[rank][index].size()))
        return fail(*op, "gives another size than was sent");
      value.reals = flight.payload[rank][index];
      values[rank][result] = std::move(value);
    }
    if (isGather(flight.op) || isa<FetchOp>(flight.op))
      due[result] = op;
  }
  // What a carried operation has read is gone with its region.
  if (!isTaken)
    for (Value operand : flight.op->getOperands())
      if (Operation *producer = getRoot(operand).getDefiningOp();
          producer && isa<RankedTensorType>(operand.getType()) &&
          !isa<LoadOp>(producer))
        due[getRoot(operand)] = flight.op;
  return true;
}

/// What is carried and not read yet stays when its region ends.
void ScheduleInterpreter::keepSources(DenseMap<Value, Array> &from,
                                      DenseMap<Value, Array> &to) {
  for (auto &[handle, flight] : flights)
    if (!flight.isRead)
      for (Value operand : flight.op->getOperands())
        if (auto found = from.find(getRoot(operand)); found != from.end())
          to[getRoot(operand)] = found->second;
}
