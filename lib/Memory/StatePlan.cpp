//===- StatePlan.cpp - where parameters, gradients and moments lie --------===//

#include "zero/Memory/StatePlan.h"

#include "mlir/IR/Builders.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

AtAttr ArenaCursor::take(MLIRContext *context, MemorySpace space,
                         int64_t bytes) {
  int64_t &end = next[space.index()];
  int64_t offset = llvm::alignTo(
      end, space.tier == MemoryTier::File ? kFileAlignment : kBufferAlignment);
  end = offset + bytes;
  return AtAttr::get(context, space.arena, offset, bytes, /*stride=*/0,
                     space.tier, /*over=*/AxesAttr());
}

PartitionPlaces mlir::zero::planPartition(PartitionOp partition,
                                          ArenaCursor &cursor) {
  MLIRContext *context = partition.getContext();
  int64_t elements = partition.getFlatElements();
  NamedAttrList places;
  places.append(
      "parameters",
      cursor.take(context,
                  {ArenaKind::Parameters, partition.getParameterTier()},
                  partition.getParameterBytes(0, elements)));
  if (!partition.isTrainable())
    return {places.getDictionary(context), ArrayAttr()};
  places.append(
      "gradients",
      cursor.take(
          context, {ArenaKind::Gradients},
          elements /
              (partition.hasShardedGradients() ? partition.getSlices() : 1) *
              elementBytes(partition.getGradientType())));
  // Of this rank's own gradients: no other rank has them.
  for (auto [index, elementsEach] :
       llvm::enumerate(partition.getErrors().value_or(ArrayRef<int64_t>())))
    places.append(PartitionOp::getErrorsName(index > 0),
                  cursor.take(context, {ArenaKind::Gradients},
                              elements / elementsEach *
                                  elementBytes(BFloat16Type::get(context))));
  SmallVector<Attribute> states;
  for (StateAttr state : partition.getStateRange()) {
    SmallVector<StateRangeAttr> ranges;
    for (StateRangeAttr range : state.getRanges()) {
      auto [begin, end] = partition.getBounds(range);
      int64_t kept =
          (end - begin) /
          (partition.hasShardedOptimizer() ? partition.getSlices() : 1);
      AtAttr at = cursor.take(context, {ArenaKind::Optimizer, range.getTier()},
                              kept * elementBytes(state.getType()));
      ranges.push_back(StateRangeAttr::get(
          context, range.getBegin(), range.getEnd(), range.getTier(), at));
    }
    states.push_back(
        StateAttr::get(context, state.getName(), state.getType(), ranges));
  }
  return {places.getDictionary(context), ArrayAttr::get(context, states)};
}

StatePlaces::StatePlaces(ModuleOp module) : PartitionTable(module) {
  for (StepOp step : module.getOps<StepOp>())
    if (auto initialize = step.getRegionOp<InitializeOp>())
      for (auto start : initialize.getBody().getOps<AsyncOpInterface>()) {
        auto buffers =
            start.getBuffers(*this, step.getTraining().value_or(nullptr));
        for (auto [buffer, place] :
             llvm::zip_equal(buffers, getPlaces(start, buffers)))
          if (buffer.memory == AsyncBuffer::Memory::Resident && place)
            residents[buffer.parameter.getAttr()] = place;
      }
}

AtAttr StatePlaces::getWhole(StringAttr parameter) const {
  if (AtAttr resident = residents.lookup(parameter))
    return resident;
  PartitionOp partition = getPartition(parameter);
  if (!partition || partition.hasShardedParameters())
    return {};
  auto all = cast<AtAttr>(partition.getAt()->get("parameters"));
  MemberAttr member = getMember(parameter);
  int64_t bytes = elementBytes(partition.getComputeType());
  return all.getPart(member.getOffset() * bytes, member.getSize() * bytes);
}

AtAttr StatePlaces::getSlice(PartitionOp partition, AtAttr state, bool sharded,
                             int64_t elementBytes, int64_t begin,
                             int64_t end) const {
  int64_t ranks = partition.getSlices();
  int64_t bytes = (end - begin) / ranks * elementBytes;
  int64_t first = (sharded ? begin / ranks : begin) * elementBytes;
  return state.getPart(first, bytes, sharded ? 0 : bytes,
                       partition.getSliceAxes());
}

