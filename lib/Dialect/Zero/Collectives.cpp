//===- Collectives.cpp - what each collective tells of itself -------------===//
//
// The only file that knows the collectives one by one: everything else asks
// AsyncOpInterface and CollectiveOpInterface.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"

#include "program/Collective.h"
#include "program/Control.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static AsyncBuffer makeBuffer(const Twine &name, Memory memory, Type type,
                              int64_t elements) {
  AsyncBuffer buffer;
  buffer.name = name.str();
  buffer.memory = memory;
  buffer.type = type;
  buffer.elements = elements;
  return buffer;
}

/// Elements [begin, end) of `state`, in the form in which `memory` holds them.
static AsyncBuffer holdRange(AsyncBuffer buffer, PartitionOp partition,
                             StringRef state, int64_t begin, int64_t end,
                             AccumulateForm form = AccumulateForm::Whole) {
  buffer.partition = FlatSymbolRefAttr::get(partition.getSymNameAttr());
  buffer.state = state;
  buffer.begin = begin;
  buffer.end = end;
  buffer.form = form;
  return buffer;
}

static BufferSlice wholeOf(ArrayRef<AsyncBuffer> buffers, unsigned index) {
  return {index, 0, buffers[index].elements};
}

static Type elementTypeOf(Type pending) {
  ArrayRef<Type> types = cast<PendingType>(pending).getTypes();
  return types.empty() ? Type()
                       : cast<RankedTensorType>(types[0]).getElementType();
}

static int64_t bytesOf(Type pending) {
  int64_t bytes = 0;
  for (Type type : cast<PendingType>(pending).getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += tensor.getNumElements() * elementBytes(tensor.getElementType());
  }
  return bytes;
}

/// "all_gather w b", "reduce_scatter @p0 stored".
static std::string makeLabel(Operation *op, StringRef partition,
                             ArrayAttr parameters) {
  std::string label = op->getName().stripDialect().str();
  if (!partition.empty())
    label += (" @" + partition).str();
  if (parameters)
    for (auto name : parameters.getAsRange<FlatSymbolRefAttr>())
      label += (" " + name.getValue()).str();
  return label;
}

static std::string nameRange(StringRef what, StringRef partition, int64_t begin,
                             int64_t end) {
  return (what + " of " + partition + "[" + Twine(begin) + " to " + Twine(end) +
          "]")
      .str();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What a reduction works on: a buffer that gradients are brought into, or the
/// stored gradient.
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

static zrt::Reduction reductionOf(bool isMean) {
  return isMean ? zrt::Reduction::Mean : zrt::Reduction::Sum;
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
  return reductionOf(getMean());
}
zrt::TrafficClass AllReduceOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
Attribute AllReduceOp::getGroup() { return {}; }
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
  return reductionOf(getMean());
}
zrt::TrafficClass ReduceScatterOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
Attribute ReduceScatterOp::getGroup() { return {}; }
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
  return reductionOf(getMean());
}
zrt::TrafficClass BucketedReduceOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
Attribute BucketedReduceOp::getGroup() { return {}; }
SmallVector<PartitionRange>
BucketedReduceOp::getPartitionRanges(const PartitionTable &partitions) {
  auto [begin, end] = getRange(partitions.find(getPartitionAttr()));
  return {{getPartitionAttr(), begin, end}};
}
ArrayAttr BucketedReduceOp::getParameterNames() { return getParametersAttr(); }

// AllReduceOwnedOp

/// What this rank owns of the stored gradient: one slice a segment, or the
/// whole range where nothing is cut.
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
  return reductionOf(getMean());
}
zrt::TrafficClass AllReduceOwnedOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
Attribute AllReduceOwnedOp::getGroup() {
  auto partition = SymbolTable::lookupNearestSymbolFrom<PartitionOp>(
      *this, getPartitionAttr());
  return partition.getOver().without(partition.getCut());
}
SmallVector<PartitionRange>
AllReduceOwnedOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr AllReduceOwnedOp::getParameterNames() { return {}; }

//===----------------------------------------------------------------------===//
// Gathers of parameters
//===----------------------------------------------------------------------===//

// A parameter may be in no partition: that is for the verifier to say.

static AsyncBuffer ownSlice(const Twine &name, PartitionOp partition,
                            int64_t begin, int64_t end) {
  if (!partition)
    return makeBuffer(name, Memory::State, Type(), 0);
  AsyncBuffer slice =
      makeBuffer(name, Memory::State, partition.getComputeType(),
                 (end - begin) / partition.getSlices());
  slice.isRead = true;
  return holdRange(std::move(slice), partition, "parameters", begin, end,
                   AccumulateForm::Slice);
}

/// For each parameter what this rank has of it, then the whole.
static SmallVector<AsyncBuffer> gatherBuffers(ArrayAttr parameters,
                                              const PartitionTable &partitions,
                                              Memory memory) {
  SmallVector<AsyncBuffer> buffers;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    buffers.push_back(
        ownSlice("slice of " + name.getValue(), partition, begin, end));
    AsyncBuffer whole = makeBuffer(
        name.getValue(), memory,
        partition ? partition.getComputeType() : Type(), end - begin);
    whole.isWritten = whole.isPlaced = true;
    whole.parameter = name;
    if (partition)
      whole = holdRange(std::move(whole), partition, "parameters", begin, end);
    buffers.push_back(std::move(whole));
  }
  return buffers;
}

