//===- Reductions.cpp - collectives of gradients --------------------------===//

#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

/// The buffer of a reduction: one that gradients are copied into, or the stored
/// gradient.
template <typename ReduceOp>
static AsyncBuffer makeBucket(ReduceOp op, PartitionOp partition, bool stored) {
  int64_t begin = op.getBegin(), end = op.getEnd();
  AsyncBuffer bucket =
      makeBuffer("bucket", stored ? Memory::State : Memory::Own,
                 elementTypeOf(op.getPending().getType()), end - begin);
  bucket.isRead = bucket.isWritten = bucket.isPlaced = true;
  return holdRange(std::move(bucket), partition, "gradients", begin, end);
}

template <typename ReduceOp>
static SmallVector<int64_t> offsetsInRange(ReduceOp op,
                                           const PartitionTable &partitions) {
  SmallVector<int64_t> offsets;
  if (!op.getParameters())
    return offsets;
  PartitionOp partition = partitions.find(op.getPartitionAttr());
  for (auto name : op.getParameters()->template getAsRange<FlatSymbolRefAttr>())
    offsets.push_back(
        partition.getElementsIn(name.getValue(), op.getBegin(), op.getEnd())
            .first -
        static_cast<int64_t>(op.getBegin()));
  return offsets;
}

template <typename ReduceOp> static std::string labelReduction(ReduceOp op) {
  if (op.getParameters())
    return makeLabel(op, op.getPartition(), *op.getParameters());
  return makeLabel(op, op.getPartition(), {}) + " stored";
}

// AllReduceOp

SmallVector<AsyncBuffer>
AllReduceOp::getBuffers(const PartitionTable &partitions,
                        TrainingAttr training) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  bool isStored =
      getGradients().empty() ||
      storesDirectly(partition, elementTypeOf(getPending().getType()),
                     training);
  AsyncBuffer bucket = makeBucket(*this, partition, isStored);
  bucket.result = 0;
  return {bucket};
}

SmallVector<CollectivePart>
AllReduceOp::getParts(const PartitionTable &, ArrayRef<AsyncBuffer> buffers) {
  return {{wholeOf(buffers, 0), wholeOf(buffers, 0), buffers[0].elements}};
}

SmallVector<int64_t>
AllReduceOp::getOperandOffsets(const PartitionTable &partitions) {
  return offsetsInRange(*this, partitions);
}
int64_t AllReduceOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t AllReduceOp::getElementsSent(const PartitionTable &) {
  return 2 * static_cast<int64_t>(getEnd() - getBegin());
}
Type AllReduceOp::getWireType(const PartitionTable &) {
  return elementTypeOf(getPending().getType());
}
std::string AllReduceOp::getHandleName() {
  return nameRange("gradients", getPartition(), getBegin(), getEnd());
}
std::string AllReduceOp::getLabel() { return labelReduction(*this); }
LinkKind AllReduceOp::getLink() { return LinkKind::Ranks; }
zrt::Collective AllReduceOp::getKind() { return zrt::Collective::AllReduce; }
std::optional<zrt::Reduction> AllReduceOp::getReduction() {
  return reductionOf(getPrescaled());
}
zrt::TrafficClass AllReduceOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
bool AllReduceOp::combinesReplicas() { return false; }
AxesAttr AllReduceOp::getGroup(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getCut();
}
SmallVector<PartitionRange>
AllReduceOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr AllReduceOp::getParameterNames() { return getParametersAttr(); }

// ReduceScatterOp

SmallVector<AsyncBuffer>
ReduceScatterOp::getBuffers(const PartitionTable &partitions,
                            TrainingAttr training) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  bool isStored = getGradients().empty();
  Type type = elementTypeOf(getPending().getType());
  SmallVector<AsyncBuffer> buffers = {makeBucket(*this, partition, isStored)};
  bool isDirect =
      !isStored && type && storesDirectly(partition, type, training);
  for (auto [first, last] : partition.getSegmentsIn(getBegin(), getEnd())) {
    int64_t elements = (last - first) / partition.getSlices();
    AsyncBuffer slice =
        makeBuffer("slice " + Twine(buffers.size() - 1),
                   isDirect ? Memory::State : Memory::Part, type, elements);
    slice.offset = first - static_cast<int64_t>(getBegin());
    slice.stride = elements;
    slice.over = partition.getSliceAxes();
    slice.isWritten = slice.isPlaced = true;
    slice.result = buffers.size() - 1;
    buffers.push_back(holdRange(std::move(slice), partition, "gradients", first,
                                last, AccumulateForm::Slice));
  }
  return buffers;
}

SmallVector<CollectivePart>
ReduceScatterOp::getParts(const PartitionTable &,
                          ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 1; i < buffers.size(); ++i) {
    const AsyncBuffer &slice = buffers[i];
    parts.push_back({{0, slice.begin - static_cast<int64_t>(getBegin()),
                      slice.end - slice.begin},
                     wholeOf(buffers, i),
                     slice.elements});
  }
  return parts;
}

