//===- VerifyAccesses.cpp - which bytes operations touch ------------------===//

#include "VerifyAccesses.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

AccessTable::AccessTable(const Tables &tables)
    : tables(tables), state(tables.module) {}

static AtAttr placeAt(Operation *op, size_t index) {
  auto places = op->getAttrOfType<ArrayAttr>(kPlaces);
  return places && index < places.size() ? dyn_cast<AtAttr>(places[index])
                                         : AtAttr();
}

static AtAttr stateOf(PartitionOp partition, StringRef name) {
  DictionaryAttr at = partition.getAtAttr();
  return at ? at.getAs<AtAttr>(name) : AtAttr();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

AtAttr AccessTable::placeOf(Value value) {
  auto [found, isNew] = places.try_emplace(value);
  if (!isNew)
    return found->second;
  AtAttr place = findPlace(value);
  return places[value] = place;
}

AtAttr AccessTable::findPlace(Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker) {
    auto argument = cast<BlockArgument>(value);
    // The operation around a kernel's body reads for it.
    if (!isa<StepOp>(argument.getOwner()->getParentOp()))
      return {};
    return placeAt(argument.getOwner()->getParentOp(), argument.getArgNumber());
  }
  if (std::optional<View> view = getView(maker)) {
    AtAttr source = placeOf(view->source);
    return source ? source.getPart(view->offset, tensorBytes(value.getType()))
                  : AtAttr();
  }
  if (auto load = dyn_cast<LoadOp>(maker))
    return state.getWhole(load.getParameterAttr().getAttr());
  if (isa<WaitOp>(maker)) {
    auto start = dyn_cast_if_present<AsyncOpInterface>(
        tables.handles.findStartOf(value));
    if (!start)
      return {};
    const AsyncBuffer *buffer = tables.findBuffer(start, value);
    return buffer ? state.getPlace(start, *buffer) : AtAttr();
  }
  size_t index = cast<OpResult>(value).getResultNumber();
  return placeAt(
      maker,
      llvm::count_if(maker->getResults().take_front(index), [](Value result) {
        return isa<RankedTensorType>(result.getType());
      }));
}

void AccessTable::add(SmallVectorImpl<Access> &accesses, AtAttr place,
                      bool isWrite, int64_t rank) {
  if (!place || place.getBytes() == 0)
    return;
  int64_t last = place.getStride() * (tables.mesh.slicesOf(place) - 1);
  accesses.push_back({place.getSpace(), place.getOffset(),
                      place.getEnd() + last, isWrite, rank});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

const Accesses &AccessTable::of(Operation &op) {
  auto [found, isNew] = known.try_emplace(&op);
  if (isNew)
    collect(op, found->second);
  return found->second;
}

void AccessTable::collect(Operation &op, Accesses &accesses) {
  if (getView(&op) || op.hasTrait<OpTrait::ConstantLike>())
    return;
  llvm::TypeSwitch<Operation *>(&op)
      .Case<LoadOp, FreeOp, CarryOp, CarriedOp>([](auto) {})
      .Case([&](WaitOp op) { collectWait(op, accesses); })
      .Case([&](AccumulateOp op) { collectAccumulate(op, accesses); })
      .Case([&](GradStatsOp op) { collectStats(op, accesses); })
      .Case([&](UpdateOp op) { collectUpdate(op, accesses); })
      .Case([&](AsyncOpInterface op) { collectStart(op, accesses); })
      .Default([&](Operation *) {
        collectOperands(op, accesses);
        for (Value result : op.getResults())
          if (isa<RankedTensorType>(result.getType()))
            add(accesses.atOnce, placeOf(result), /*isWrite=*/true);
      });
}

void AccessTable::collectOperands(Operation &op, Accesses &accesses) {
  op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        add(accesses.atOnce, placeOf(operand), /*isWrite=*/false);
  });
}

/// Adds the stored elements that each owner keeps of the gradients of
/// `parameters`: in the layout `contiguous`, ranks keep different elements at
/// one place.
void AccessTable::collectOwned(PartitionOp partition, ArrayAttr parameters,
                               SmallVectorImpl<Access> &accesses) {
  AtAttr stored = stateOf(partition, "gradients");
  if (!stored)
    return;
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  int64_t bytes = elementBytes(partition.getGradientType());
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    MemberAttr member = tables.getMember(name.getAttr());
    int64_t flat = member.getOffset(), end = flat + member.getSize();
    while (flat < end) {
      int64_t owner = flat / slice;
      int64_t next = std::min(end, (owner + 1) * slice);
      int64_t first = stored.getOffset() + (flat - owner * slice) * bytes;
      accesses.push_back({stored.getSpace(), first,
                          first + (next - flat) * bytes, /*isWrite=*/true,
                          owner});
      flat = next;
    }
  }
}

