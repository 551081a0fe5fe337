//===- Gathers.cpp - collectives of parameters ----------------------------===//

#include "Checks.h"
#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

// A parameter may be in no partition: that is for the verifier to say.

AsyncBuffer mlir::zero::ownSlice(const Twine &name, PartitionOp partition,
                                 int64_t begin, int64_t end, int64_t ranks) {
  if (!partition)
    return makeBuffer(name, Memory::State, Type(), 0);
  AsyncBuffer slice = makeBuffer(
      name, Memory::State, partition.getComputeType(), (end - begin) / ranks);
  slice.isRead = true;
  return holdRange(std::move(slice), partition, "parameters", begin, end,
                   AccumulateForm::Slice);
}

AsyncBuffer mlir::zero::storedSlice(const Twine &name, PartitionOp partition,
                                    int64_t begin, int64_t end) {
  AsyncBuffer slice = ownSlice(name, partition, begin, end,
                               partition ? partition.getSlices() : 1);
  if (!partition || !partition.getQuantized())
    return slice;
  slice.type = IntegerType::get(partition.getContext(), 8);
  slice.elements = partition.getPackedBytes(begin, end);
  return slice;
}

/// The ranks that share what is gathered: those of `over`, or those that the
/// partition is cut over.
static int64_t countSlices(PartitionOp partition, AxesAttr over) {
  return over ? over.getSize() : partition ? partition.getSlices() : 1;
}

/// For each parameter what this rank has of it, or the copy of that in
/// `slices`, then the whole.
static SmallVector<AsyncBuffer> gatherBuffers(ArrayAttr parameters,
                                              ValueRange slices, AxesAttr over,
                                              const PartitionTable &partitions,
                                              Memory memory) {
  SmallVector<AsyncBuffer> buffers;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    buffers.push_back(ownSlice("slice of " + name.getValue(), partition, begin,
                               end, countSlices(partition, over)));
    if (!slices.empty()) {
      buffers.back().memory = Memory::Operand;
      buffers.back().index = buffers.size() / 2;
    }
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
                                               AxesAttr over,
                                               ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 0; i < buffers.size(); i += 2) {
    if (!buffers[i].partition)
      continue;
    PartitionOp partition = partitions.find(buffers[i].partition);
    int64_t first = buffers[i].begin, ranks = countSlices(partition, over);
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

/// Parameters that travel together are cut over the same axes.
static AxesAttr gatherGroup(ArrayAttr parameters,
                            const PartitionTable &partitions) {
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>())
    if (PartitionOp partition = partitions.getPartition(name.getAttr()))
      return partition.getCut();
  return {};
}

// UploadOp

LogicalResult UploadOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getParameters().size() != getPending().getType().getTypes().size())
    return emitOpError("copies slices of ")
           << getParameters().size() << " parameters into "
           << getPending().getType();
  if (!getSlices().empty() && getSlices().size() != getParameters().size())
    return emitOpError("is given ")
           << getSlices().size() << " slices that were read for "
           << getParameters().size() << " parameters, wanted one each, or none";
  return verifyAreParameters(*this, getParameters(), tables);
}

/// For each parameter its slice in host memory, or what was read of it from a
/// file; then the copy.
SmallVector<AsyncBuffer> UploadOp::getBuffers(const PartitionTable &partitions,
                                              TrainingAttr) {
  SmallVector<AsyncBuffer> buffers;
  for (auto name : getParameters().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    AsyncBuffer slice =
        storedSlice("slice of " + name.getValue(), partition, begin, end);
    AsyncBuffer copy = slice;
    copy.name = name.getValue().str();
    copy.memory = Memory::Own;
    copy.isRead = false;
    copy.isWritten = copy.isPlaced = true;
    copy.result = buffers.size() / 2;
    if (!getSlices().empty()) {
      slice.memory = Memory::Operand;
      slice.index = buffers.size() / 2;
    }
    buffers.push_back(std::move(slice));
    buffers.push_back(std::move(copy));
  }
  return buffers;
}

