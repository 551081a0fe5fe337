//===- VerifyPlaces.cpp - each place has the form that its owner needs ----===//
//
// What zero-plan-memory writes is read back by several parties that look at no
// more than their own operation: a place of the wrong arena, size or stride is
// wrong there, whatever lies beside it. Whether places overlap in time is the
// matter of VerifyMemory.cpp.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/PipelinePasses.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Memory/StatePlan.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// Bytes that one thing has for the whole run.
struct Reserved {
  AtAttr place;
  Operation *owner = nullptr;
  /// Equal contents may share a place; null: nothing is equal.
  Attribute content;
};

class Places {
public:
  explicit Places(const Tables &tables)
      : tables(tables), state(tables.module) {}
  LogicalResult run();

private:
  LogicalResult verifyInputs();
  LogicalResult verifyStates(PartitionOp partition);
  LogicalResult verifyOperation(Operation &op);
  LogicalResult verifyResults(Operation &op, ArrayRef<AtAttr> places);
  LogicalResult verifyConstant(Operation &op, AtAttr place);
  LogicalResult verifyResident(Operation *op, const AsyncBuffer &buffer,
                               AtAttr place);
  LogicalResult verifyNames(AsyncOpInterface op, ArrayRef<AsyncBuffer> buffers);
  LogicalResult verifyBuffers(AsyncOpInterface op);
  LogicalResult verifyInPlace(AsyncOpInterface op, Value operand, AtAttr place);
  LogicalResult verifyDisjoint();
  LogicalResult verifyStashed(Operation &op, StringAttr name, AtAttr place);

  /// `place` in this program: of all ranks, or of the one that it is for.
  AtAttr here(AtAttr place);
  LogicalResult expect(Operation *op, AtAttr place, AtAttr wanted);
  /// `place` is anywhere in `space`, `bytes` long, on all ranks the same; where
  /// a buffer may begin, unless it is a part of one.
  LogicalResult expectSize(Operation *op, AtAttr place, MemorySpace space,
                           int64_t bytes, bool isPart = false,
                           int64_t alignment = kBufferAlignment);

  const Tables &tables;
  StatePlaces state;
  SmallVector<Reserved> reserved;
  DenseMap<StringAttr, AtAttr> stash; ///< by name
};

} // namespace

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

AtAttr Places::here(AtAttr place) {
  auto rank = tables.step->getAttrOfType<IntegerAttr>(kRank);
  return rank ? tables.mesh.placeOn(place, rank.getInt()) : place;
}

LogicalResult Places::expect(Operation *op, AtAttr place, AtAttr wanted) {
  if (place == here(wanted))
    return success();
  return op->emitOpError("is at ") << place << ", wanted " << here(wanted);
}

LogicalResult Places::expectSize(Operation *op, AtAttr place, MemorySpace space,
                                 int64_t bytes, bool isPart,
                                 int64_t alignment) {
  if (place.getSpace() != space || place.getBytes() != bytes ||
      place.getStride() != 0 || place.getOffset() < 0)
    return op->emitOpError("is at ")
           << place << ", wanted " << bytes << " bytes of the arena "
           << space.describe() << ", the same on all ranks";
  if (space.tier == MemoryTier::File)
    alignment = kFileAlignment;
  if (isPart || place.getOffset() % alignment == 0)
    return success();
  return op->emitOpError("is at ")
         << place << ", wanted a multiple of " << alignment
         << " bytes, where a buffer begins; run zero-plan-memory again";
}

//===----------------------------------------------------------------------===//
// What a run keeps
//===----------------------------------------------------------------------===//

LogicalResult Places::verifyInputs() {
  auto places = tables.step->getAttrOfType<ArrayAttr>(kPlaces);
  size_t found = places ? places.size() : 0;
  if (found != tables.step.getNumArguments())
    return tables.step.emitOpError("has ")
           << found << " places for " << tables.step.getNumArguments()
           << " inputs";
  if (!places)
    return success();
  if (failed(verifyRings(tables.step, tables.mesh)))
    return failure();
  for (auto [argument, place] :
       llvm::zip_equal(tables.step.getArguments(), places)) {
    auto at = cast<AtAttr>(place);
    if (failed(expectSize(tables.step, at, {getInputArena(argument)},
                          tensorBytes(argument.getType()))))
      return failure();
    reserved.push_back({at, tables.step, {}});
  }
  return success();
}