/// One part a segment of each parameter.
static SmallVector<CollectivePart> gatherParts(const PartitionTable &partitions,
                                               ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 0; i < buffers.size(); i += 2) {
    if (!buffers[i].partition)
      continue;
    PartitionOp partition = partitions.find(buffers[i].partition);
    int64_t first = buffers[i].begin, ranks = partition.getSlices();
    for (auto [begin, end] : partition.getSegmentsIn(first, buffers[i].end)) {
      int64_t count = (end - begin) / ranks;
      parts.push_back({{i, begin / ranks - first / ranks, count},
                       {i + 1, begin - first, end - begin},
                       count});
    }
  }
  return parts;
}

static int64_t gatherElements(ArrayAttr parameters,
                              const PartitionTable &partitions) {
  int64_t elements = 0;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    elements += end - begin;
  }
  return elements;
}

static SmallVector<PartitionRange>
gatherRanges(ArrayAttr parameters, const PartitionTable &partitions) {
  SmallVector<PartitionRange> ranges;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    if (partition)
      ranges.push_back(
          {FlatSymbolRefAttr::get(partition.getSymNameAttr()), begin, end});
  }
  return ranges;
}

// AllGatherOp

SmallVector<AsyncBuffer>
AllGatherOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  SmallVector<AsyncBuffer> buffers =
      gatherBuffers(getParameters(), partitions, Memory::Own);
  for (size_t i = 1; i < buffers.size(); i += 2) {
    buffers[i].result = i / 2;
    buffers[i].isFreed = true;
  }
  return buffers;
}

SmallVector<CollectivePart>
AllGatherOp::getParts(const PartitionTable &partitions,
                      ArrayRef<AsyncBuffer> buffers) {
  return gatherParts(partitions, buffers);
}

SmallVector<int64_t> AllGatherOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t AllGatherOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t AllGatherOp::getElementsSent(const PartitionTable &partitions) {
  return gatherElements(getParameters(), partitions);
}
Type AllGatherOp::getWireType(const PartitionTable &) {
  return elementTypeOf(getPending().getType());
}
std::string AllGatherOp::getHandleName() {
  return "gathered " + makeLabel(*this, "", getParameters());
}
std::string AllGatherOp::getLabel() {
  return makeLabel(*this, "", getParameters());
}
LinkKind AllGatherOp::getLink() { return LinkKind::Ranks; }
zrt::Collective AllGatherOp::getKind() { return zrt::Collective::AllGather; }
std::optional<zrt::Reduction> AllGatherOp::getReduction() { return {}; }
zrt::TrafficClass AllGatherOp::getTrafficClass() {
  return zrt::TrafficClass::Parameter;
}
Attribute AllGatherOp::getGroup() { return {}; }
SmallVector<PartitionRange>
AllGatherOp::getPartitionRanges(const PartitionTable &partitions) {
  return gatherRanges(getParameters(), partitions);
}
ArrayAttr AllGatherOp::getParameterNames() { return getParameters(); }

// RefreshOp

SmallVector<AsyncBuffer> RefreshOp::getBuffers(const PartitionTable &partitions,
                                               TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  int64_t begin = getBegin(), end = getEnd();
  AsyncBuffer whole = makeBuffer("parameters", Memory::State,
                                 partition.getComputeType(), end - begin);
  whole.isWritten = true;
  SmallVector<AsyncBuffer> buffers = {
      holdRange(std::move(whole), partition, "parameters", begin, end)};
  for (auto [first, last] : partition.getSegmentsIn(begin, end))
    buffers.push_back(
        ownSlice("slice " + Twine(buffers.size() - 1), partition, first, last));
  return buffers;
}

SmallVector<CollectivePart> RefreshOp::getParts(const PartitionTable &,
                                                ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 1; i < buffers.size(); ++i)
    parts.push_back({wholeOf(buffers, i),
                     {0, buffers[i].begin - buffers[0].begin,
                      buffers[i].end - buffers[i].begin},
                     buffers[i].elements});
  return parts;
}

SmallVector<int64_t> RefreshOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t RefreshOp::getBytes(const PartitionTable &partitions) {
  return static_cast<int64_t>(getEnd() - getBegin()) *
         elementBytes(getWireType(partitions));
}
int64_t RefreshOp::getElementsSent(const PartitionTable &) {
  return getEnd() - getBegin();
}
Type RefreshOp::getWireType(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getComputeType();
}
std::string RefreshOp::getHandleName() {
  return nameRange("parameters", getPartition(), getBegin(), getEnd());
}
std::string RefreshOp::getLabel() {
  return makeLabel(*this, getPartition(), {});
}
LinkKind RefreshOp::getLink() { return LinkKind::Ranks; }
zrt::Collective RefreshOp::getKind() { return zrt::Collective::AllGather; }
std::optional<zrt::Reduction> RefreshOp::getReduction() { return {}; }
zrt::TrafficClass RefreshOp::getTrafficClass() {
  return zrt::TrafficClass::Parameter;
}
Attribute RefreshOp::getGroup() { return {}; }
SmallVector<PartitionRange>
RefreshOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr RefreshOp::getParameterNames() { return {}; }

