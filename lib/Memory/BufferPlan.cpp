//===- BufferPlan.cpp - which values share which memory -------------------===//

#include "zero/Memory/BufferPlan.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::zero;

BufferPlan::BufferPlan(ArrayRef<Block *> line, const Handles &handles,
                       const StatePlaces &state, TrainingAttr training,
                       function_ref<AtAttr(ElementsAttr)> constants)
    : handles(handles), state(state), training(training), constants(constants),
      order(line) {
  findReads(line);
  for (Block *block : line)
    for (Operation &op : *block) {
      now = order[&op];
      if (failed(visit(op))) {
        status = failure();
        return;
      }
    }
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

void BufferPlan::findReads(ArrayRef<Block *> line) {
  for (auto [value, last] : findLastUses(line, order, handles))
    borrowedUntil[value] = order[last];
  for (Block *block : line)
    for (Operation &op : *block)
      if (!isa<FreeOp>(op))
        for (Value operand : op.getOperands())
          lastRead[getRoot(operand)] = order[&op];
}

void BufferPlan::keepAlive(int buffer) {
  int64_t offset = 0;
  buffers[buffer].end = std::max(buffers[buffer].end, now);
  PlannedBuffer &root = buffers[rootOf(buffer, offset)];
  root.end = std::max(root.end, now);
}

void BufferPlan::extend(Value value) {
  if (auto found = memory.find(value); found != memory.end())
    keepAlive(found->second.buffer);
  if (auto found = inFlight.find(value); found != inFlight.end())
    for (int buffer : found->second)
      keepAlive(buffer);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

int BufferPlan::newBuffer(MemorySpace space, int64_t bytes, Operation *begin) {
  PlannedBuffer buffer;
  buffer.space = space;
  buffer.bytes = bytes;
  buffer.begin = buffer.end = order[begin];
  buffers.push_back(buffer);
  return buffers.size() - 1;
}

int BufferPlan::fixedBuffer(AtAttr place) {
  PlannedBuffer buffer;
  buffer.space = place.getSpace();
  buffer.bytes = place.getBytes();
  buffer.fixed = place;
  buffers.push_back(buffer);
  return buffers.size() - 1;
}

Memory BufferPlan::whole(int buffer) const {
  AtAttr fixed = buffers[buffer].fixed;
  return {buffer, 0, fixed ? fixed.getStride() : 0, buffers[buffer].bytes,
          fixed ? fixed.getOver() : AxesAttr()};
}

int BufferPlan::rootOf(int buffer, int64_t &offset) const {
  while (buffers[buffer].parent >= 0) {
    offset += buffers[buffer].parentOffset;
    buffer = buffers[buffer].parent;
  }
  return buffer;
}

void BufferPlan::place(Value value, int bucket, int64_t offset) {
  Memory source = memory.lookup(value);
  if (source.buffer < 0) // an input's, or a view of one
    return;
  PlannedBuffer &buffer = buffers[source.buffer];
  bool canMove = buffer.parent < 0 && !buffer.fixed && source.offset == 0 &&
                 source.bytes == buffer.bytes &&
                 lastRead.lookup(getRoot(value)) <= now && !buffer.isAsync &&
                 buffer.space == ArenaKind::Activations;
  if (!canMove)
    return;
  buffer.parent = bucket;
  buffer.parentOffset = offset;
  buffers[bucket].begin = std::min(buffers[bucket].begin, buffer.begin);
}

int BufferPlan::findDyingInput(Operation &op, Type type) {
  const int64_t bytes = tensorBytes(type);
  for (Value input : op.getOperands()) {
    auto found = memory.find(input);
    if (found == memory.end() || !haveSameLayout(input.getType(), type))
      continue;
    const PlannedBuffer &buffer = buffers[found->second.buffer];
    bool isWhole =
        found->second.offset == 0 && found->second.bytes == buffer.bytes;
    // A part of the same buffer, such as a broadcast row, is read again after
    // its place was overwritten.
    bool isReadInPart = llvm::any_of(op.getOperands(), [&](Value other) {
      Memory place = memory.lookup(other);
      return place.buffer == found->second.buffer &&
             (place.offset != 0 || place.bytes != bytes);
    });
    bool taken = llvm::any_of(op.getResults(), [&](Value output) {
      auto other = memory.find(output);
      return other != memory.end() &&
             other->second.buffer == found->second.buffer;
    });
    if (isWhole && buffer.bytes == bytes && !buffer.fixed &&
        buffer.parent < 0 && !buffer.isAsync && !taken && !isReadInPart &&
        buffer.space == ArenaKind::Activations &&
        borrowedUntil.lookup(getRoot(input)) <= now)
      return found->second.buffer;
  }
  return -1;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult BufferPlan::visit(Operation &op) {
  for (Value operand : op.getOperands())
    extend(operand);
  if (std::optional<View> view = getView(&op)) {
    // An input has no buffer of the plan, and so no view of it has.
    auto source = memory.find(view->source);
    if (source == memory.end())
      return success();
    Memory part = source->second;
    part.offset += view->offset;
    part.bytes = tensorBytes(op.getResult(0).getType());
    memory[op.getResult(0)] = part;
    return success();
  }
  if (isa<StashOp, UnstashOp>(op))
    return visitStash(op), success();
  if (auto load = dyn_cast<LoadOp>(op))
    return visitLoad(load);
  if (auto wait = dyn_cast<WaitOp>(op))
    return visitWait(wait), success();
  if (auto start = dyn_cast<AsyncOpInterface>(op))
    visitStart(start);
  else if (auto accumulate = dyn_cast<AccumulateOp>(op))
    visitAccumulate(accumulate);
  else
    visitKernel(op);
  return success();
}

void BufferPlan::visitWait(WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      handles.findStart(wait.getPending()));
  if (!start)
    return;
  // What another region has started has needed its buffer until here.
  extend(start.getPending());
  for (int buffer : madeAtWait.lookup(start.getPending()))
    buffers[buffer].begin = now;
  for (auto [result, place] :
       llvm::zip(wait.getResults(), pending.lookup(start.getPending()))) {
    memory[result] = place;
    extend(result);
  }
}

void BufferPlan::visitKernel(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<ElementsAttr>(constant.getValue());
    if (!elements)
      return;
    AtAttr place = constants(elements);
    memory[op.getResult(0)] = whole(fixedBuffer(place));
    made.push_back({&op, {memory[op.getResult(0)]}});
    return;
  }
  SmallVector<Memory> places;
  for (Value result : op.getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    int64_t bytes = tensorBytes(result.getType());
    int buffer = -1;
    if (op.hasTrait<OverwritesOperands>())
      buffer = findDyingInput(op, result.getType());
    if (buffer < 0)
      buffer = newBuffer(ArenaKind::Activations, bytes, &op);
    memory[result] = whole(buffer);
    extend(result);
    places.push_back(memory[result]);
  }
  if (!places.empty())
    made.push_back({&op, places});
}

/// The stash is planned before, and what is stashed is made there if it can be.
void BufferPlan::visitStash(Operation &op) {
  auto places = op.getAttrOfType<ArrayAttr>(kPlaces);
  if (!places)
    return;
  int buffer = fixedBuffer(cast<AtAttr>(places[0]));
  memory[op.getResult(0)] = whole(buffer);
  if (isa<StashOp>(op))
    place(op.getOperand(0), buffer, 0);
}

LogicalResult BufferPlan::visitLoad(LoadOp load) {
  AtAttr place = state.getWhole(load.getParameterAttr().getAttr());
  if (!place)
    return load.emitOpError("reads ")
           << load.getParameterAttr()
           << ", which no rank holds whole; run zero-insert-gathers";
  memory[load.getResult()] = whole(fixedBuffer(place));
  return success();
}

Memory BufferPlan::makeMemory(const AsyncBuffer &buffer,
                              ArrayRef<Memory> others, Operation *start) {
  int64_t bytes = elementBytes(buffer.type);
  if (buffer.memory == AsyncBuffer::Memory::Own) {
    int index =
        newBuffer({buffer.arena, buffer.tier}, buffer.elements * bytes, start);
    buffers[index].isAsync = true;
    buffers[index].alignment = buffer.alignment;
    return whole(index);
  }
  if (buffer.memory == AsyncBuffer::Memory::Operand)
    return memory.lookup(start->getOperand(buffer.index));
  if (buffer.memory != AsyncBuffer::Memory::Part)
    return whole(fixedBuffer(state.getPlace(buffer)));
  const Memory &holder = others[buffer.index];
  return {holder.buffer, holder.offset + buffer.offset * bytes,
          buffer.stride * bytes, buffer.elements * bytes, buffer.over};
}

/// What a library registers for collectives is whole arenas, so that all they
/// read and write is in one that has nothing else.
void BufferPlan::moveToCommunication(Value value) {
  auto found = memory.find(value);
  if (found == memory.end())
    return;
  int64_t offset = 0;
  PlannedBuffer &root = buffers[rootOf(found->second.buffer, offset)];
  if (!root.fixed && root.space == ArenaKind::Activations)
    root.space = ArenaKind::Communication;
}

void BufferPlan::visitStart(AsyncOpInterface start) {
  Value handle = start.getPending();
  SmallVector<AsyncBuffer> described = start.getBuffers(state, training);
  if (isa<CollectiveOpInterface>(*start))
    for (const AsyncBuffer &buffer : described)
      if (buffer.memory == AsyncBuffer::Memory::Operand)
        moveToCommunication(start->getOperand(buffer.index));
  SmallVector<Memory> all, places;
  for (const AsyncBuffer &buffer : described) {
    all.push_back(buffer.isPlaced ? makeMemory(buffer, all, start) : Memory());
    if (!buffer.isPlaced)
      continue;
    places.push_back(all.back());
    if (buffer.result < 0) {
      if (buffer.memory == AsyncBuffer::Memory::Own && handle)
        inFlight[handle].push_back(all.back().buffer);
      continue;
    }
    if (buffer.isMadeAtWait())
      madeAtWait[handle].push_back(all.back().buffer);
    // A gather lands padded: every rank's slice is equally long.
    ArrayRef<Type> types = cast<PendingType>(handle.getType()).getTypes();
    auto &tensors = pending[handle];
    tensors.resize(types.size());
    tensors[buffer.result] = all.back();
    tensors[buffer.result].bytes = tensorBytes(types[buffer.result]);
  }
  if (places.empty())
    return;
  made.push_back({start, places});
  if (!described.front().isPlaced || !described.front().isRead)
    return;
  if (described.front().result >= 0 ||
      described.front().memory != AsyncBuffer::Memory::Own)
    inFlight[handle].push_back(all.front().buffer);
  int64_t bytes = elementBytes(described.front().type);
  for (auto [operand, offset] :
       llvm::zip(start->getOperands(), start.getOperandOffsets(state)))
    place(operand, all.front().buffer, offset * bytes);
}

void BufferPlan::visitAccumulate(AccumulateOp accumulate) {
  PartitionOp partition = state.find(accumulate.getPartitionAttr());
  auto type = cast<RankedTensorType>(accumulate.getValue().getType());
  if (accumulate.getForm() == AccumulateForm::Whole &&
      storesDirectly(partition, type.getElementType(), training))
    place(accumulate.getValue(),
          fixedBuffer(state.getGradient(partition, accumulate.getBegin(),
                                        accumulate.getEnd(), /*slice=*/false)),
          0);
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

ArrayRef<MemorySpace> BufferPlan::getSpaces() {
  static const MemorySpace spaces[] = {
      ArenaKind::Activations,
      ArenaKind::Communication,
      {ArenaKind::Communication, MemoryTier::Host},
      {ArenaKind::Activations, MemoryTier::Host}};
  return spaces;
}

void BufferPlan::solve() {
  for (MemorySpace space : getSpaces()) {
    SmallVector<Lifetime> lifetimes;
    SmallVector<int> owners;
    // One for all of an arena: only staging buffers of files want more.
    int64_t alignment = kBufferAlignment;
    for (auto [index, buffer] : llvm::enumerate(buffers)) {
      if (buffer.space != space || buffer.fixed || buffer.parent >= 0)
        continue;
      lifetimes.push_back({buffer.begin, buffer.end, buffer.bytes, 0});
      owners.push_back(index);
      alignment = std::max(alignment, buffer.alignment);
    }
    allocate(lifetimes, alignment);
    live[space.index()] = zero::liveBytes(lifetimes, alignment);
    for (auto [lifetime, owner] : llvm::zip_equal(lifetimes, owners))
      buffers[owner].fixed =
          AtAttr::get(training.getContext(), space.arena, lifetime.offset,
                      lifetime.bytes, /*stride=*/0, space.tier,
                      /*over=*/AxesAttr());
  }
}

int64_t BufferPlan::liveBytes(MemorySpace space) const {
  return live[space.index()];
}

SmallVector<std::pair<Operation *, SmallVector<AtAttr>>>
BufferPlan::getPlaces() const {
  SmallVector<std::pair<Operation *, SmallVector<AtAttr>>> result;
  for (auto &[op, places] : made) {
    SmallVector<AtAttr> attributes;
    for (const Memory &place : places) {
      int64_t offset = place.offset;
      const PlannedBuffer &root = buffers[rootOf(place.buffer, offset)];
      attributes.push_back(
          root.fixed.getPart(offset, place.bytes, place.stride, place.over));
    }
    result.push_back({op, std::move(attributes)});
  }
  return result;
}