/// Every state is in its arena, as long as its elements.
LogicalResult Places::verifyStates(PartitionOp partition) {
  if (!partition.getAtAttr())
    return partition.emitOpError("has no place; run zero-plan-memory");
  ArenaCursor cursor;
  OwningOpRef<PartitionOp> planned = partition.clone();
  PartitionPlaces wanted = planPartition(*planned, cursor);
  planned->setAtAttr(wanted.at);
  if (wanted.states)
    planned->setStatesAttr(wanted.states);
  auto found = partition.getPlaces(), sizes = planned->getPlaces();
  if (found.size() != sizes.size())
    return partition.emitOpError("has places for ")
           << found.size() << " states, wanted " << sizes.size();
  for (auto [entry, other] : llvm::zip_equal(found, sizes)) {
    AtAttr place = entry.second, size = other.second;
    if (!place || entry.first != other.first)
      return partition.emitOpError("has no place for its ") << other.first;
    if (failed(expectSize(partition, place, size.getSpace(), size.getBytes())))
      return failure();
    reserved.push_back({place, partition, {}});
  }
  return success();
}

LogicalResult Places::verifyConstant(Operation &op, AtAttr place) {
  if (failed(expectSize(&op, place, {ArenaKind::Constants},
                        tensorBytes(op.getResult(0).getType()))))
    return failure();
  reserved.push_back({place, &op, op.getAttr("value")});
  return success();
}

LogicalResult Places::verifyResident(Operation *op, const AsyncBuffer &buffer,
                                     AtAttr place) {
  if (!isa<InitializeOp>(op->getParentOp()))
    return expect(op, place, state.getPlace(buffer));
  reserved.push_back({place, op, {}});
  return expectSize(op, place, {ArenaKind::Parameters},
                    buffer.elements * elementBytes(buffer.type));
}

/// No two things that a run keeps share bytes.
LogicalResult Places::verifyDisjoint() {
  llvm::erase_if(reserved, [](const Reserved &entry) {
    return entry.place.getBytes() == 0;
  });
  llvm::stable_sort(reserved, [](const Reserved &a, const Reserved &b) {
    return std::make_pair(a.place.getSpace().index(), a.place.getOffset()) <
           std::make_pair(b.place.getSpace().index(), b.place.getOffset());
  });
  for (size_t i = 1; i < reserved.size(); ++i) {
    const Reserved &before = reserved[i - 1], &entry = reserved[i];
    bool isShared = before.place == entry.place && entry.content &&
                    before.content == entry.content;
    if (isShared || before.place.getSpace() != entry.place.getSpace() ||
        before.place.getEnd() <= entry.place.getOffset())
      continue;
    InFlightDiagnostic error = entry.owner->emitOpError("is kept in ")
                               << entry.place << ", of which " << before.place
                               << " is taken";
    error.attachNote(before.owner->getLoc()) << "taken by this";
    return error;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What a region makes
//===----------------------------------------------------------------------===//

/// A gradient lies in its bucket, or where it is stored, at its member's
/// offset; all that stays in the activations has a buffer of its own.
LogicalResult Places::verifyResults(Operation &op, ArrayRef<AtAttr> places) {
  size_t next = 0;
  for (Value result : op.getResults())
    if (isa<RankedTensorType>(result.getType()))
      if (AtAttr place = places[next++]; failed(expectSize(
              &op, place, {place.getArena()}, tensorBytes(result.getType()),
              /*isPart=*/place.getArena() != ArenaKind::Activations)))
        return failure();
  return success();
}

/// Each buffer that needs a place has one, and nothing else does.
LogicalResult Places::verifyNames(AsyncOpInterface op,
                                  ArrayRef<AsyncBuffer> buffers) {
  auto places = op->getAttrOfType<DictionaryAttr>(kPlaces);
  llvm::StringSet<> wanted;
  for (const AsyncBuffer &buffer : buffers)
    if (buffer.isPlaced) {
      wanted.insert(buffer.name);
      if (!places || !places.contains(buffer.name))
        return op->emitOpError("has no place for its buffer '")
               << buffer.name << "'; run zero-plan-memory";
    }
  if (places)
    for (NamedAttribute entry : places)
      if (!wanted.contains(entry.getName()))
        return op->emitOpError("has a place for ")
               << entry.getName() << ", which is none of its buffers";
  return success();
}

/// An operand that becomes the result stays where another start has put it.
LogicalResult Places::verifyInPlace(AsyncOpInterface op, Value operand,
                                    AtAttr place) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStartOf(operand));
  if (!start)
    return op->emitOpError("works in place on what no started operation gave");
  const AsyncBuffer *buffer = tables.findBuffer(start, operand);
  return buffer ? expect(op, place, state.getPlace(start, *buffer)) : success();
}

