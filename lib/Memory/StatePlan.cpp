//===- StatePlan.cpp - where parameters, gradients and moments lie --------===//

#include "zero/Memory/StatePlan.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

AtAttr mlir::zero::specialize(AtAttr place, int64_t index) {
  return place.getPart(index * place.getStride(), place.getBytes(),
                       /*stride=*/0);
}

AtAttr ArenaCursor::take(MLIRContext *context, MemorySpace space,
                         int64_t bytes) {
  int64_t &end = next[space.index()];
  int64_t offset = llvm::alignTo(end, kBufferAlignment);
  end = offset + bytes;
  return AtAttr::get(context, space.arena, offset, bytes, /*stride=*/0,
                     space.tier);
}

SmallVector<OptimizerState>
mlir::zero::listOptimizerStates(PartitionOp partition) {
  SmallVector<OptimizerState> states;
  if (!partition.isTrainable())
    return states;
  MLIRContext *context = partition.getContext();
  Type f32 = Float32Type::get(context);
  if (partition.hasMaster())
    states.push_back({"master", f32});
  if (partition.getSplitMaster())
    states.push_back(
        {"remainder", IntegerType::get(context, 8 * kRemainderBytes,
                                       IntegerType::Unsigned)});
  auto sgd = dyn_cast<SgdAttr>(*partition.getOptimizer());
  if (!sgd || sgd.getMomentum() != 0)
    states.push_back({"moment1", f32});
  if (!sgd)
    states.push_back({"moment2", f32});
  return states;
}

SmallVector<UpdateBuffer> mlir::zero::listUpdateBuffers(PartitionOp partition) {
  UpdateBuffer parameters = {"parameters", partition.getComputeType(),
                             partition.hasShardedParameters()};
  SmallVector<UpdateBuffer> buffers = {
      {"gradients", partition.getGradientType(),
       partition.hasShardedGradients(), /*isWritten=*/false}};
  bool isWide = partition.getComputeType().isF32();
  if (isWide)
    buffers.push_back(parameters);
  for (const OptimizerState &state : listOptimizerStates(partition))
    buffers.push_back(
        {state.name, state.type, partition.hasShardedOptimizer()});
  if (!isWide)
    buffers.push_back(parameters);
  return buffers;
}

DictionaryAttr mlir::zero::planPartition(PartitionOp partition,
                                         ArenaCursor &cursor) {
  MLIRContext *context = partition.getContext();
  int64_t elements = partition.getFlatElements();
  int64_t slice = elements / partition.getSlices();
  NamedAttrList places;
  auto add = [&](StringRef name, ArenaKind arena, bool sharded, int64_t bytes) {
    places.append(name, cursor.take(context, arena,
                                    (sharded ? slice : elements) * bytes));
  };
  add("parameters", ArenaKind::Parameters, partition.hasShardedParameters(),
      elementBytes(partition.getComputeType()));
  if (!partition.isTrainable())
    return places.getDictionary(context);
  add("gradients", ArenaKind::Gradients, partition.hasShardedGradients(),
      elementBytes(partition.getGradientType()));
  for (const OptimizerState &state : listOptimizerStates(partition))
    add(state.name, ArenaKind::Optimizer, partition.hasShardedOptimizer(),
        elementBytes(state.type));
  return places.getDictionary(context);
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
  return state.getPart(first, bytes, sharded ? 0 : bytes);
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

AtAttr StatePlaces::getPlace(const AsyncBuffer &buffer) const {
  if (buffer.memory == AsyncBuffer::Memory::Resident)
    return residents.lookup(buffer.parameter.getAttr());
  if (buffer.memory != AsyncBuffer::Memory::State)
    return {};
  PartitionOp partition =
      buffer.partition ? find(buffer.partition) : PartitionOp();
  DictionaryAttr states = partition ? partition.getAtAttr() : DictionaryAttr();
  auto all = states ? states.getAs<AtAttr>(buffer.state) : AtAttr();
  if (!all)
    return {};
  bool isSharded = buffer.state == "parameters"
                       ? partition.hasShardedParameters()
                       : partition.hasShardedGradients();
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

SmallVector<AtAttr>
StatePlaces::getPlaces(Operation *op, ArrayRef<AsyncBuffer> buffers) const {
  auto planned = op->getAttrOfType<ArrayAttr>("zero.at");
  size_t next = 0;
  SmallVector<AtAttr> places;
  for (const AsyncBuffer &buffer : buffers) {
    if (!buffer.isPlaced)
      places.push_back(getPlace(buffer));
    else
      places.push_back(planned && next < planned.size()
                           ? cast<AtAttr>(planned[next])
                           : AtAttr());
    next += buffer.isPlaced;
  }
  return places;
}

AtAttr mlir::zero::getPart(AtAttr place, Type type, int64_t offset,
                           int64_t elements) {
  int64_t bytes = elementBytes(type);
  return place.getPart(offset * bytes, elements * bytes);
}
