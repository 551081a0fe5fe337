//===- MemoryExchanges.cpp - what exchanges of gradients do to memory -----===//

#include "MemoryInterpreter.h"

using namespace mlir;
using namespace mlir::zero;

/// Writes what is new to the buffer of operand `index`, and remembers it.
bool MemoryInterpreter::writeExchanged(Operation *op, StringRef what,
                                       size_t index) {
  std::string name = (what + " " + Twine(index)).str();
  ByteRange place = rangeOf(placeAt(op, name));
  Marks &marks = exchanged[{op, name}];
  marks = fresh(place.end - place.begin);
  return write(place, marks, op);
}

bool MemoryInterpreter::readExchanged(Operation *op, StringRef what,
                                      size_t index) {
  std::string name = (what + " " + Twine(index)).str();
  return read(rangeOf(placeAt(op, name)), exchanged[{op, name}], op);
}

/// What is packed takes in what earlier exchanges of it have lost, and leaves
/// what it loses.
bool MemoryInterpreter::updateErrors(ExchangeGradientsOp op, size_t index) {
  if (!op.getFeedback())
    return true;
  PartitionOp partition = partitionOf[op.getPartition()];
  bool isBetween = op.getStep() == ExchangeStep::Between;
  State &state = stateOf(partition, isBetween ? "errors_between" : "errors");
  if (state.marks.empty())
    return fail(op, "has no errors");
  auto [begin, end] =
      partition.getSegmentsIn(op.getBegin(), op.getEnd())[index];
  if (isBetween)
    begin = begin * op.getOver().getSize() / partition.getSlices();
  auto type = cast<RankedTensorType>(op->getOperand(index).getType());
  ByteRange place = part(baseOf(state, 0), begin * state.bytes,
                         type.getNumElements() * state.bytes);
  auto first = state.marks.begin() + begin * state.bytes;
  Marks marks = fresh(place.end - place.begin);
  if (!read(place, Marks(first, first + marks.size()), op))
    return false;
  llvm::copy(marks, first);
  return write(place, marks, op);
}

/// Before it starts: every operand is packed.
bool MemoryInterpreter::packGradients(ExchangeGradientsOp op) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!readValue(operand, op) || !updateErrors(op, index) ||
        !writeExchanged(op, "packed", index))
      return false;
  return true;
}

bool MemoryInterpreter::exchangeGradients(ExchangeGradientsOp op) {
  for (size_t i = 0; i < op->getNumOperands(); ++i)
    if (!readExchanged(op, "packed", i) || !writeExchanged(op, "arrived", i))
      return false;
  return true;
}

/// At the wait: what has arrived must be there still.
bool MemoryInterpreter::addUpGradients(ExchangeGradientsOp op) {
  SmallVector<Content> &sums = results[op.getPending()];
  for (auto [index, type] :
       llvm::enumerate(op.getPending().getType().getTypes())) {
    if (!readExchanged(op, "arrived", index))
      return false;
    Content &sum = sums.emplace_back();
    sum.place = rangeOf(placeAt(op, "sum " + Twine(index)));
    sum.marks = fresh(tensorBytes(type));
    if (!write(sum.place, sum.marks, op))
      return false;
  }
  return true;
}
