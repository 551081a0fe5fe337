//===- ReplicaReduction.cpp - what replicas combine -----------------------===//

#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

/// The buffers of the stored gradients that this rank owns: a slice of each
/// segment, or the whole range if nothing is cut.
SmallVector<AsyncBuffer>
AllReduceOwnedOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  auto add = [&](int64_t begin, int64_t end, int64_t slices,
                 AccumulateForm form) {
    AsyncBuffer owned =
        makeBuffer("owned " + Twine(buffers.size()), Memory::State,
                   partition.getGradientType(), (end - begin) / slices);
    owned.isRead = owned.isWritten = true;
    buffers.push_back(
        holdRange(std::move(owned), partition, "gradients", begin, end, form));
  };
  if (!partition.hasShardedOptimizer())
    add(getBegin(), getEnd(), 1, AccumulateForm::Whole);
  else if (partition.hasShardedParameters()) // slices are one run
    add(getBegin(), getEnd(), partition.getSlices(), AccumulateForm::Slice);
  else
    for (auto [begin, end] : partition.getSegmentsIn(getBegin(), getEnd()))
      add(begin, end, partition.getSlices(), AccumulateForm::Slice);
  return buffers;
}

SmallVector<CollectivePart>
AllReduceOwnedOp::getParts(const PartitionTable &,
                           ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 0; i < buffers.size(); ++i)
    parts.push_back(
        {wholeOf(buffers, i), wholeOf(buffers, i), buffers[i].elements});
  return parts;
}

/// Elements of the range that one rank owns.
static int64_t ownedElements(AllReduceOwnedOp op,
                             const PartitionTable &partitions) {
  PartitionOp partition = partitions.find(op.getPartitionAttr());
  int64_t elements = op.getEnd() - op.getBegin();
  return partition.hasShardedOptimizer() ? elements / partition.getSlices()
                                         : elements;
}

SmallVector<int64_t>
AllReduceOwnedOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t AllReduceOwnedOp::getBytes(const PartitionTable &partitions) {
  return ownedElements(*this, partitions) *
         elementBytes(getWireType(partitions));
}
int64_t AllReduceOwnedOp::getElementsSent(const PartitionTable &partitions) {
  return 2 * ownedElements(*this, partitions);
}
Type AllReduceOwnedOp::getWireType(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getGradientType();
}
std::string AllReduceOwnedOp::getHandleName() {
  return nameRange("owned gradients", getPartition(), getBegin(), getEnd());
}
std::string AllReduceOwnedOp::getLabel() {
  return makeLabel(*this, getPartition(), {});
}
LinkKind AllReduceOwnedOp::getLink() { return LinkKind::Ranks; }
zrt::Collective AllReduceOwnedOp::getKind() {
  return zrt::Collective::AllReduce;
}
std::optional<zrt::Reduction> AllReduceOwnedOp::getReduction() {
  return reductionOf(getPrescaled());
}
zrt::TrafficClass AllReduceOwnedOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
bool AllReduceOwnedOp::combinesReplicas() { return true; }
AxesAttr AllReduceOwnedOp::getGroup(const PartitionTable &partitions) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  return partition.getOver().without(partition.getCut());
}
SmallVector<PartitionRange>
AllReduceOwnedOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr AllReduceOwnedOp::getParameterNames() { return {}; }
