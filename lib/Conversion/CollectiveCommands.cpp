//===- CollectiveCommands.cpp - what is started as commands ---------------===//
//
// Asks operations what travels between which buffers, and lists none.
//
//===----------------------------------------------------------------------===//

#include "CommandBuilder.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"

#include "program/KernelSchema.h"

#include "llvm/ADT/StringSwitch.h"

#include <cstddef>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// A field of the control block by its name.
static size_t offsetOfField(StringRef name) {
  static_assert(offsetof(zrt::Control, nonFinite) ==
                offsetof(zrt::Control, normLimbs) +
                    sizeof(zrt::Control::normLimbs));
  size_t offset = llvm::StringSwitch<size_t>(name)
                      .Case("normLimbs", offsetof(zrt::Control, normLimbs))
                      .Case("nonFinite", offsetof(zrt::Control, nonFinite))
                      .Case("normSum", offsetof(zrt::Control, normSum))
                      .Case("lossSum", offsetof(zrt::Control, lossSum))
                      .Case("weightSum", offsetof(zrt::Control, weightSum))
                      .Default(sizeof(zrt::Control));
  assert(offset < sizeof(zrt::Control) && "no field of the control block");
  return offset;
}

zrt::BufferRef CommandBuilder::refer(Operation *op, const AsyncBuffer &buffer,
                                     AtAttr place, const BufferSlice &slice) {
  if (buffer.memory == AsyncBuffer::Memory::Control) {
    int64_t bytes = elementBytes(buffer.type);
    zrt::BufferRef ref;
    ref.arena = zrt::Arena::Control;
    ref.offset = offsetOfField(buffer.name) + slice.offset * bytes;
    ref.bytes = slice.elements * bytes;
    return ref;
  }
  if (buffer.memory == AsyncBuffer::Memory::Operand)
    place = placeOf(op->getOperand(buffer.index));
  return referTo(getPart(place, buffer.type, slice.offset, slice.elements));
}

void CommandBuilder::fillBuffer(AsyncOpInterface op, const AsyncBuffer &buffer,
                                AtAttr bucket) {
  // Stored gradients have been zero in their padding from the start; a bucket
  // shares memory with other values.
  auto clear = [&](int64_t from, int64_t to) {
    if (from < to && bucket.getArena() == ArenaKind::Communication)
      addFlatKernel(op, "zero.clear",
                    {getPart(bucket, buffer.type, from, to - from)},
                    {buffer.type});
  };
  SmallVector<int64_t> offsets = op.getOperandOffsets(state);
  if (offsets.empty())
    return;
  int64_t filled = 0;
  for (auto [operand, offset] : llvm::zip_equal(op->getOperands(), offsets)) {
    int64_t elements =
        cast<RankedTensorType>(operand.getType()).getNumElements();
    clear(filled, offset);
    filled = offset + elements;
    AtAttr source = placeOf(operand);
    AtAttr target = getPart(bucket, buffer.type, offset, elements);
    if (!source.beginsWith(target))
      addFlatKernel(op, "zero.copy", {source, target},
                    {buffer.type, buffer.type});
  }
  clear(filled, buffer.elements);
}

//===----------------------------------------------------------------------===//
// Packed buffers
//===----------------------------------------------------------------------===//

static BufferSlice allOf(ArrayRef<AsyncBuffer> buffers, unsigned index) {
  return {index, 0, buffers[index].elements};
}

/// A kernel from one flat buffer to another.
static zrt::KernelSpec describePacking(StringRef name, const AsyncBuffer &from,
                                       const AsyncBuffer &to,
                                       QuantizationAttr quantization) {
  zrt::KernelSpec spec;
  spec.name = name.str();
  spec.ints["bits"] = {quantization.getBits()};
  spec.ints["block"] = {quantization.getBlock()};
  spec.operands.push_back({*toDataType(from.type), {from.elements}});
  spec.results.push_back({*toDataType(to.type), {to.elements}});
  return spec;
}

static void addPieces(zrt::KernelSpec &spec, const PackedPieces &cut) {
  spec.ints["ranks"] = {cut.ranks};
  spec.ints["pieces"] = {cut.pieces};
  spec.ints["piece"] = {cut.piece};
}

static void addFeedback(zrt::KernelSpec &spec, FeedbackAttr feedback,
                        int64_t accumulation) {
  spec.name = "zero.quantize_feedback";
  spec.floats["beta"] = feedback.getBeta();
  spec.ints["reset"] = {feedback.getReset()};
  spec.ints["accumulation"] = {accumulation};
}