void AccessTable::collectAccumulate(AccumulateOp op, Accesses &accesses) {
  PartitionOp partition = tables.find(op.getPartitionAttr());
  auto type = cast<RankedTensorType>(op.getValue().getType());
  AtAttr value = placeOf(op.getValue());
  if (op.getForm() == AccumulateForm::Owned) {
    if (storesDirectly(partition, type.getElementType(), tables.training))
      return;
    add(accesses.atOnce, value, /*isWrite=*/false);
    return collectOwned(partition, *op.getParameters(), accesses.atOnce);
  }
  AtAttr target = state.getGradient(partition, op.getBegin(), op.getEnd(),
                                    op.getForm() == AccumulateForm::Slice);
  if (value && value.beginsWith(target))
    return; // The value is made where it is stored.
  add(accesses.atOnce, value, /*isWrite=*/false);
  add(accesses.atOnce, target, /*isWrite=*/true);
}

void AccessTable::collectStats(GradStatsOp op, Accesses &accesses) {
  for (auto [index, name] :
       llvm::enumerate(op.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = tables.find(name);
    auto [begin, end] = op.getRange(index, partition);
    add(accesses.atOnce,
        state.getGradient(partition, begin, end,
                          partition.hasShardedGradients()),
        /*isWrite=*/false);
  }
}

void AccessTable::collectUpdate(UpdateOp op, Accesses &accesses) {
  PartitionOp partition = tables.find(op.getPartitionAttr());
  auto [begin, end] = op.getRange(partition);
  for (const UpdateOperand &operand : partition.getUpdateOperands()) {
    if (operand.kind != UpdateOperand::State) {
      AtAttr all = stateOf(partition, operand.name);
      add(accesses.atOnce,
          !all || !op.getBegin() ? all
          : operand.isSharded
              ? state.getSlice(partition, all, /*sharded=*/true,
                               elementBytes(operand.type), begin, end)
              : getPart(all, operand.type, begin, end - begin),
          operand.isWritten);
      continue;
    }
    for (StateRangeAttr range : partition.findState(operand.name).getRanges())
      if (auto [first, last] = partition.getBounds(range);
          first < end && begin < last)
        add(accesses.atOnce, range.getAt(), operand.isWritten);
  }
}

//===----------------------------------------------------------------------===//
// What is started
//===----------------------------------------------------------------------===//

void AccessTable::collectStart(AsyncOpInterface op, Accesses &accesses) {
  ArrayRef<AsyncBuffer> buffers = tables.getBuffers(op);
  SmallVector<AtAttr> places = state.getPlaces(op, buffers);
  // Operands that are not made in the first buffer are copied there before.
  if (op->getNumOperands() > 0) {
    collectOperands(*op, accesses);
    if (!op.getOperandOffsets(tables).empty())
      add(accesses.atOnce, places.front(), /*isWrite=*/true);
  }
  // An operation without a wait ends where it stands.
  auto &running = op.getPending() ? accesses.inFlight : accesses.atOnce;
  for (auto [index, buffer, place] : llvm::enumerate(buffers, places)) {
    if (buffer.memory == AsyncBuffer::Memory::Operand)
      place = placeOf(op->getOperand(buffer.index));
    if (buffer.packs >= 0)
      add(accesses.atOnce, place, /*isWrite=*/true);
    if (isPacked(buffers, index)) // What travels is a copy.
      add(accesses.atOnce, place, /*isWrite=*/false);
    else if (holdsErrors(buffers, index))
      add(accesses.atOnce, place, /*isWrite=*/true);
    else if (!buffer.isMadeAtWait())
      add(running, place, buffer.isWritten, buffer.owner);
  }
}

/// The accesses of a wait, which unpacks buffers that arrive packed.
void AccessTable::collectWait(WaitOp wait, Accesses &accesses) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStart(wait.getPending()));
  if (!start)
    return;
  ArrayRef<AsyncBuffer> buffers = tables.getBuffers(start);
  SmallVector<AtAttr> places = state.getPlaces(start, buffers);
  for (auto [buffer, place] : llvm::zip_equal(buffers, places)) {
    if (!buffer.isMadeAtWait())
      continue;
    add(accesses.atOnce, places[buffer.unpacks], /*isWrite=*/false);
    add(accesses.atOnce, place, /*isWrite=*/true);
  }
}
