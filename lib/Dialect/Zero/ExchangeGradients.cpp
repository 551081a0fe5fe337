//===- ExchangeGradients.cpp - gradients that travel packed ---------------===//

#include "Checks.h"
#include "Collectives.h"

#include "program/Quantization.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

SmallVector<PackedPieces>
ExchangeGradientsOp::getPieces(PartitionOp partition) {
  const int64_t slices = partition.getSlices();
  const int64_t ranks = getOver().getSize();
  const bool isWithin = getStep() == ExchangeStep::Within;
  SmallVector<PackedPieces> pieces;
  for (auto [begin, end] : partition.getSegmentsIn(getBegin(), getEnd()))
    pieces.push_back(
        {ranks, isWithin ? slices / ranks : 1, (end - begin) / slices});
  return pieces;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// (C3): the axes of the step's group.
static LogicalResult verifyGroup(ExchangeGradientsOp op,
                                 PartitionOp partition) {
  AxesAttr cut = partition.getCut(), over = op.getOver();
  auto report = [&](const Twine &wanted) {
    return op.emitOpError("exchanges ")
           << stringifyExchangeStep(op.getStep()) << " over " << over
           << ", wanted " << wanted;
  };
  if (op.getStep() == ExchangeStep::Whole) {
    if (over == cut)
      return success();
    return report("the axes that the partition is cut over: ") << cut;
  }
  if (over == cut || !cut.contains(over))
    return report("some, not all, of the axes that the partition is cut over");
  ArrayRef<StringAttr> all = cut.getNames(), some = over.getNames();
  bool isEdge = op.getStep() == ExchangeStep::Within
                    ? all.take_back(some.size()) == some
                    : all.take_front(some.size()) == some;
  if (isEdge)
    return success();
  return report(op.getStep() == ExchangeStep::Within ? "the last axes of "
                                                     : "the first axes of ")
         << cut;
}

/// (C1), (C2): operand i is of segment i.
static LogicalResult verifySegments(ExchangeGradientsOp op,
                                    PartitionOp partition) {
  auto segments = partition.getSegmentsIn(op.getBegin(), op.getEnd());
  const size_t count = op.getParameters().size();
  if (op.getGradients().size() != count || segments.size() != count)
    return op.emitOpError("names ")
           << count << " parameters for " << op.getGradients().size()
           << " tensors and " << segments.size() << " segments";
  const bool isBetween = op.getStep() == ExchangeStep::Between;
  for (auto [symbol, gradient, segment, cut] :
       llvm::zip_equal(op.getParameters().getAsRange<FlatSymbolRefAttr>(),
                       op.getGradients(), segments, op.getPieces(partition))) {
    auto [begin, end] = segment;
    auto [first, last] = partition.getElementsIn(symbol.getValue(), begin, end);
    if (first == last)
      return op.emitOpError("names ")
             << symbol << ", of which nothing is in elements " << begin
             << " to " << end << " of @" << partition.getSymName();
    auto type = cast<RankedTensorType>(gradient.getType());
    const int64_t wanted = isBetween ? cut.all() * cut.piece : last - first;
    if (type.getNumElements() != wanted ||
        (isBetween && !type.getElementType().isF32()))
      return op.emitOpError("takes ")
             << type << " for " << symbol << ", wanted "
             << (isBetween ? "f32 sums of " : "a gradient of ") << wanted
             << " elements";
  }
  return success();
}

/// The errors that a partition keeps of exchanges with such a step.
static SmallVector<int64_t> listErrors(ExchangeGradientsOp op,
                                       PartitionOp partition) {
  switch (op.getStep()) {
  case ExchangeStep::Whole:
    return {1};
  case ExchangeStep::Within:
    return {1, op.getOver().getSize()};
  case ExchangeStep::Between:
    return {1, partition.getSlices() / op.getOver().getSize()};
  }
  llvm_unreachable("all steps are covered");
}

/// (C5): the partition keeps errors of the step if it has feedback.
static LogicalResult verifyErrors(ExchangeGradientsOp op,
                                  PartitionOp partition) {
  ArrayRef<int64_t> found = partition.getErrors().value_or(ArrayRef<int64_t>());
  if (!op.getFeedback())
    return found.empty() ? success()
                         : op.emitOpError("has no 'feedback', and @")
                               << partition.getSymName() << " keeps errors";
  SmallVector<int64_t> wanted = listErrors(op, partition);
  if (found == ArrayRef<int64_t>(wanted))
    return success();
  InFlightDiagnostic error = op.emitOpError("feeds errors back in ")
                             << stringifyExchangeStep(op.getStep()) << " over "
                             << op.getOver() << ", and @"
                             << partition.getSymName() << " keeps errors [";
  llvm::interleaveComma(found, error);
  error << "], wanted [";
  llvm::interleaveComma(wanted, error);
  return error << ']';
}

LogicalResult
ExchangeGradientsOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  if (!partition || failed(verifyRange(*this, partition, getBegin(), getEnd())))
    return failure();
  if (partition.getLayout() != LayoutKind::Parameter)
    return emitOpError("exchanges gradients of @")
           << partition.getSymName() << ", which is cut by "
           << stringifyLayoutKind(partition.getLayout())
           << ", wanted by parameter";
  if (getPrescaled() && getStep() == ExchangeStep::Within)
    return emitOpError("is 'prescaled', wanted at the step between groups, "
                       "which gives the sums over all ranks");
  if (failed(verifyGroup(*this, partition)) ||
      failed(verifySegments(*this, partition)) ||
      failed(verifyErrors(*this, partition)))
    return failure();
  const bool isWithin = getStep() == ExchangeStep::Within;
  SmallVector<Type> wanted;
  for (const PackedPieces &cut : getPieces(partition))
    wanted.push_back(RankedTensorType::get(
        {cut.pieces * cut.piece},
        isWithin ? Float32Type::get(getContext()) : partition.getWireType()));
  auto expected = PendingType::get(getContext(), wanted);
  if (getPending().getType() == expected) // (C4)
    return success();
  return emitOpError("gives ")
         << getPending().getType() << ", wanted " << expected;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static AsyncBuffer makePackedPieces(const Twine &name, ExchangeGradientsOp op,
                                    const PackedPieces &cut) {
  AsyncBuffer packed =
      makeBuffer(name, Memory::Own, IntegerType::get(op.getContext(), 8),
                 cut.all() * op.getQuantized().getPackedBytes(cut.piece));
  packed.isPlaced = true;
  return packed;
}

/// The buffer of this rank's errors of `taken` elements of a segment: in the
/// second step, those of the sums that it takes.
static AsyncBuffer makeErrors(const Twine &name, ExchangeGradientsOp op,
                              PartitionOp partition, int64_t begin,
                              int64_t taken) {
  const bool isBetween = op.getStep() == ExchangeStep::Between;
  if (isBetween)
    begin = begin / partition.getSlices() * op.getOver().getSize();
  return holdRange(makeBuffer(name, Memory::State,
                              BFloat16Type::get(op.getContext()), taken),
                   partition, PartitionOp::getErrorsName(isBetween), begin,
                   begin + taken);
}

/// Buffers of a segment.
static unsigned countBuffers(ExchangeGradientsOp op) {
  return op.getFeedback() ? 5 : 4;
}

/// For each segment: what is taken, packed for all ranks; what arrives from
/// them; its sum; and with feedback what was lost of what is taken.
SmallVector<AsyncBuffer>
ExchangeGradientsOp::getBuffers(const PartitionTable &partitions,
                                TrainingAttr training) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  const bool isWithin = getStep() == ExchangeStep::Within;
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, segment, cut] :
       llvm::enumerate(partition.getSegmentsIn(getBegin(), getEnd()),
                       getPieces(partition))) {
    const int first = buffers.size();
    auto taken = cast<RankedTensorType>(getGradients()[index].getType());
    const std::string number = std::to_string(index);
    AsyncBuffer from =
        makeBuffer("gradient " + number, Memory::Operand,
                   taken.getElementType(), taken.getNumElements());
    from.index = index; // read before the start: what travels is packed
    AsyncBuffer packed = makePackedPieces("packed " + number, *this, cut);
    packed.isRead = true;
    packed.packs = first;
    AsyncBuffer arrived = makePackedPieces("arrived " + number, *this, cut);
    arrived.isWritten = true;
    auto type =
        cast<RankedTensorType>(getPending().getType().getTypes()[index]);
    bool isDirect =
        !isWithin && storesDirectly(partition, type.getElementType(), training);
    AsyncBuffer sum =
        makeBuffer("sum " + number, isDirect ? Memory::State : Memory::Own,
                   type.getElementType(), type.getNumElements());
    sum.isWritten = sum.isPlaced = true;
    sum.unpacks = first + 2;
    sum.result = index;
    packed.quantization = sum.quantization = getQuantized();
    packed.pieces = sum.pieces = cut;
    if (getPrescaled())
      sum.factor = zrt::prescaleOf(partition.getSlices());
    if (!isWithin)
      sum = holdRange(std::move(sum), partition, "gradients", segment.first,
                      segment.second, AccumulateForm::Slice);
    if (getFeedback()) {
      packed.errors = first + 4;
      packed.feedback = *getFeedback();
    }
    llvm::append_range(buffers,
                       ArrayRef<AsyncBuffer>{from, packed, arrived, sum});
    if (getFeedback())
      buffers.push_back(makeErrors("errors " + number, *this, partition,
                                   segment.first, from.elements));
  }
  return buffers;
}