// RefreshResidentOp

SmallVector<AsyncBuffer>
RefreshResidentOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  return gatherBuffers(getParameters(), partitions, Memory::Resident);
}

SmallVector<CollectivePart>
RefreshResidentOp::getParts(const PartitionTable &partitions,
                            ArrayRef<AsyncBuffer> buffers) {
  return gatherParts(partitions, buffers);
}

SmallVector<int64_t>
RefreshResidentOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t RefreshResidentOp::getBytes(const PartitionTable &partitions) {
  int64_t bytes = 0;
  for (auto name : getParameters().getAsRange<FlatSymbolRefAttr>())
    if (PartitionOp partition = partitions.getPartition(name.getAttr()))
      bytes += partitions.getMember(name.getAttr()).getSize() *
               elementBytes(partition.getComputeType());
  return bytes;
}
int64_t RefreshResidentOp::getElementsSent(const PartitionTable &partitions) {
  return gatherElements(getParameters(), partitions);
}
Type RefreshResidentOp::getWireType(const PartitionTable &partitions) {
  Type type;
  for (auto name : getParameters().getAsRange<FlatSymbolRefAttr>())
    if (PartitionOp partition = partitions.getPartition(name.getAttr()))
      type = partition.getComputeType();
  return type;
}
std::string RefreshResidentOp::getHandleName() { return "resident parameters"; }
std::string RefreshResidentOp::getLabel() {
  return makeLabel(*this, "", getParameters());
}
LinkKind RefreshResidentOp::getLink() { return LinkKind::Ranks; }
zrt::Collective RefreshResidentOp::getKind() {
  return zrt::Collective::AllGather;
}
std::optional<zrt::Reduction> RefreshResidentOp::getReduction() { return {}; }
zrt::TrafficClass RefreshResidentOp::getTrafficClass() {
  return zrt::TrafficClass::Parameter;
}
Attribute RefreshResidentOp::getGroup() { return {}; }
SmallVector<PartitionRange>
RefreshResidentOp::getPartitionRanges(const PartitionTable &partitions) {
  return gatherRanges(getParameters(), partitions);
}
ArrayAttr RefreshResidentOp::getParameterNames() { return getParameters(); }

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

StreamKind ReduceStatsOp::getStream() { return StreamKind::Compute; }
Value ReduceStatsOp::getPending() { return {}; }

/// Fields of the runtime's control block; the deterministic norm is a sum in
/// integer limbs, beside the count of what is not finite.
SmallVector<AsyncBuffer> ReduceStatsOp::getBuffers(const PartitionTable &,
                                                   TrainingAttr training) {
  SmallVector<AsyncBuffer> buffers;
  auto add = [&](StringRef name, Type type, int64_t elements = 1) {
    AsyncBuffer field = makeBuffer(name, Memory::Control, type, elements);
    field.isRead = field.isWritten = true;
    buffers.push_back(std::move(field));
  };
  Type f64 = Float64Type::get(getContext());
  Type i64 = IntegerType::get(getContext(), 64);
  if (!getLossOnly() && training.getDeterministic()) {
    add("normLimbs", i64, zrt::kNormLimbs + 1);
  } else if (!getLossOnly()) {
    add("nonFinite", i64);
    add("normSum", f64);
  }
  add("lossSum", f64);
  return buffers;
}

SmallVector<CollectivePart>
ReduceStatsOp::getParts(const PartitionTable &, ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 0; i < buffers.size(); ++i)
    parts.push_back(
        {wholeOf(buffers, i), wholeOf(buffers, i), buffers[i].elements});
  return parts;
}

SmallVector<int64_t> ReduceStatsOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t ReduceStatsOp::getBytes(const PartitionTable &) {
  return 3 * sizeof(double);
}
int64_t ReduceStatsOp::getElementsSent(const PartitionTable &) { return 2 * 3; }
Type ReduceStatsOp::getWireType(const PartitionTable &) {
  return Float64Type::get(getContext());
}
std::string ReduceStatsOp::getHandleName() { return "statistics"; }
std::string ReduceStatsOp::getLabel() { return makeLabel(*this, "", {}); }
LinkKind ReduceStatsOp::getLink() { return LinkKind::Ranks; }
zrt::Collective ReduceStatsOp::getKind() { return zrt::Collective::AllReduce; }
std::optional<zrt::Reduction> ReduceStatsOp::getReduction() {
  return zrt::Reduction::Sum;
}
zrt::TrafficClass ReduceStatsOp::getTrafficClass() {
  return zrt::TrafficClass::Control;
}
Attribute ReduceStatsOp::getGroup() { return {}; }
SmallVector<PartitionRange>
ReduceStatsOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
ArrayAttr ReduceStatsOp::getParameterNames() { return {}; }

#include "zero/Dialect/Zero/AsyncOpInterface.cpp.inc"
