//===- MemoryCollectives.cpp - what collectives do to memory --------------===//

#include "MemoryInterpreter.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

static zrt::Collective kindOf(Operation *op) {
  return cast<CollectiveOpInterface>(op).getKind();
}

static ArrayAttr namesOf(Operation *op) {
  return cast<CollectiveOpInterface>(op).getParameterNames();
}

static int64_t elementBytesOf(Value pending) {
  auto type = cast<PendingType>(pending.getType()).getTypes().front();
  return elementBytes(cast<RankedTensorType>(type).getElementType());
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What `op` is about.
static PartitionRange flatRangeOf(Operation *op) {
  return cast<CollectiveOpInterface>(op)
      .getPartitionRanges(PartitionTable(op))
      .front();
}

/// Brings the gradients into the bucket, where they may be already, and notes
/// what the bucket holds then.
bool MemoryInterpreter::fillBucket(Operation *op, Flight &flight) {
  flight.bucket = rangeOf(placeAt(op, "bucket"));
  PartitionRange range = flatRangeOf(op);
  PartitionOp partition = partitionOf[range.partition.getValue()];
  State &stored = stateOf(partition, "gradients");
  int64_t bytes = elementBytesOf(op->getResult(0));
  // Where reduced to owners, gradients follow one another.
  std::optional<int64_t> begin;
  if (kindOf(op) != zrt::Collective::Reduce)
    begin = range.begin;
  ArrayAttr names = namesOf(op);
  if (!names) {
    int64_t from = range.begin * bytes, size = range.end * bytes - from;
    flight.bucketMarks = cut(stored.marks, from, size);
    return read(flight.bucket, flight.bucketMarks, op);
  }
  // Padding: zeroed in a bucket, zero from the start in a stored gradient.
  int64_t size = flight.bucket.end - flight.bucket.begin;
  flight.bucketMarks = fresh(size);
  if (begin && flight.bucket.space != ArenaKind::Communication) {
    if (*begin * bytes + size > static_cast<int64_t>(stored.marks.size()))
      return fail(op, "has a bucket that ends after the stored gradient");
    flight.bucketMarks = cut(stored.marks, *begin * bytes, size);
  }
  int64_t inBucket = 0;
  for (auto [name, gradient] : llvm::zip_equal(
           names.getAsRange<FlatSymbolRefAttr>(), op->getOperands())) {
    if (!readValue(gradient, op))
      return false;
    const Content &value = values[gradient];
    if (begin)
      inBucket = std::max<int64_t>(
          partition.findMember(name.getValue()).getOffset() - *begin, 0);
    if (inBucket * bytes + static_cast<int64_t>(value.marks.size()) > size)
      return fail(op, "has a bucket that is too short");
    llvm::copy(value.marks, flight.bucketMarks.begin() + inBucket * bytes);
    inBucket += value.marks.size() / bytes;
  }
  return write(flight.bucket, flight.bucketMarks, op);
}

SmallVector<MemoryInterpreter::OwnedRun>
MemoryInterpreter::findOwnedRuns(PartitionOp partition, ArrayAttr parameters,
                                 int64_t from, int64_t to) const {
  SmallVector<OwnedRun> runs;
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  int64_t inBucket = 0;
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    MemberAttr member = partition.findMember(name.getValue());
    int64_t begin = std::max(member.getOffset(), from);
    int64_t end = std::min(member.getOffset() + member.getSize(), to);
    int64_t first = std::max(begin, rank * slice);
    int64_t last = std::min(end, (rank + 1) * slice);
    if (first < last)
      runs.push_back({first, inBucket + first - begin, last - first});
    inBucket += end - begin;
  }
  return runs;
}

bool MemoryInterpreter::completeBucketed(CollectiveOpInterface op,
                                         Flight &flight) {
  PartitionRange range = flatRangeOf(op);
  PartitionOp partition = partitionOf[range.partition.getValue()];
  State &stored = stateOf(partition, "gradients");
  Value pending = op->getResult(0);
  auto flat = cast<RankedTensorType>(
      cast<PendingType>(pending.getType()).getTypes()[0]);
  int64_t bytes = elementBytes(flat.getElementType());
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  bool isDirect =
      storesDirectly(partition, flat.getElementType(), *step.getTraining());
  Content &result = results[pending].emplace_back();
  result = {flight.bucket, fresh(flight.bucketMarks.size())};
  if (!write(flight.bucket, result.marks, op))
    return false;
  for (const OwnedRun &run :
       findOwnedRuns(partition, op.getParameterNames(), range.begin, range.end))
    if (isDirect &&
        !write(part(baseOf(stored, 0), (run.flat - rank * slice) * bytes,
                    run.count * bytes),
               cut(result.marks, run.inBucket * bytes, run.count * bytes), op))
      return false;
  return true;
}

