//===- VerifyMemory.cpp - no two live buffers overlap ---------------------===//
//
// Works on the places that zero-plan-memory has written, and on the order of
// operations, starts and waits; it knows nothing of how the plan was made.
//
//===----------------------------------------------------------------------===//

#include "ByteMap.h"
#include "zero/Verify/Verify.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// Bytes of an arena that a value or collective needs from one position of its
/// line of time to another, both included.
struct Use {
  AtAttr place;
  int64_t from = 0, to = 0;
  Operation *by = nullptr;
  /// The value, or null for the buffer of a collective.
  Value value;
};

/// The buffers of regions that run one after the other and pass handles on.
class LineMemory {
public:
  LineMemory(const Tables &tables, ArrayRef<Block *> line);
  LogicalResult run();

private:
  bool readsInFlight(AsyncOpInterface start);
  void collect(Operation &op);
  LogicalResult verifyPlace(const Use &use);
  LogicalResult verifyState(const Use &use, PartitionOp partition,
                            AtAttr stored);
  LogicalResult verifyGradient(const Use &use, PartitionOp partition,
                               MemberAttr member);
  void collectStart(AsyncOpInterface start);
  int64_t placeInBucket(AsyncOpInterface start, OpOperand &operand);
  bool mayShare(const Use &earlier, const Use &later);
  LogicalResult reportOverlap(const Use &earlier, const Use &later);
  int64_t lastUse(Value value) const {
    return std::max(lastUses.lookup(value), int64_t(0));
  }

  const Tables &tables;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, int64_t> positions;
  /// The last operation that reads a root value, and the last one that it must
  /// be left alone for: a collective in flight borrows.
  DenseMap<Value, int64_t> lastUses, borrowed;
  SmallVector<Use> uses;
  /// The places to which each start brings its operands, in elements of its
  /// first buffer.
  DenseMap<Operation *, SmallVector<int64_t>> operandOffsets;
};

} // namespace

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

LineMemory::LineMemory(const Tables &tables, ArrayRef<Block *> line)
    : tables(tables) {
  for (Block *block : line)
    for (Operation &op : *block) {
      positions[&op] = operations.size();
      operations.push_back(&op);
    }
  for (Operation *op : operations) {
    if (isa<FreeOp>(op))
      continue;
    int64_t read = positions[op], until = read;
    if (auto start = dyn_cast<AsyncOpInterface>(op);
        start && readsInFlight(start))
      until = std::max(until, positions.lookup(tables.handles.findWait(op)));
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        int64_t &last = lastUses[getRoot(operand)],
                &held = borrowed[getRoot(operand)];
        last = std::max(last, read);
        held = std::max(held, until);
      }
    });
  }
  for (Operation *op : operations)
    collect(*op);
}

/// Whether operands are read until the wait.
bool LineMemory::readsInFlight(AsyncOpInterface start) {
  ArrayRef<AsyncBuffer> buffers = tables.getBuffers(start);
  for (auto [index, buffer] : llvm::enumerate(buffers))
    if (buffer.memory == AsyncBuffer::Memory::Operand &&
        isPacked(buffers, index))
      return false;
  return true;
}

void LineMemory::collect(Operation &op) {
  if (auto start = dyn_cast<AsyncOpInterface>(op))
    return collectStart(start);
  auto places = op.getAttrOfType<ArrayAttr>(kPlaces);
  if (!places || op.hasTrait<OpTrait::ConstantLike>())
    return;
  int64_t from = positions[&op];
  size_t next = 0;
  for (Value result : op.getResults())
    if (isa<RankedTensorType>(result.getType()) && next < places.size())
      uses.push_back({cast<AtAttr>(places[next++]), from,
                      std::max(from, borrowed.lookup(result)), &op, result});
}

