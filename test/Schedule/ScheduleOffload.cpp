//===- ScheduleOffload.cpp - copies to the host, and updates there --------===//

#include "ScheduleInterpreter.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// The elements of [begin, end) that `rank` owns, in order.
SmallVector<int64_t> ScheduleInterpreter::listOwned(PartitionOp partition,
                                                    int64_t begin, int64_t end,
                                                    int64_t rank) {
  SmallVector<int64_t> owned;
  for (int64_t i = begin; i < end; ++i)
    if (isOwned(partition, i, rank, partition.hasShardedOptimizer()))
      owned.push_back(i);
  return owned;
}

/// One element's update: momentum and decoupled decay, sensitive to the
/// gradient's size and to how often it runs.
void ScheduleInterpreter::updateElement(double gradient, double factor,
                                        double &moment, double &parameter) {
  moment = 0.9 * moment + gradient * factor;
  parameter -= (0.1 + 0.05 * count) * moment + 0.01 * parameter;
}

bool ScheduleInterpreter::readToHost(CopyToHostOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    RankState &own = states[op.getPartition()][rank];
    const auto &source =
        op.getState() == "gradients" ? own.gradients : own.parameters;
    auto &copied = flight.payload[rank].emplace_back();
    for (int64_t i : listOwned(partition, op.getBegin(), op.getEnd(), rank))
      copied.push_back(source[i]);
  }
  return true;
}

/// This rank's elements of slices in host memory, one after the other.
bool ScheduleInterpreter::readUpload(UploadOp op, Flight &flight) {
  for (auto name : op.getParameters().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitionOf(name.getValue());
    if (!partition || !partition.hasParametersOnHost())
      return fail(*op, "copies what is not in host memory");
    auto [begin, end] = partition.getSegmentsOf(name.getValue());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const auto &source = states[partition.getSymName()][rank].parameters;
      auto &slice = flight.payload[rank].emplace_back();
      for (int64_t i : listOwned(partition, begin, end, rank))
        slice.push_back(source[i]);
    }
  }
  return true;
}

/// By rank, what it sends of parameter `index`, at its place in the flat space.
bool ScheduleInterpreter::readSlices(Operation &op, PartitionOp partition,
                                     size_t index,
                                     std::vector<std::vector<double>> &sent) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    sent.push_back(states[partition.getSymName()][rank].parameters);
  if (op.getNumOperands() == 0)
    return !partition.hasParametersOnHost() ||
           fail(op, "sends what is in host memory");
  auto names = cast<CollectiveOpInterface>(op).getParameterNames();
  auto [begin, end] =
      partition.getSegmentsOf(cast<FlatSymbolRefAttr>(names[index]).getValue());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array slice;
    if (!materialize(op.getOperand(index), rank, slice))
      return false;
    SmallVector<int64_t> owned = listOwned(partition, begin, end, rank);
    if (owned.size() != slice.reals.size())
      return fail(op, "sends a slice of another size");
    for (auto [i, element] : llvm::zip_equal(owned, slice.reals))
      sent[rank][i] = element;
  }
  return true;
}

/// The moment as state `index`: each differs, so that none stands for another.
static std::vector<double> disguise(std::vector<double> moments, size_t index) {
  for (double &moment : moments)
    moment = std::ldexp(moment, index);
  return moments;
}

bool ScheduleInterpreter::readStates(ReadStatesOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> moments;
    for (int64_t i : listOwned(partition, op.getBegin(), op.getEnd(), rank))
      moments.push_back(states[op.getPartition()][rank].moment[i]);
    for (size_t i = 0; i < partition.getStateList().size(); ++i)
      flight.payload[rank].push_back(disguise(moments, i));
  }
  return true;
}

/// The moments that copies of states stand for; undefined where they do not
/// agree.
bool ScheduleInterpreter::readCopies(UpdateOnHostOp op, int64_t rank,
                                     std::vector<double> &moments) {
  for (auto [index, state] : llvm::enumerate(op.getStates())) {
    Array copy;
    if (!materialize(state, rank, copy) || copy.reals.size() != moments.size())
      return fail(*op, "reads what is not there");
    for (auto [moment, found] : llvm::zip_equal(moments, copy.reals))
      moment = index == 0 || std::ldexp(moment, index) == found
                   ? std::ldexp(found, -int(index))
                   : NAN;
  }
  return true;
}

