//===- MemoryOffload.cpp - what copies between tiers do to memory ---------===//

#include "MemoryInterpreter.h"

#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

/// This rank's slices of parameters, each in a buffer of its own.
bool MemoryInterpreter::upload(UploadOp op) {
  for (auto name : op.getParameters().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitionOf[name.getValue()];
    auto [begin, end] = partition.getSegmentsOf(name.getValue());
    Content content;
    content.place = rangeOf(placeAt(op, name.getValue()));
    if (!listOwned(partition, "parameters", op, begin, end, content.marks) ||
        !write(content.place, content.marks, op))
      return false;
    results[op.getPending()].push_back(content);
  }
  return true;
}

bool MemoryInterpreter::copyToHost(CopyToHostOp op) {
  Content staged;
  staged.place = rangeOf(placeAt(op, "staged"));
  if (!listOwned(partitionOf[op.getPartition()], op.getState(), op,
                 op.getBegin(), op.getEnd(), staged.marks))
    return false;
  results[op.getPending()].push_back(staged);
  return write(staged.place, staged.marks, op);
}

bool MemoryInterpreter::updateOnHost(UpdateOnHostOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  const int64_t begin = op.getBegin(), end = op.getEnd();
  for (Value operand : {op.getGradients(), op.getParameters()})
    if (operand && !readValue(operand, op))
      return false;
  for (StateAttr state : partition.getStateRange())
    if (!readOwned(partition, state.getName(), op, begin, end) ||
        !writeOwned(partition, state.getName(), op, begin, end))
      return false;
  if (partition.hasParametersOnHost())
    return (!partition.readsParameters() ||
            readOwned(partition, "parameters", op, begin, end)) &&
           writeOwned(partition, "parameters", op, begin, end);
  auto type =
      cast<RankedTensorType>(op.getPending().getType().getTypes().front());
  Content content = {rangeOf(placeAt(op, "parameters")),
                     fresh(tensorBytes(type))};
  results[op.getPending()].push_back(content);
  return write(content.place, content.marks, op);
}

/// What the update gave is what this rank's elements are.
bool MemoryInterpreter::copyToDevice(CopyToDeviceOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  State &state = stateOf(partition, "parameters");
  if (!readValue(op.getValue(), op) ||
      !writeOwned(partition, "parameters", op, op.getBegin(), op.getEnd()))
    return false;
  const Marks &marks = values[op.getValue()].marks;
  int64_t done = 0;
  return forOwned(partition, state, op.getBegin(), op.getEnd(),
                  [&](ByteRange place, int64_t from, int64_t bytes) {
                    Marks piece = cut(marks, done, bytes);
                    done += bytes;
                    llvm::copy(piece, state.marks.begin() + from);
                    return write(place, piece, op);
                  });
}

bool MemoryInterpreter::completeOffload(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](UploadOp op) { return upload(op); })
      .Case([&](CopyToHostOp op) { return copyToHost(op); })
      .Case([&](UpdateOnHostOp op) { return updateOnHost(op); })
      .Case([&](CopyToDeviceOp op) { return copyToDevice(op); })
      .Default([&](Operation *) { return fail(op, "has no rule"); });
}