SmallVector<CollectivePart>
ExchangeGradientsOp::getParts(const PartitionTable &,
                              ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 1; i < buffers.size(); i += countBuffers(*this))
    parts.push_back({wholeOf(buffers, i), wholeOf(buffers, i + 1),
                     buffers[i].elements / buffers[i].pieces->ranks});
  return parts;
}

SmallVector<int64_t>
ExchangeGradientsOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

int64_t ExchangeGradientsOp::getBytes(const PartitionTable &partitions) {
  return getElementsSent(partitions);
}
int64_t ExchangeGradientsOp::getElementsSent(const PartitionTable &partitions) {
  int64_t bytes = 0;
  for (const PackedPieces &cut : getPieces(partitions.find(getPartitionAttr())))
    bytes += cut.all() * getQuantized().getPackedBytes(cut.piece);
  return bytes;
}
Type ExchangeGradientsOp::getWireType(const PartitionTable &) {
  return IntegerType::get(getContext(), 8);
}
std::string ExchangeGradientsOp::getHandleName() {
  return nameRange(getStep() == ExchangeStep::Within ? "sums" : "gradients",
                   getPartition(), getBegin(), getEnd());
}
std::string ExchangeGradientsOp::getLabel() {
  return makeLabel(*this, getPartition(), getParameters());
}
LinkKind ExchangeGradientsOp::getLink() { return LinkKind::Ranks; }
zrt::Collective ExchangeGradientsOp::getKind() {
  return zrt::Collective::AllToAll;
}
std::optional<zrt::Reduction> ExchangeGradientsOp::getReduction() {
  if (getStep() == ExchangeStep::Within) // what it gives is added up further
    return {};
  return reductionOf(getPrescaled());
}
zrt::TrafficClass ExchangeGradientsOp::getTrafficClass() {
  return zrt::TrafficClass::Gradient;
}
bool ExchangeGradientsOp::combinesReplicas() { return false; }
AxesAttr ExchangeGradientsOp::getGroup(const PartitionTable &) {
  return getOver();
}
SmallVector<PartitionRange>
ExchangeGradientsOp::getPartitionRanges(const PartitionTable &) {
  return {{getPartitionAttr(), static_cast<int64_t>(getBegin()),
           static_cast<int64_t>(getEnd())}};
}
ArrayAttr ExchangeGradientsOp::getParameterNames() { return getParameters(); }
