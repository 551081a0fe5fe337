//===- MemoryOffload.cpp - what copies between tiers do to memory ---------===//

#include "MemoryInterpreter.h"

#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

/// This rank's slices of parameters, each in a buffer of its own: of `prefix`
/// and the parameter's name.
bool MemoryInterpreter::copySlices(Operation *op, ArrayAttr names,
                                   Value pending, StringRef prefix) {
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitionOf[name.getValue()];
    auto [begin, end] = partition.getSegmentsOf(name.getValue());
    Content content;
    content.place = rangeOf(placeAt(op, (prefix + name.getValue()).str()));
    auto packed = packedSlices.find(name.getValue());
    if (packed != packedSlices.end())
      content.marks = packed->second.marks;
    if (!(packed != packedSlices.end()
              ? read(packed->second.place, content.marks, op)
              : listOwned(partition, "parameters", op, begin, end,
                          content.marks)) ||
        !write(content.place, content.marks, op))
      return false;
    results[pending].push_back(content);
  }
  return true;
}

/// The same of what was read from a file.
bool MemoryInterpreter::upload(UploadOp op) {
  if (op.getSlices().empty())
    return copySlices(op, op.getParameters(), op.getPending(), "");
  for (auto [name, slice] :
       llvm::zip_equal(op.getParameters().getAsRange<FlatSymbolRefAttr>(),
                       op.getSlices())) {
    if (!readValue(slice, op))
      return false;
    Content content = {rangeOf(placeAt(op, name.getValue())),
                       values[slice].marks};
    if (!write(content.place, content.marks, op))
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
  for (Value operand : op.getOperands())
    if (isa<RankedTensorType>(operand.getType()) && !readValue(operand, op))
      return false;
  SmallVector<StringRef> given;
  if (!partition.hasOffloadedParameters())
    given.push_back("parameters");
  for (const UpdateOperand &operand : partition.getOperandsInFile(begin, end))
    given.push_back(operand.name);
  for (StateAttr state : partition.getStateRange())
    if (!llvm::is_contained(given, state.getName()) &&
        (!readOwned(partition, state.getName(), op, begin, end) ||
         !writeOwned(partition, state.getName(), op, begin, end)))
      return false;
  if (partition.hasParametersOnHost() &&
      ((partition.readsParameters() &&
        !readOwned(partition, "parameters", op, begin, end)) ||
       !writeOwned(partition, "parameters", op, begin, end)))
    return false;
  for (auto [name, type] :
       llvm::zip_equal(given, op.getPending().getType().getTypes())) {
    Content content = {rangeOf(placeAt(op, name)), fresh(tensorBytes(type))};
    results[op.getPending()].push_back(content);
    if (!write(content.place, content.marks, op))
      return false;
  }
  return true;
}

/// What this rank owns of everything in a file, in a buffer of its own.
bool MemoryInterpreter::readStates(ReadStatesOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  for (const UpdateOperand &operand :
       partition.getOperandsInFile(op.getBegin(), op.getEnd())) {
    Content staged;
    staged.place = rangeOf(placeAt(op, ("staged " + operand.name).str()));
    if (!listOwned(partition, operand.name, op, op.getBegin(), op.getEnd(),
                   staged.marks) ||
        !write(staged.place, staged.marks, op))
      return false;
    results[op.getPending()].push_back(staged);
  }
  return true;
}

/// Each value is what this rank owns of its state.
bool MemoryInterpreter::writeStates(WriteStatesOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  for (auto [operand, value] :
       llvm::zip_equal(partition.getOperandsInFile(op.getBegin(), op.getEnd()),
                       op.getStates()))
    if (!readValue(value, op) ||
        !storeOwned(partition, operand.name, op, op.getBegin(), op.getEnd(),
                    values[value].marks))
      return false;
  return true;
}

/// What this rank owns of [begin, end) of `name` becomes `marks`.
bool MemoryInterpreter::storeOwned(PartitionOp partition, StringRef name,
                                   Operation *op, int64_t begin, int64_t end,
                                   const Marks &marks) {
  State &state = stateOf(partition, name);
  int64_t done = 0;
  return forOwned(partition, state, begin, end,
                  [&](ByteRange place, int64_t from, int64_t bytes) {
                    Marks piece = cut(marks, done, bytes);
                    done += bytes;
                    llvm::copy(piece, state.marks.begin() + from);
                    return write(place, piece, op);
                  });
}

/// What the update gave is what this rank's elements are.
bool MemoryInterpreter::copyToDevice(CopyToDeviceOp op) {
  PartitionOp partition = partitionOf[op.getPartition()];
  return readValue(op.getValue(), op) &&
         writeOwned(partition, "parameters", op, op.getBegin(), op.getEnd()) &&
         storeOwned(partition, "parameters", op, op.getBegin(), op.getEnd(),
                    values[op.getValue()].marks);
}

bool MemoryInterpreter::completeOffload(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](UploadOp op) { return upload(op); })
      .Case([&](ReadParametersOp op) {
        return copySlices(op, op.getParameters(), op.getPending(), "staged ");
      })
      .Case([&](CopyToHostOp op) { return copyToHost(op); })
      .Case([&](UpdateOnHostOp op) { return updateOnHost(op); })
      .Case([&](CopyToDeviceOp op) { return copyToDevice(op); })
      .Case([&](ReadStatesOp op) { return readStates(op); })
      .Case([&](WriteStatesOp op) { return writeStates(op); })
      .Default([&](Operation *) { return fail(op, "has no rule"); });
}