void CommandBuilder::packBuffers(AsyncOpInterface start,
                                 ArrayRef<AsyncBuffer> buffers,
                                 ArrayRef<AtAttr> places) {
  for (unsigned i = 0; i < buffers.size(); ++i) {
    const AsyncBuffer &packed = buffers[i];
    if (packed.packs < 0)
      continue;
    const AsyncBuffer &from = buffers[packed.packs];
    zrt::KernelSpec spec =
        describePacking("zero.quantize", from, packed, packed.quantization);
    if (packed.pieces)
      addPieces(spec, *packed.pieces);
    std::vector<zrt::BufferRef> refs = {
        refer(start, from, places[packed.packs], allOf(buffers, packed.packs)),
        refer(start, packed, places[i], allOf(buffers, i))};
    if (packed.errors >= 0) {
      const AsyncBuffer &errors = buffers[packed.errors];
      addFeedback(spec, packed.feedback, step.getTraining()->getAccumulation());
      spec.operands.push_back({zrt::DataType::BF16, {errors.elements}});
      spec.results.push_back(spec.operands.back());
      zrt::BufferRef ref = refer(start, errors, places[packed.errors],
                                 allOf(buffers, packed.errors));
      refs.insert(refs.begin() + 1, ref);
      refs.push_back(ref);
    }
    zrt::countWork(spec);
    addKernel(start, std::move(spec), refs, "quantize " + from.name);
  }
}

/// Slices of a parameter of several segments have a piece of each.
zrt::KernelSpec CommandBuilder::describeUnpacking(const AsyncBuffer &packed,
                                                  const AsyncBuffer &whole) {
  if (whole.pieces) {
    zrt::KernelSpec spec = describePacking("zero.sum_quantized", packed, whole,
                                           whole.quantization);
    addPieces(spec, *whole.pieces);
    if (whole.factor != 1)
      spec.floats["factor"] = whole.factor;
    return spec;
  }
  PartitionOp partition = state.find(whole.partition);
  zrt::KernelSpec spec =
      describePacking("zero.dequantize", packed, whole, whole.quantization);
  spec.ints["ranks"] = {partition.getSlices()};
  for (auto [begin, end] : partition.getSegmentsIn(whole.begin, whole.end))
    spec.ints["pieces"].push_back((end - begin) / partition.getSlices());
  return spec;
}

void CommandBuilder::unpackBuffers(AsyncOpInterface start, Operation *wait,
                                   ArrayRef<AsyncBuffer> buffers,
                                   ArrayRef<AtAttr> places) {
  for (unsigned i = 0; i < buffers.size(); ++i) {
    const AsyncBuffer &whole = buffers[i];
    if (whole.unpacks < 0)
      continue;
    const AsyncBuffer &packed = buffers[whole.unpacks];
    zrt::KernelSpec spec = describeUnpacking(packed, whole);
    std::string label = (whole.pieces ? "add up " : "dequantize ") + whole.name;
    zrt::countWork(spec);
    addKernel(wait, std::move(spec),
              {refer(start, packed, places[whole.unpacks],
                     allOf(buffers, whole.unpacks)),
               refer(start, whole, places[i], allOf(buffers, i))},
              label);
  }
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

LogicalResult CommandBuilder::visitStart(AsyncOpInterface start) {
  auto buffers = start.getBuffers(state, *step.getTraining());
  if (auto collective = dyn_cast<CollectiveOpInterface>(start.getOperation()))
    return startCollective(collective, buffers);
  if (isa<StartSendOp, StartReceiveOp>(start.getOperation()))
    return startTransfer(start, buffers);
  if (auto tie = dyn_cast<TieGradientsOp>(start.getOperation()))
    return tieGradients(tie, buffers), success();
  return startTierOp(start, buffers);
}

LogicalResult CommandBuilder::startCollective(CollectiveOpInterface op,
                                              ArrayRef<AsyncBuffer> buffers) {
  SmallVector<AtAttr> at = state.getPlaces(op, buffers);
  if (!buffers.empty())
    fillBuffer(cast<AsyncOpInterface>(op.getOperation()), buffers.front(),
               at.front());
  packBuffers(op, buffers, at);
  std::vector<zrt::CollectivePart> parts;
  for (const CollectivePart &part : op.getParts(state, buffers)) {
    const AsyncBuffer &send = buffers[part.send.buffer];
    const AsyncBuffer &receive = buffers[part.receive.buffer];
    std::optional<zrt::DataType> type = toDataType(send.type);
    if (!type)
      return op->emitOpError("sends elements of ")
             << send.type << ", which no communicator takes";
    parts.push_back({refer(op, send, at[part.send.buffer], part.send),
                     refer(op, receive, at[part.receive.buffer], part.receive),
                     static_cast<uint64_t>(part.count), *type,
                     static_cast<int32_t>(part.root)});
  }
  auto start = cast<AsyncOpInterface>(op.getOperation());
  zrt::Command &command = newCommand(op, start.getLabel());
  command.opcode = zrt::Opcode::Start;
  command.collective = op.getKind();
  command.group = numberOf(op.getGroup(state), mesh, program.mesh);
  command.traffic = op.getTrafficClass();
  command.stream = toRuntime(start.getStream());
  command.ticket = tickets.number(op);
  // What the wait adds up, its kernel scales.
  command.prescaled = zrt::isReducing(op.getKind()) &&
                      op.getReduction() == zrt::Reduction::PrescaledSum;
  command.parts = std::move(parts);
  if (!start.getPending())
    endCollective(op, op);
  return success();
}

void CommandBuilder::endCollective(Operation *start, Operation *wait) {
  zrt::Command &command = newCommand(wait, "wait");
  command.opcode = zrt::Opcode::Wait;
  command.ticket = tickets.number(start);
}

LogicalResult CommandBuilder::visitWait(WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      handles.findStart(wait.getPending()));
  if (!start)
    return wait.emitOpError("waits for what no region has carried");
  endCollective(start, wait);
  auto buffers = start.getBuffers(state, *step.getTraining());
  SmallVector<AtAttr> at = state.getPlaces(start, buffers);
  unpackBuffers(start, wait, buffers, at);
  for (auto [buffer, place] : llvm::zip_equal(buffers, at))
    if (buffer.result >= 0)
      places[wait.getResult(buffer.result)] = place;
  return success();
}