/// A started operation has its buffers from its start to the last use of what
/// it gives; slices lie in a buffer, or in the stored gradient.
void LineMemory::collectStart(AsyncOpInterface start) {
  auto places = start->getAttrOfType<DictionaryAttr>(kPlaces);
  if (!places)
    return;
  int64_t from = positions[start];
  ArrayRef<AsyncBuffer> buffers = tables.getBuffers(start);
  Operation *wait = tables.handles.findWait(start);
  SmallVector<int64_t> last(
      buffers.size(), wait ? std::max(from, positions.lookup(wait)) : from);
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    if (!wait || buffer.result < 0)
      continue;
    size_t holder =
        buffer.memory == AsyncBuffer::Memory::Part ? buffer.index : index;
    last[holder] =
        std::max(last[holder], borrowed.lookup(wait->getResult(buffer.result)));
  }
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    auto place = places.getAs<AtAttr>(buffer.name);
    if (!buffer.isPlaced || !place)
      continue;
    bool isBucket =
        buffer.memory == AsyncBuffer::Memory::State && buffer.isRead;
    if (buffer.memory == AsyncBuffer::Memory::Own || isBucket) {
      int64_t begin = buffer.isMadeAtWait() && wait
                          ? std::max(from, positions.lookup(wait))
                          : from;
      uses.push_back({place, begin, last[index], start, Value()});
    }
    // An operand that becomes the result: its own use ends with the wait.
    if (buffer.memory == AsyncBuffer::Memory::Operand && wait) {
      int64_t next = positions.lookup(wait) + 1;
      uses.push_back(
          {place, next, std::max(next, last[index]), start, Value()});
    }
  }
}

//===----------------------------------------------------------------------===//
// Overlaps
//===----------------------------------------------------------------------===//

/// A value's first byte in the buffer that it is brought into; negative where
/// it is read in its own place.
int64_t LineMemory::placeInBucket(AsyncOpInterface start, OpOperand &operand) {
  auto [offsets, isNew] = operandOffsets.try_emplace(start);
  if (isNew)
    offsets->second = start.getOperandOffsets(tables);
  if (offsets->second.empty())
    return -1;
  auto type = cast<RankedTensorType>(operand.get().getType());
  return offsets->second[operand.getOperandNumber()] *
         elementBytes(type.getElementType());
}

/// Whether `later` may take the memory of `earlier`, which it reads: a gradient
/// at its place in the bucket, or an operand that dies there and may be
/// overwritten.
bool LineMemory::mayShare(const Use &earlier, const Use &later) {
  if (!earlier.value || lastUse(earlier.value) > later.from)
    return false;
  for (OpOperand &operand : later.by->getOpOperands()) {
    if (getRoot(operand.get()) != earlier.value)
      continue;
    if (auto start = dyn_cast<AsyncOpInterface>(later.by)) {
      int64_t offset = placeInBucket(start, operand);
      return offset >= 0 &&
             earlier.place.getOffset() == later.place.getOffset() + offset;
    }
    if (isa<StashOp>(later.by))
      return earlier.place == later.place;
    if (later.by->hasTrait<OverwritesOperands>() && later.value &&
        haveSameLayout(operand.get().getType(), later.value.getType()))
      return earlier.to == later.from &&
             earlier.place.getOffset() == later.place.getOffset() &&
             earlier.place.getBytes() == later.place.getBytes();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Whether `op` is a view of all of `value`.
static bool isWholeView(Operation *op, Value value) {
  return getView(op) && tensorBytes(op->getResult(0).getType()) ==
                            tensorBytes(value.getType());
}

/// The result that takes the place of `value`, which it reads, or a view
/// of all of it; null where there is none.
static Value findSuccessor(Value value, AtAttr place) {
  for (Operation *user : value.getUsers()) {
    if (isWholeView(user, value))
      if (Value successor = findSuccessor(user->getResult(0), place))
        return successor;
    auto places = user->getAttrOfType<ArrayAttr>(kPlaces);
    if (!user->hasTrait<OverwritesOperands>() || !places)
      continue;
    for (auto [result, at] : llvm::zip(user->getResults(), places))
      if (at == place)
        return result;
  }
  return {};
}

/// Whether `value`, or a view of all of it, is named as the gradient of
/// `member`.
static bool isNamedGradientOf(Value value, MemberAttr member) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<GradientOp>(user))
      return isGradientOf(user->getResult(0), member.getParameter(), 0,
                          member.getSize());
    return isWholeView(user, value) &&
           isNamedGradientOf(user->getResult(0), member);
  });
}

/// Only the gradient itself, or what it is made from in place, of whatever
/// type, may be made where it is stored, and only where no other micro-batch's
/// is there.
LogicalResult LineMemory::verifyGradient(const Use &use, PartitionOp partition,
                                         MemberAttr member) {
  for (Value value = use.value; value;
       value = findSuccessor(value, use.place)) {
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    if (isNamedGradientOf(value, member) &&
        storesDirectly(partition, type, tables.training))
      return success();
  }
  return use.by->emitOpError("writes ")
         << use.place << ", where the gradient of " << member.getParameter()
         << " is stored";
}