SmallVector<int64_t> UploadOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
LinkKind UploadOp::getLink() { return LinkKind::Bus; }
int64_t UploadOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
std::string UploadOp::getHandleName() { return getLabel(); }
std::string UploadOp::getLabel() {
  return makeLabel(*this, "", getParameters());
}

// AllGatherOp

SmallVector<AsyncBuffer>
AllGatherOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  QuantizationAttr quantization = getQuantizedAttr();
  SmallVector<AsyncBuffer> buffers =
      quantization ? makeQuantizedBuffers(getParameters(), getSlices(),
                                          quantization, partitions)
                   : gatherBuffers(getParameters(), getSlices(), getOverAttr(),
                                   partitions, Memory::Own);
  int result = 0;
  for (AsyncBuffer &buffer : buffers) {
    if (!buffer.parameter)
      continue;
    buffer.result = result++;
    buffer.isFreed = true;
  }
  return buffers;
}

SmallVector<CollectivePart>
AllGatherOp::getParts(const PartitionTable &partitions,
                      ArrayRef<AsyncBuffer> buffers) {
  if (getQuantized())
    return makeQuantizedParts(buffers);
  return gatherParts(partitions, getOverAttr(), buffers);
}

SmallVector<int64_t> AllGatherOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t AllGatherOp::getBytes(const PartitionTable &partitions) {
  return getQuantized() ? getElementsSent(partitions)
                        : bytesOf(getPending().getType());
}
int64_t AllGatherOp::getElementsSent(const PartitionTable &partitions) {
  if (!getQuantized())
    return gatherElements(getParameters(), partitions);
  int64_t bytes = 0;
  for (const CollectivePart &part :
       getParts(partitions, getBuffers(partitions, TrainingAttr())))
    bytes += part.receive.elements;
  return bytes;
}
Type AllGatherOp::getWireType(const PartitionTable &) {
  return getQuantized() ? IntegerType::get(getContext(), 8)
                        : elementTypeOf(getPending().getType());
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
bool AllGatherOp::combinesReplicas() { return false; }
AxesAttr AllGatherOp::getGroup(const PartitionTable &partitions) {
  if (AxesAttr over = getOverAttr())
    return over;
  return gatherGroup(getParameters(), partitions);
}
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
    buffers.push_back(ownSlice("slice " + Twine(buffers.size() - 1), partition,
                               first, last, partition.getSlices()));
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
bool RefreshOp::combinesReplicas() { return false; }
AxesAttr RefreshOp::getGroup(const PartitionTable &partitions) {
  return partitions.find(getPartitionAttr()).getCut();
}
SmallVector<PartitionRange>
RefreshOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr RefreshOp::getParameterNames() { return {}; }

// RefreshResidentOp

SmallVector<AsyncBuffer>
RefreshResidentOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  return gatherBuffers(getParameters(), getSlices(), /*over=*/{}, partitions,
                       Memory::Resident);
}

SmallVector<CollectivePart>
RefreshResidentOp::getParts(const PartitionTable &partitions,
                            ArrayRef<AsyncBuffer> buffers) {
  return gatherParts(partitions, /*over=*/{}, buffers);
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
std::string RefreshResidentOp::getHandleName() {
  if (getParameters().empty())
    return "resident";
  auto first = cast<FlatSymbolRefAttr>(getParameters()[0]);
  std::string name = ("resident " + first.getValue()).str();
  if (size_t others = getParameters().size() - 1)
    name += " and " + std::to_string(others) + " more";
  return name;
}
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
bool RefreshResidentOp::combinesReplicas() { return false; }
AxesAttr RefreshResidentOp::getGroup(const PartitionTable &partitions) {
  return gatherGroup(getParameters(), partitions);
}
SmallVector<PartitionRange>
RefreshResidentOp::getPartitionRanges(const PartitionTable &partitions) {
  return gatherRanges(getParameters(), partitions);
}
ArrayAttr RefreshResidentOp::getParameterNames() { return getParameters(); }
