//===- PartitionTable.cpp - partitions by name and by parameter -----------===//

#include "zero/Dialect/Zero/PartitionTable.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

static Operation *findModule(Operation *op) {
  return isa<ModuleOp>(op) ? op : op->getParentOfType<ModuleOp>();
}

PartitionTable::PartitionTable(Operation *op) : unread(findModule(op)) {}

void PartitionTable::read() const {
  auto module = cast_if_present<ModuleOp>(std::exchange(unread, nullptr));
  if (!module)
    return;
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    named[partition.getSymNameAttr()] = partition;
    for (MemberAttr member : partition.getMemberRange()) {
      partitions[member.getParameter().getAttr()] = partition;
      members[member.getParameter().getAttr()] = member;
    }
  }
}

PartitionOp PartitionTable::find(FlatSymbolRefAttr partition) const {
  read();
  return named.lookup(partition.getAttr());
}

PartitionOp PartitionTable::getPartition(StringAttr parameter) const {
  read();
  return partitions.lookup(parameter);
}

MemberAttr PartitionTable::getMember(StringAttr parameter) const {
  read();
  return members.lookup(parameter);
}

std::pair<int64_t, int64_t>
PartitionTable::getSegmentsOf(StringAttr parameter) const {
  PartitionOp partition = getPartition(parameter);
  if (!partition)
    return {0, 0};
  MemberAttr member = getMember(parameter);
  return {member.getOffset(),
          *llvm::lower_bound(partition.getSegments(),
                             member.getOffset() + member.getSize())};
}

SmallVector<FlatSymbolRefAttr> mlir::zero::getResidentParameters(StepOp step) {
  SmallVector<FlatSymbolRefAttr> residents;
  auto initialize = step.getRegionOp<InitializeOp>();
  if (!initialize)
    return residents;
  PartitionTable partitions(step);
  for (auto start : initialize.getBody().getOps<AsyncOpInterface>())
    for (const AsyncBuffer &buffer :
         start.getBuffers(partitions, step.getTraining().value_or(nullptr)))
      if (buffer.memory == AsyncBuffer::Memory::Resident)
        residents.push_back(buffer.parameter);
  return residents;
}

int64_t mlir::zero::elementBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

bool mlir::zero::storesDirectly(PartitionOp partition, Type type,
                                TrainingAttr training) {
  return training.getAccumulation() == 1 && partition.getGradientType() == type;
}

SmallVector<OwnerRun>
mlir::zero::cutAtOwners(PartitionOp partition, ArrayAttr parameters,
                        std::pair<int64_t, int64_t> range) {
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  SmallVector<OwnerRun> runs;
  int64_t inBucket = 0;
  for (auto symbol : parameters.getAsRange<FlatSymbolRefAttr>()) {
    auto [flat, end] =
        partition.getElementsIn(symbol.getValue(), range.first, range.second);
    while (flat < end) {
      int64_t owner = flat / slice;
      int64_t count = std::min(end, (owner + 1) * slice) - flat;
      if (!runs.empty() && runs.back().owner == owner &&
          runs.back().flat + runs.back().count == flat)
        runs.back().count += count;
      else
        runs.push_back({owner, flat, inBucket, count});
      flat += count;
      inBucket += count;
    }
  }
  return runs;
}