bool MemoryInterpreter::completeReduction(Flight &flight) {
  Operation *op = flight.op;
  if (!read(flight.bucket, flight.bucketMarks, op))
    return false;
  if (kindOf(op) == zrt::Collective::Reduce)
    return completeBucketed(cast<CollectiveOpInterface>(op), flight);
  bool isSliced = kindOf(op) == zrt::Collective::ReduceScatter;
  SmallVector<Content> &received = results[op->getResult(0)];
  for (Type type : cast<PendingType>(op->getResult(0).getType()).getTypes()) {
    std::string buffer =
        isSliced ? "slice " + std::to_string(received.size()) : "bucket";
    Content &content = received.emplace_back();
    content.place = rangeOf(placeAt(op, buffer));
    content.marks = fresh(tensorBytes(type));
    if (!write(content.place, content.marks, op))
      return false;
  }
  // A reduction of stored gradients leaves its result where it took it.
  if (namesOf(op))
    return true;
  auto [name, begin, end] = flatRangeOf(op);
  PartitionOp partition = partitionOf[name.getValue()];
  State &stored = stateOf(partition, "gradients");
  if (kindOf(op) == zrt::Collective::AllReduce) {
    llvm::copy(received[0].marks, stored.marks.begin() + begin * stored.bytes);
    return true;
  }
  unsigned next = 0;
  for (auto [first, last] : partition.getSegmentsIn(begin, end)) {
    const Marks &marks = received[next++].marks;
    llvm::copy(marks, stored.marks.begin() + first * stored.bytes +
                          rank * marks.size());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

static StringRef nameAt(Operation *op, size_t index) {
  return cast<FlatSymbolRefAttr>(namesOf(op)[index]).getValue();
}

/// Reads this rank's slice of parameter `index`, or the copy of it, which must
/// hold what the slice holds.
bool MemoryInterpreter::readSlice(Operation *op, size_t index,
                                  PartitionOp partition, int64_t begin,
                                  int64_t end) {
  Marks slice;
  auto packed = packedSlices.find(nameAt(op, index));
  if (op->getNumOperands() == 0 && packed != packedSlices.end())
    return read(packed->second.place, packed->second.marks, op);
  if (op->getNumOperands() == 0)
    return listOwned(partition, "parameters", op, begin, end, slice);
  if (!readValue(op->getOperand(index), op))
    return false;
  if (auto gather = dyn_cast<AllGatherOp>(op); gather && gather.getOverAttr()) {
    auto name = cast<FlatSymbolRefAttr>(gather.getParameters()[index]);
    return values[op->getOperand(index)].marks ==
               listSecondary(partition, name.getValue(),
                             gather.getOverAttr()) ||
           fail(op, "sends what is not the secondary slice");
  }
  State &state = stateOf(partition, "parameters");
  if (packed != packedSlices.end())
    slice = packed->second.marks;
  else
    forOwned(partition, state, begin, end,
             [&](ByteRange, int64_t from, int64_t bytes) {
               llvm::append_range(slice, cut(state.marks, from, bytes));
               return true;
             });
  return values[op->getOperand(index)].marks == slice ||
         fail(op, "sends what is not the slice");
}

static bool isQuantized(Operation *op) {
  auto gather = dyn_cast_or_null<AllGatherOp>(op);
  return gather && gather.getQuantized();
}

/// Before slices travel, a kernel packs each of this rank's where it is to
/// arrive, unless it is stored so.
bool MemoryInterpreter::packOwnSlices(Operation *op) {
  for (auto [index, name] :
       llvm::enumerate(namesOf(op).getAsRange<FlatSymbolRefAttr>())) {
    if (packedSlices.contains(name.getValue()))
      continue;
    PartitionOp partition = partitionOf[name.getValue()];
    auto [begin, end] = partition.getSegmentsOf(name.getValue());
    Content &own = packedOwn[{op, name.getValue()}];
    own.place = rangeOf(placeAt(op, "packed slice of " + name.getValue()));
    own.marks = fresh(own.place.end - own.place.begin);
    if (!readSlice(op, index, partition, begin, end) ||
        !write(own.place, own.marks, op))
      return false;
  }
  return true;
}

/// What a gather sends: of one that is quantized, what has been packed.
bool MemoryInterpreter::readSent(Operation *op, size_t index) {
  StringRef parameter = nameAt(op, index);
  PartitionOp partition = partitionOf[parameter];
  auto [begin, end] = partition.getSegmentsOf(parameter);
  if (!isQuantized(op) || packedSlices.contains(parameter))
    return readSlice(op, index, partition, begin, end);
  const Content &own = packedOwn[{op, parameter}];
  return read(own.place, own.marks, op);
}

/// All ranks' slices arrive packed.
bool MemoryInterpreter::packSlices(Operation *op, StringRef parameter) {
  ByteRange place = rangeOf(placeAt(op, ("packed " + parameter).str()));
  Marks &marks = packed[{op, parameter}];
  marks = fresh(place.end - place.begin);
  return write(place, marks, op);
}

/// The wait unpacks what must be there still.
bool MemoryInterpreter::unpackSlices(Operation *op) {
  for (auto [name, content] :
       llvm::zip_equal(namesOf(op).getAsRange<FlatSymbolRefAttr>(),
                       results[op->getResult(0)])) {
    StringRef parameter = name.getValue();
    ByteRange place = rangeOf(placeAt(op, ("packed " + parameter).str()));
    if (!read(place, packed[{op, parameter}], op) ||
        !write(content.place, content.marks, op))
      return false;
  }
  return true;
}

/// Reads this rank's slices and writes the whole parameters.
bool MemoryInterpreter::gather(Operation *op, ArrayAttr parameters) {
  for (auto [index, name] :
       llvm::enumerate(parameters.getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = partitionOf[name.getValue()];
    State &state = stateOf(partition, "parameters");
    auto [begin, end] = partition.getSegmentsOf(name.getValue());
    if (!readSent(op, index))
      return false;
    Content content;
    content.place = rangeOf(placeAt(op, name.getValue()));
    content.marks =
        cut(state.marks, begin * state.bytes, (end - begin) * state.bytes);
    if (isQuantized(op) ? !packSlices(op, name.getValue())
                        : !write(content.place, content.marks, op))
      return false;
    if (isGather(op)) {
      results[op->getResult(0)].push_back(content);
      continue;
    }
    // Loads read where the first gather put the copy.
    auto [known, isFirst] = residents.try_emplace(name.getValue(), content);
    if (!isFirst)
      known->second.marks = content.marks;
  }
  return true;
}

bool MemoryInterpreter::refresh(Operation *op, const PartitionRange &range) {
  PartitionOp partition = partitionOf[range.partition.getValue()];
  State &state = stateOf(partition, "parameters");
  for (auto [begin, end] : partition.getSegmentsIn(range.begin, range.end)) {
    int64_t from = begin * state.bytes, size = (end - begin) * state.bytes;
    int64_t slice = size / partition.getSlices();
    Marks marks = cut(state.marks, from, size);
    if (!read(sliceOf(state, begin, end), cut(marks, rank * slice, slice),
              op) ||
        !write(part(baseOf(state, 0), from, size), marks, op))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

/// Brings an activation to another tier.
bool MemoryInterpreter::copyValue(Operation *op, StringRef buffer) {
  if (!readValue(op->getOperand(0), op))
    return false;
  Content content = {rangeOf(placeAt(op, buffer)),
                     values[op->getOperand(0)].marks};
  results[op->getResult(0)].push_back(content);
  return write(content.place, content.marks, op);
}

bool MemoryInterpreter::complete(Flight &flight) {
  if (flight.isDone)
    return true;
  flight.isDone = true;
  Operation *op = flight.op;
  if (auto exchange = dyn_cast<ExchangeGradientsOp>(op))
    return exchangeGradients(exchange);
  if (isReduction(op))
    return completeReduction(flight);
  if (isa<OffloadOp>(op))
    return copyValue(op, "offloaded");
  if (isa<FetchOp>(op))
    return copyValue(op, "fetched");
  if (!isGather(op) && !isRefresh(op))
    return completeOffload(op);
  return namesOf(op) ? gather(op, namesOf(op)) : refresh(op, flatRangeOf(op));
}

bool MemoryInterpreter::start(Operation *op) {
  results.erase(op->getResult(0));
  Flight &flight = flights[op->getResult(0)] = {};
  flight.op = op;
  if (auto exchange = dyn_cast<ExchangeGradientsOp>(op)) {
    if (!packGradients(exchange))
      return false;
  } else if (isReduction(op) ? !fillBucket(op, flight)
                             : isQuantized(op) && !packOwnSlices(op)) {
    return false;
  }
  return !completesEarly || complete(flight);
}

bool MemoryInterpreter::drain() {
  for (auto &entry : carried)
    if (Value pending = std::exchange(entry.second, {}))
      if (!complete(flights[pending]))
        return false;
  return true;
}

bool MemoryInterpreter::wait(WaitOp op) {
  Value pending = op.getPending();
  if (pending.getDefiningOp<CarriedOp>())
    pending = taken.lookup(pending);
  if (!pending)
    return true;
  Flight &flight = flights[pending];
  if (!complete(flight) || (isQuantized(flight.op) && !unpackSlices(flight.op)))
    return false;
  if (auto exchange = dyn_cast<ExchangeGradientsOp>(flight.op);
      exchange && !addUpGradients(exchange))
    return false;
  for (auto [result, content] : llvm::zip(op.getResults(), results[pending])) {
    values[result] = content;
    // A gather lands padded.
    values[result].marks.resize(tensorBytes(result.getType()));
  }
  return true;
}
