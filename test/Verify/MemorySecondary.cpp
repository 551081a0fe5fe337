//===- MemorySecondary.cpp - slices that nodes keep, in memory ------------===//

#include "MemoryInterpreter.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Views.h"

using namespace mlir;
using namespace mlir::zero;

/// What this rank's secondary slice of a parameter is to hold.
Marks MemoryInterpreter::listSecondary(PartitionOp partition,
                                       StringRef parameter, AxesAttr over) {
  const State &state = stateOf(partition, "parameters");
  AxesAttr mesh = getMesh(module, *step.getTraining()).all;
  int64_t own = mesh.getIndexIn(over, rank);
  auto [first, last] = partition.getSegmentsOf(parameter);
  Marks marks;
  for (auto [begin, end] : partition.getSegmentsIn(first, last)) {
    int64_t bytes = (end - begin) / over.getSize() * state.bytes;
    llvm::append_range(
        marks, cut(state.marks, begin * state.bytes + own * bytes, bytes));
  }
  return marks;
}

/// Reads this rank's slice of each segment where the parameter was gathered,
/// padding included, and writes them one after the other.
bool MemoryInterpreter::cutSecondary(SecondarySliceOp op) {
  if (!readValue(op.getValue(), op))
    return false;
  PartitionOp partition = partitionOf[op.getParameter()];
  State &state = stateOf(partition, "parameters");
  AxesAttr mesh = getMesh(module, *step.getTraining()).all;
  int64_t own = mesh.getIndexIn(op.getOver(), rank);
  const ByteRange whole = values[getRoot(op.getValue())].place;
  Content slice;
  slice.place = rangeOf(
      cast<AtAttr>(op->getAttrOfType<ArrayAttr>("zero.at").getValue().front()));
  slice.marks = listSecondary(partition, op.getParameter(), op.getOver());
  if (slice.place.overlaps(whole))
    return fail(op, "writes what it reads");
  auto [first, last] = partition.getSegmentsOf(op.getParameter());
  int64_t next = 0;
  for (auto [begin, end] : partition.getSegmentsIn(first, last)) {
    int64_t bytes = (end - begin) / op.getOver().getSize() * state.bytes;
    int64_t from = (begin - first) * state.bytes + own * bytes;
    if (!read(part(whole, from, bytes), cut(slice.marks, next, bytes), op))
      return false;
    next += bytes;
  }
  if (!write(slice.place, slice.marks, op))
    return false;
  values[op.getSlice()] = slice;
  return true;
}
