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

/// This rank's elements of slices in `tier`, one after the other.
bool ScheduleInterpreter::readTier(Operation &op, ArrayAttr names,
                                   MemoryTier tier, Flight &flight) {
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitionOf(name.getValue());
    if (!partition || partition.getParameterTier() != tier)
      return fail(op, "copies what is in another tier");
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
    return !partition.hasOffloadedParameters() ||
           fail(op, "sends what is not on the device");
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
    const RankState &own = states[op.getPartition()][rank];
    std::vector<double> moments, parameters;
    for (int64_t i : listOwned(partition, op.getBegin(), op.getEnd(), rank)) {
      moments.push_back(own.moment[i]);
      parameters.push_back(own.parameters[i]);
    }
    size_t index = 0;
    for (const UpdateOperand &operand :
         partition.getOperandsInFile(op.getBegin(), op.getEnd()))
      flight.payload[rank].push_back(operand.kind == UpdateOperand::State
                                         ? disguise(moments, index++)
                                         : parameters);
  }
  return true;
}

/// The moments that copies of states stand for, undefined where they do not
/// agree; and copies of parameters.
bool ScheduleInterpreter::readCopies(UpdateOnHostOp op, int64_t rank,
                                     std::vector<double> &moments,
                                     std::vector<double> &parameters) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  int index = 0;
  for (auto [operand, state] :
       llvm::zip_equal(partition.getOperandsInFile(op.getBegin(), op.getEnd()),
                       op.getStates())) {
    Array copy;
    if (!materialize(state, rank, copy) || copy.reals.size() != moments.size())
      return fail(*op, "reads what is not there");
    if (operand.kind == UpdateOperand::Parameters) {
      parameters = copy.reals;
      continue;
    }
    for (auto [moment, found] : llvm::zip_equal(moments, copy.reals))
      moment = index == 0 || std::ldexp(moment, index) == found
                   ? std::ldexp(found, -index)
                   : NAN;
    ++index;
  }
  return true;
}

/// What the update of `op` reads of states and parameters, element by element.
bool ScheduleInterpreter::readUpdated(UpdateOnHostOp op, int64_t rank,
                                      std::vector<double> &moments,
                                      std::vector<double> &parameters) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  const RankState &own = states[op.getPartition()][rank];
  for (int64_t i : listOwned(partition, op.getBegin(), op.getEnd(), rank)) {
    moments.push_back(own.moment[i]);
    if (partition.hasParametersOnHost())
      parameters.push_back(own.parameters[i]);
  }
  Array copied;
  if (!partition.hasOffloadedParameters()) {
    if (!op.getParameters() || !materialize(op.getParameters(), rank, copied))
      return fail(*op, "reads what is not there");
    parameters = copied.reals;
  }
  return readCopies(op, rank, moments, parameters);
}

/// Whether the states that `op` updates are in a file.
static bool hasStatesInFile(UpdateOnHostOp op, PartitionOp partition) {
  return llvm::any_of(partition.getOperandsInFile(op.getBegin(), op.getEnd()),
                      [](const UpdateOperand &operand) {
                        return operand.kind == UpdateOperand::State;
                      });
}

/// Gives parameters and what is in a file, as the operation does; and after
/// them moments and parameters that are to be stored where they are.
bool ScheduleInterpreter::readHostUpdate(UpdateOnHostOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array gradients;
    std::vector<double> moments, parameters;
    if (!readUpdated(op, rank, moments, parameters))
      return false;
    if (!materialize(op.getGradients(), rank, gradients))
      return fail(*op, "reads what is not there");
    for (size_t i = 0; i < moments.size(); ++i)
      updateElement(gradients.reals[i], control[rank].factor, moments[i],
                    parameters[i]);
    auto &given = flight.payload[rank];
    if (!partition.hasOffloadedParameters())
      given.push_back(parameters);
    size_t index = 0;
    for (const UpdateOperand &operand :
         partition.getOperandsInFile(op.getBegin(), op.getEnd()))
      given.push_back(operand.kind == UpdateOperand::State
                          ? disguise(moments, index++)
                          : parameters);
    if (!hasStatesInFile(op, partition))
      given.push_back(moments);
    if (partition.hasParametersOnHost())
      given.push_back(parameters);
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
      .Case([&](UploadOp op) {
        return op.getSlices().empty()
                   ? readTier(*op, op.getParameters(), MemoryTier::Host, flight)
                   : readOperands(op.getSlices(), flight);
      })
      .Case([&](ReadParametersOp op) {
        return readTier(*op, op.getParameters(), MemoryTier::File, flight);
      })
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
  SmallVector<UpdateOperand> inFile =
      partition.getOperandsInFile(op.getBegin(), op.getEnd());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    RankState &own = states[op.getPartition()][rank];
    for (auto [index, i] : llvm::enumerate(
             listOwned(partition, op.getBegin(), op.getEnd(), rank))) {
      int state = 0;
      for (auto [operand, written] :
           llvm::zip_equal(inFile, flight.payload[rank])) {
        if (operand.kind == UpdateOperand::Parameters)
          own.parameters[i] = written[index];
        else if (state == 0)
          own.moment[i] = written[index];
        else if (written[index] != std::ldexp(own.moment[i], state))
          own.moment[i] = NAN;
        state += operand.kind == UpdateOperand::State;
      }
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
    PartitionOp partition = partitions.lookup(update.getPartition());
    if (!hasStatesInFile(update, partition))
      store(update, &RankState::moment, next++);
    if (partition.hasParametersOnHost())
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

/// States and parameters that are being written to a file.
void ScheduleInterpreter::poisonInFile(PartitionOp partition, int64_t begin,
                                       int64_t end) {
  for (const UpdateOperand &operand : partition.getOperandsInFile(begin, end))
    if (operand.kind == UpdateOperand::Parameters)
      poisonUpdated(partition, begin, end);
    else
      for (RankState &own : states[partition.getSymName()])
        std::fill(own.moment.begin() + begin, own.moment.begin() + end, NAN);
}
