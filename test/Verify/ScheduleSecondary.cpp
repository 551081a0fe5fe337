//===- ScheduleSecondary.cpp - slices that nodes keep ---------------------===//

#include "ScheduleInterpreter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// This rank's elements of the parameter's segments, one after the other;
/// padding is zero.
bool ScheduleInterpreter::cutSecondary(SecondarySliceOp op) {
  PartitionOp partition = partitionOf(op.getParameter());
  if (!partition || !partition.hasShardedParameters())
    return fail(*op, "cuts what is not sharded");
  MemberAttr member = partition.findMember(op.getParameter());
  auto [begin, end] = partition.getSegmentsOf(op.getParameter());
  int64_t size = op.getOver().getSize();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array whole;
    if (!materialize(op.getValue(), rank, whole))
      return false;
    int64_t own = mesh.getIndexIn(op.getOver(), rank);
    Array slice = Array::zeros(cast<RankedTensorType>(op.getType()));
    int64_t next = 0;
    for (int64_t i = begin; i < end; ++i) {
      if (ownerOf(partition, i, size) != own)
        continue;
      if (next == slice.size())
        return fail(*op, "cuts a slice of another size");
      int64_t element = i - member.getOffset();
      slice.reals[next++] =
          element >= 0 && element < whole.size() ? whole.reals[element] : 0.0;
    }
    if (next != slice.size())
      return fail(*op, "cuts a slice of another size");
    values[rank][op.getSlice()] = std::move(slice);
  }
  return true;
}

/// By rank, the secondary slice that it sends of parameter `index`, at its
/// place in the flat space; the rest is poison.
bool ScheduleInterpreter::readSecondary(
    Operation &op, PartitionOp partition, size_t index,
    std::vector<std::vector<double>> &sent) {
  if (op.getNumOperands() == 0)
    return fail(op, "has nothing to send within a node");
  auto gather = cast<CollectiveOpInterface>(op);
  AxesAttr group = gather.getGroup(table);
  auto name = cast<FlatSymbolRefAttr>(gather.getParameterNames()[index]);
  auto [begin, end] = partition.getSegmentsOf(name.getValue());
  sent.assign(ranks, std::vector<double>(partition.getFlatElements(), NAN));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array slice;
    if (!materialize(op.getOperand(index), rank, slice))
      return false;
    int64_t next = 0;
    for (int64_t i = begin; i < end; ++i)
      if (ownerOf(partition, i, group.getSize()) ==
              mesh.getIndexIn(group, rank) &&
          next < slice.size())
        sent[rank][i] = slice.reals[next++];
  }
  return true;
}