/// Gives parameters and states, as the operation does; and after them moments
/// and parameters that are to be stored where they are.
bool ScheduleInterpreter::readHostUpdate(UpdateOnHostOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array gradients, parameters;
    RankState &own = states[op.getPartition()][rank];
    SmallVector<int64_t> owned =
        listOwned(partition, op.getBegin(), op.getEnd(), rank);
    if (partition.hasParametersOnHost())
      for (int64_t i : owned)
        parameters.reals.push_back(own.parameters[i]);
    else if (!op.getParameters() ||
             !materialize(op.getParameters(), rank, parameters))
      return fail(*op, "reads what is not there");
    if (!materialize(op.getGradients(), rank, gradients))
      return fail(*op, "reads what is not there");
    std::vector<double> moments;
    for (int64_t i : owned)
      moments.push_back(own.moment[i]);
    if (!op.getStates().empty() && !readCopies(op, rank, moments))
      return false;
    for (size_t i = 0; i < owned.size(); ++i)
      updateElement(gradients.reals[i], control[rank].factor, moments[i],
                    parameters.reals[i]);
    auto &given = flight.payload[rank];
    if (!partition.hasParametersOnHost())
      given.push_back(parameters.reals);
    for (size_t i = 0; i < op.getStates().size(); ++i)
      given.push_back(disguise(moments, i));
    if (op.getStates().empty())
      given.push_back(moments);
    if (partition.hasParametersOnHost())
      given.push_back(parameters.reals);
  }
  // Until it ends, parameters that it updates in place are neither old nor new.
  if (partition.hasParametersOnHost())
    poisonUpdated(partition, op.getBegin(), op.getEnd());
  return true;
}

bool ScheduleInterpreter::readOperands(OperandRange operands, Flight &flight) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (Value operand : operands) {
      Array value;
      if (!materialize(operand, rank, value))
        return false;
      flight.payload[rank].push_back(value.reals);
    }
  return true;
}

bool ScheduleInterpreter::readOffload(Flight &flight) {
  flight.payload.resize(ranks);
  return llvm::TypeSwitch<Operation *, bool>(flight.op)
      .Case([&](CopyToHostOp op) { return readToHost(op, flight); })
      .Case([&](UpdateOnHostOp op) { return readHostUpdate(op, flight); })
      .Case([&](UploadOp op) { return readUpload(op, flight); })
      .Case([&](ReadStatesOp op) { return readStates(op, flight); })
      .Case([&](WriteStatesOp op) {
        return readOperands(op.getStates(), flight);
      })
      .Case<CopyToDeviceOp, OffloadOp, FetchOp>([&](Operation *op) {
        return readOperands(op->getOperands().take_front(), flight);
      })
      .Default([&](Operation *op) { return fail(*op, "has no rule"); });
}

/// What is written must be the states of one moment, each in its place.
bool ScheduleInterpreter::storeStates(WriteStatesOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto &moment = states[op.getPartition()][rank].moment;
    for (auto [index, i] : llvm::enumerate(
             listOwned(partition, op.getBegin(), op.getEnd(), rank))) {
      moment[i] = flight.payload[rank][0][index];
      for (size_t state = 1; state < op.getStates().size(); ++state)
        if (flight.payload[rank][state][index] != std::ldexp(moment[i], state))
          moment[i] = NAN;
    }
  }
  return true;
}

bool ScheduleInterpreter::writeOffload(Flight &flight) {
  auto store = [&](auto op, std::vector<double> RankState::*state,
                   size_t result) {
    PartitionOp partition = partitions.lookup(op.getPartition());
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (auto [index, i] : llvm::enumerate(
               listOwned(partition, op.getBegin(), op.getEnd(), rank)))
        (states[op.getPartition()][rank].*state)[i] =
            flight.payload[rank][result][index];
    return true;
  };
  if (auto update = dyn_cast<UpdateOnHostOp>(flight.op)) {
    size_t next = update.getPending().getType().getTypes().size();
    if (update.getStates().empty())
      store(update, &RankState::moment, next++);
    if (partitions.lookup(update.getPartition()).hasParametersOnHost())
      store(update, &RankState::parameters, next);
    return true;
  }
  if (auto write = dyn_cast<WriteStatesOp>(flight.op))
    return storeStates(write, flight);
  if (auto copy = dyn_cast<CopyToDeviceOp>(flight.op))
    return store(copy, &RankState::parameters, 0);
  return true;
}

/// Parameters that are being written, and copies of what they were.
void ScheduleInterpreter::poisonUpdated(PartitionOp partition, int64_t begin,
                                        int64_t end) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto &parameters = states[partition.getSymName()][rank].parameters;
    std::fill(parameters.begin() + begin, parameters.begin() + end, NAN);
    for (MemberAttr member : partition.getMemberRange())
      if (member.getOffset() < end &&
          member.getOffset() + member.getSize() > begin)
        if (auto found = residents.find(member.getParameter().getValue());
            found != residents.end())
          llvm::fill(found->second[rank], NAN);
  }
}

/// States that are being written.
void ScheduleInterpreter::poisonMoments(PartitionOp partition, int64_t begin,
                                        int64_t end) {
  for (RankState &own : states[partition.getSymName()])
    std::fill(own.moment.begin() + begin, own.moment.begin() + end, NAN);
}