/// One copy a segment, from where this rank's slice begins in the group.
void CommandBuilder::visitSecondarySlice(SecondarySliceOp slice) {
  record(*slice);
  int64_t ranks = slice.getOver().getSize();
  Type type = cast<RankedTensorType>(slice.getType()).getElementType();
  // What was gathered is padded; the load of it is not.
  AtAttr whole = placeOf(getRoot(slice.getValue()));
  auto [first, last] = state.getSegmentsOf(slice.getParameterAttr().getAttr());
  PartitionOp partition =
      state.getPartition(slice.getParameterAttr().getAttr());
  for (auto [begin, end] : partition.getSegmentsIn(first, last)) {
    int64_t count = (end - begin) / ranks;
    zrt::BufferRef from = referTo(getPart(whole, type, begin - first, count));
    from.stride = from.bytes;
    from.group = numberOf(slice.getOver(), mesh, program.mesh);
    zrt::BufferRef to =
        referTo(getPart(placeOf(slice), type, (begin - first) / ranks, count));
    addKernel(slice,
              describeFlatKernel("zero.copy", {{count, type}, {count, type}}),
              {from, to}, "secondary slice of " + slice.getParameter().str());
  }
}

/// The rows of this rank, which lie side by side, as zero-start-exchanges
/// leaves them.
LogicalResult CommandBuilder::visitSliceValue(SliceValueOp slice) {
  CutAttr cut = slice.getCut();
  if (cut.getDim() != 0 || cut.getRepeats() != 1 || cut.getPieces().size() != 1)
    return slice.emitOpError("is cut as ")
           << cut << ", wanted rows that lie side by side; run "
           << "zero-start-exchanges";
  record(*slice);
  auto type = cast<RankedTensorType>(slice.getType());
  Type element = type.getElementType();
  zrt::BufferRef from = referTo(
      getPart(placeOf(slice.getValue()), element, 0, type.getNumElements()));
  from.stride = from.bytes;
  from.group = numberOf(cut.getOver(), mesh, program.mesh);
  int64_t count = type.getNumElements();
  addKernel(
      slice,
      describeFlatKernel("zero.copy", {{count, element}, {count, element}}),
      {from, referTo(placeOf(slice.getResult()))}, "slice of a value");
  return success();
}

//===----------------------------------------------------------------------===//
// What is reduced to its owners
//===----------------------------------------------------------------------===//

/// Where an owner keeps the gradient of `run`.
static AtAttr ownedPlace(PartitionOp partition, const OwnerRun &run) {
  auto stored = cast<AtAttr>(partition.getAt()->get("gradients"));
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  return getPart(stored, partition.getGradientType(),
                 run.flat - run.owner * slice, run.count);
}

void CommandBuilder::accumulateOwned(AccumulateOp accumulate,
                                     PartitionOp partition) {
  Type type =
      cast<RankedTensorType>(accumulate.getValue().getType()).getElementType();
  if (storesDirectly(partition, type, *step.getTraining()))
    return;
  AtAttr bucket = placeOf(accumulate.getValue());
  // Not the mesh's: partitions of experts are cut over fewer ranks.
  const uint32_t group = numberOf(partition.getCut(), mesh, program.mesh);
  for (const OwnerRun &run :
       cutAtOwners(partition, *accumulate.getParameters(),
                   {accumulate.getBegin(), accumulate.getEnd()})) {
    zrt::KernelSpec spec;
    spec.ints["owner"] = {run.owner};
    if (group != zrt::kAllRanks)
      spec.ints["group"] = {group};
    addFlatKernel(accumulate, "zero.accumulate",
                  {getPart(bucket, type, run.inBucket, run.count),
                   ownedPlace(partition, run)},
                  {type, partition.getGradientType()}, spec);
  }
}