SmallVector<int64_t>
ReduceScatterOp::getOperandOffsets(const PartitionTable &partitions) {
  return offsetsInRange(*this, partitions);
}
int64_t ReduceScatterOp::getBytes(const PartitionTable &) {
  Type type = elementTypeOf(getPending().getType());
  return type ? static_cast<int64_t>(getEnd() - getBegin()) * elementBytes(type)
              : 0;
}
int64_t ReduceScatterOp::getElementsSent(const PartitionTable &) {
  return getEnd() - getBegin();
}
Type ReduceScatterOp::getWireType(const PartitionTable &) {
  return elementTypeOf(getPending().getType());
}
std::string ReduceScatterOp::getHandleName() {
  return nameRange("gradients", getPartition(), getBegin(), getEnd());
}
std::string ReduceScatterOp::getLabel() { return labelReduction(*this); }
LinkKind ReduceScatterOp::getLink() { return LinkKind::Ranks; }
zrt::Collective ReduceScatterOp::getKind() {
  return zrt::Collective::ReduceScatter;
}
std::optional<zrt::Reduction> ReduceScatterOp::getReduction() {
  return reductionOf(getPrescaled());
}
zrt::TrafficClass ReduceScatterOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
bool ReduceScatterOp::combinesReplicas() { return false; }
AxesAttr ReduceScatterOp::getGroup(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getCut();
}
SmallVector<PartitionRange>
ReduceScatterOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr ReduceScatterOp::getParameterNames() { return getParametersAttr(); }

// BucketedReduceOp

SmallVector<AsyncBuffer>
BucketedReduceOp::getBuffers(const PartitionTable &partitions,
                             TrainingAttr training) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  auto flat = cast<RankedTensorType>(getPending().getType().getTypes()[0]);
  Type type = flat.getElementType();
  AsyncBuffer bucket =
      makeBuffer("bucket", Memory::Own, type, flat.getNumElements());
  auto range = getRange(partition);
  bucket.isRead = bucket.isWritten = bucket.isPlaced = true;
  bucket.result = 0;
  SmallVector<AsyncBuffer> buffers = {
      holdRange(std::move(bucket), partition, "gradients", range.first,
                range.second, AccumulateForm::Owned)};
  if (!storesDirectly(partition, type, training))
    return buffers;
  for (const OwnerRun &run : cutAtOwners(partition, getParameters(), range)) {
    AsyncBuffer owned = makeBuffer("owned " + Twine(buffers.size() - 1),
                                   Memory::State, type, run.count);
    owned.isWritten = true;
    owned.owner = run.owner;
    buffers.push_back(holdRange(std::move(owned), partition, "gradients",
                                run.flat, run.flat + run.count,
                                AccumulateForm::Owned));
  }
  return buffers;
}

SmallVector<CollectivePart>
BucketedReduceOp::getParts(const PartitionTable &partitions,
                           ArrayRef<AsyncBuffer> buffers) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<CollectivePart> parts;
  for (const OwnerRun &run :
       cutAtOwners(partition, getParameters(), getRange(partition))) {
    BufferSlice send = {0, run.inBucket, run.count};
    unsigned owned = parts.size() + 1;
    parts.push_back({send,
                     owned < buffers.size() ? wholeOf(buffers, owned) : send,
                     run.count, run.owner});
  }
  return parts;
}

SmallVector<int64_t>
BucketedReduceOp::getOperandOffsets(const PartitionTable &) {
  SmallVector<int64_t> offsets;
  int64_t next = 0;
  for (Value gradient : getGradients()) {
    offsets.push_back(next);
    next += cast<RankedTensorType>(gradient.getType()).getNumElements();
  }
  return offsets;
}
int64_t BucketedReduceOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t BucketedReduceOp::getElementsSent(const PartitionTable &) {
  int64_t elements = 0;
  for (Value gradient : getGradients())
    elements += cast<RankedTensorType>(gradient.getType()).getNumElements();
  return elements;
}
Type BucketedReduceOp::getWireType(const PartitionTable &) {
  return elementTypeOf(getPending().getType());
}
std::string BucketedReduceOp::getHandleName() {
  return ("gradients of " + getPartition() + " from " +
          cast<FlatSymbolRefAttr>(getParameters()[0]).getValue())
      .str();
}
std::string BucketedReduceOp::getLabel() {
  return makeLabel(*this, getPartition(), getParameters());
}
LinkKind BucketedReduceOp::getLink() { return LinkKind::Ranks; }
zrt::Collective BucketedReduceOp::getKind() { return zrt::Collective::Reduce; }
std::optional<zrt::Reduction> BucketedReduceOp::getReduction() {
  return reductionOf(getPrescaled());
}
zrt::TrafficClass BucketedReduceOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
bool BucketedReduceOp::combinesReplicas() { return false; }
AxesAttr BucketedReduceOp::getGroup(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getCut();
}
SmallVector<PartitionRange>
BucketedReduceOp::getPartitionRanges(const PartitionTable &partitions) {
  auto [begin, end] = getRange(partitions.find(getPartitionAttr()));
  return {{getPartitionAttr(), begin, end}};
}
ArrayAttr BucketedReduceOp::getParameterNames() { return getParametersAttr(); }