/// Checks an operation that computes into a stored gradient: the elements are
/// those of one parameter, and exactly as many, so that neighbours and padding
/// stay as they are.
LogicalResult LineMemory::verifyState(const Use &use, PartitionOp partition,
                                      AtAttr stored) {
  int64_t bytes = elementBytes(partition.getGradientType());
  if (!use.value)
    return use.place.getEnd() <= stored.getEnd()
               ? success()
               : use.by->emitOpError("writes past the stored gradient of @")
                     << partition.getSymName();
  for (MemberAttr member : partition.getMemberRange())
    if (!partition.hasShardedGradients() &&
        stored.getOffset() + member.getOffset() * bytes ==
            use.place.getOffset() &&
        member.getSize() * bytes == use.place.getBytes())
      return verifyGradient(use, partition, member);
  return use.by->emitOpError("writes ")
         << use.place
         << ", which is no parameter's place in the stored gradient of @"
         << partition.getSymName();
}

/// Whether `value`, or a view of all of it, is kept at `place` under a name.
static bool isKept(Value value, AtAttr place) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto at = user->getAttrOfType<ArrayAttr>(kPlaces);
    if (isa<StashOp>(user))
      return at && at.size() == 1 && at[0] == place;
    return isWholeView(user, value) && isKept(user->getResult(0), place);
  });
}

/// Whether what lies in the stash is there under a name, or makes room for what
/// will be.
static bool isStashed(Operation *by, Value value, AtAttr place) {
  if (isa<StashOp, UnstashOp>(by))
    return true;
  for (; value; value = findSuccessor(value, place))
    if (isKept(value, place))
      return true;
  return false;
}

LogicalResult LineMemory::verifyPlace(const Use &use) {
  ArenaKind arena = use.place.getArena();
  if (arena == ArenaKind::Activations || arena == ArenaKind::Communication ||
      (arena == ArenaKind::Stash && isStashed(use.by, use.value, use.place)))
    return success();
  if (arena == ArenaKind::Gradients)
    for (PartitionOp partition : tables.trained) {
      DictionaryAttr at = partition.getAtAttr();
      auto stored = at ? at.getAs<AtAttr>("gradients") : AtAttr();
      if (stored && use.place.getSpace() == stored.getSpace() &&
          use.place.getOffset() >= stored.getOffset() &&
          use.place.getOffset() < stored.getEnd())
        return verifyState(use, partition, stored);
    }
  return use.by->emitOpError("computes into ")
         << use.place << ", where state lies";
}

LogicalResult LineMemory::run() {
  llvm::stable_sort(uses,
                    [](const Use &a, const Use &b) { return a.from < b.from; });
  ByteMap<const Use *> live[MemorySpace::kCount];
  // By their last position.
  std::multimap<int64_t, const Use *> ends;
  for (const Use &use : uses) {
    // Nothing is written to an empty place, wherever it is.
    if (use.place.getBytes() == 0)
      continue;
    if (failed(verifyPlace(use)))
      return failure();
    while (!ends.empty() && ends.begin()->first < use.from) {
      const Use *gone = ends.begin()->second;
      live[gone->place.getSpace().index()].removeIf(
          gone->place.getOffset(), gone->place.getEnd(),
          [&](const Use *other) { return other == gone; });
      ends.erase(ends.begin());
    }
    auto &space = live[use.place.getSpace().index()];
    auto found =
        space.find(use.place.getOffset(), use.place.getEnd(),
                   [&](const Use *other) { return !mayShare(*other, use); });
    if (found)
      return reportOverlap(**found, use);
    space.add(use.place.getOffset(), use.place.getEnd(), &use);
    ends.emplace(use.to, &use);
  }
  return success();
}

LogicalResult LineMemory::reportOverlap(const Use &earlier, const Use &later) {
  InFlightDiagnostic error = later.by->emitOpError("takes ")
                             << later.place << ", of which " << earlier.place
                             << " is still needed";
  error.attachNote(earlier.by->getLoc()) << "made here";
  error.attachNote(operations[earlier.to]->getLoc()) << "needed until here";
  return error;
}

LogicalResult verify::verifyMemory(const Tables &tables) {
  for (const SmallVector<Block *> &line : getTimelines(tables.step))
    if (failed(LineMemory(tables, line).run()))
      return failure();
  return success();
}