AtAttr StatePlaces::getState(PartitionOp partition, StateAttr state,
                             int64_t begin, int64_t end, bool slice) const {
  int64_t bytes = elementBytes(state.getType());
  bool sharded = partition.hasShardedOptimizer();
  for (StateRangeAttr range : state.getRanges()) {
    auto [first, last] = partition.getBounds(range);
    if (begin < first || end > last)
      continue;
    if (!range.getAt())
      return {};
    return slice ? getSlice(partition, range.getAt(), sharded, bytes,
                            begin - first, end - first)
                 : range.getAt().getPart((begin - first) * bytes,
                                         (end - begin) * bytes);
  }
  return {};
}

AtAttr StatePlaces::getGradient(PartitionOp partition, int64_t begin,
                                int64_t end, bool slice) const {
  auto all = cast<AtAttr>(partition.getAt()->get("gradients"));
  int64_t bytes = elementBytes(partition.getGradientType());
  if (slice)
    return getSlice(partition, all, partition.hasShardedGradients(), bytes,
                    begin, end);
  return all.getPart(begin * bytes, (end - begin) * bytes);
}

int64_t StatePlaces::getPackedOffset(PartitionOp partition,
                                     int64_t begin) const {
  auto [found, isNew] = packedOffsets.try_emplace(partition);
  if (!isNew)
    return found->second.lookup(begin);
  int64_t bytes = 0;
  for (MemberAttr member : partition.getMemberRange()) {
    found->second[member.getOffset()] = bytes;
    auto [first, last] = getSegmentsOf(member.getParameter().getAttr());
    bytes += partition.getPackedBytes(first, last);
  }
  return found->second.lookup(begin);
}

AtAttr StatePlaces::getPlace(const AsyncBuffer &buffer) const {
  if (buffer.memory == AsyncBuffer::Memory::Resident)
    return residents.lookup(buffer.parameter.getAttr());
  if (buffer.memory != AsyncBuffer::Memory::State)
    return {};
  PartitionOp partition =
      buffer.partition ? find(buffer.partition) : PartitionOp();
  if (StateAttr state =
          partition ? partition.findState(buffer.state) : StateAttr())
    return getState(partition, state, buffer.begin, buffer.end,
                    buffer.form == AccumulateForm::Slice);
  DictionaryAttr states = partition ? partition.getAtAttr() : DictionaryAttr();
  auto all = states ? states.getAs<AtAttr>(buffer.state) : AtAttr();
  if (!all)
    return {};
  bool isSharded = buffer.state == "parameters"
                       ? partition.hasShardedParameters()
                       : partition.hasShardedGradients();
  if (buffer.state == "parameters" && partition.getQuantized())
    return all.getPart(getPackedOffset(partition, buffer.begin),
                       partition.getPackedBytes(buffer.begin, buffer.end));
  switch (buffer.form) {
  case AccumulateForm::Whole:
    return getPart(all, buffer.type, buffer.begin, buffer.end - buffer.begin);
  case AccumulateForm::Slice:
    return getSlice(partition, all, isSharded, elementBytes(buffer.type),
                    buffer.begin, buffer.end);
  case AccumulateForm::Owned:
    int64_t slice = partition.getFlatElements() / partition.getSlices();
    return getPart(all, buffer.type, buffer.begin - buffer.owner * slice,
                   buffer.elements);
  }
  llvm_unreachable("a form of AccumulateForm");
}

AtAttr StatePlaces::getPlace(Operation *op, const AsyncBuffer &buffer) const {
  if (!buffer.isPlaced)
    return getPlace(buffer);
  auto planned = op->getAttrOfType<DictionaryAttr>(kPlaces);
  return planned ? planned.getAs<AtAttr>(buffer.name) : AtAttr();
}

SmallVector<AtAttr>
StatePlaces::getPlaces(Operation *op, ArrayRef<AsyncBuffer> buffers) const {
  return llvm::map_to_vector(
      buffers, [&](const AsyncBuffer &buffer) { return getPlace(op, buffer); });
}

SmallVector<AtAttr> mlir::zero::listPlaces(Operation *op) {
  SmallVector<AtAttr> places;
  if (auto list = op->getAttrOfType<ArrayAttr>(kPlaces))
    llvm::append_range(places, list.getAsRange<AtAttr>());
  else if (auto named = op->getAttrOfType<DictionaryAttr>(kPlaces))
    for (NamedAttribute entry : named)
      places.push_back(cast<AtAttr>(entry.getValue()));
  return places;
}

AtAttr mlir::zero::getPart(AtAttr place, Type type, int64_t offset,
                           int64_t elements) {
  int64_t bytes = elementBytes(type);
  return place.getPart(offset * bytes, elements * bytes);
}