/// Checks the buffers of a started operation: its own are in the communication
/// arena, and those that lie in a state or in another buffer have their place
/// there.
LogicalResult Places::verifyBuffers(AsyncOpInterface op) {
  ArrayRef<AsyncBuffer> buffers = tables.getBuffers(op);
  if (failed(verifyNames(op, buffers)))
    return failure();
  SmallVector<AtAttr> known = state.getPlaces(op, buffers);
  for (auto [buffer, place] : llvm::zip_equal(buffers, known)) {
    if (!buffer.isPlaced)
      continue;
    int64_t bytes = elementBytes(buffer.type), size = buffer.elements * bytes;
    LogicalResult result = success();
    if (buffer.memory == AsyncBuffer::Memory::Own)
      result = expectSize(op, place, {buffer.arena, buffer.tier}, size,
                          /*isPart=*/false, buffer.alignment);
    else if (buffer.memory == AsyncBuffer::Memory::Operand)
      result = verifyInPlace(op, op->getOperand(buffer.index), place);
    else if (buffer.memory == AsyncBuffer::Memory::Resident)
      result = verifyResident(op, buffer, place);
    else if (buffer.memory == AsyncBuffer::Memory::Part)
      result = expect(op, place,
                      known[buffer.index].getPart(buffer.offset * bytes, size,
                                                  buffer.stride * bytes,
                                                  buffer.over));
    else
      result = expect(op, place, state.getPlace(buffer));
    if (failed(result))
      return failure();
  }
  return success();
}

/// How many places `op` needs.
static size_t countPlaces(Operation &op) {
  if (isa<LoadOp, WaitOp>(op) || getView(&op))
    return 0;
  return llvm::count_if(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// Checks that a name in the stash has one place, where nothing else is.
LogicalResult Places::verifyStashed(Operation &op, StringAttr name,
                                    AtAttr place) {
  if (failed(expectSize(&op, place, {ArenaKind::Stash},
                        tensorBytes(op.getResult(0).getType()))))
    return failure();
  auto [known, isNew] = stash.try_emplace(name, place);
  if (!isNew)
    return expect(&op, place, known->second);
  reserved.push_back({place, &op, {}});
  return success();
}

LogicalResult Places::verifyOperation(Operation &op) {
  if (auto start = dyn_cast<AsyncOpInterface>(op))
    return verifyBuffers(start);
  SmallVector<AtAttr> places = listPlaces(&op);
  if (size_t wanted = countPlaces(op); places.size() != wanted)
    return op.emitOpError("has ")
           << places.size() << " places, wanted " << wanted;
  if (places.empty())
    return success();
  if (auto stash = dyn_cast<StashOp>(op))
    return verifyStashed(op, stash.getNameAttr(), places[0]);
  if (auto unstash = dyn_cast<UnstashOp>(op))
    return verifyStashed(op, unstash.getNameAttr(), places[0]);
  if (op.hasTrait<OpTrait::ConstantLike>())
    return verifyConstant(op, places[0]);
  return verifyResults(op, places);
}

LogicalResult Places::run() {
  for (PartitionOp partition : tables.module.getOps<PartitionOp>())
    if (failed(verifyStates(partition)))
      return failure();
  if (failed(verifyInputs()))
    return failure();
  for (Operation &region : tables.step.getBody().front())
    for (Operation &op : region.getRegion(0).front())
      if (failed(verifyOperation(op)))
        return failure();
  return verifyDisjoint();
}

/// Whether anything has a place: then all that needs one must have it.
static bool isPlanned(const Tables &tables) {
  auto hasPlaces = [](Operation *op) {
    return op->hasAttr(kPlaces) ? WalkResult::interrupt()
                                : WalkResult::advance();
  };
  return llvm::any_of(
             tables.module.getOps<PartitionOp>(),
             [](PartitionOp partition) { return partition.hasPlaces(); }) ||
         tables.step->walk(hasPlaces).wasInterrupted();
}

LogicalResult verify::verifyPlaces(const Tables &tables) {
  return isPlanned(tables) ? Places(tables).run() : success();
}
