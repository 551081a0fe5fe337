//===- CollectiveCommands.cpp - collectives as commands -------------------===//

#include "CommandBuilder.h"

#include "zero/Analysis/Schedule.h"

using namespace mlir;
using namespace mlir::zero;

static AtAttr placeAt(Operation *op, unsigned index) {
  return cast<AtAttr>(op->getAttrOfType<ArrayAttr>("zero.at")[index]);
}

/// Part of `place`: `bytes` bytes from `offset` on.
static AtAttr subPlace(AtAttr place, int64_t offset, int64_t bytes,
                       int64_t stride = 0) {
  return AtAttr::get(place.getContext(), place.getArena(),
                     place.getOffset() + offset, bytes,
                     place.getStride() + stride);
}

static std::string joinNames(ArrayAttr symbols) {
  std::string text;
  for (auto symbol : symbols.getAsRange<FlatSymbolRefAttr>())
    text += (text.empty() ? "" : " ") + symbol.getValue().str();
  return text;
}

zrt::Command &CommandBuilder::startCollective(Operation *op, zrt::Opcode opcode,
                                              zrt::TrafficClass traffic,
                                              std::string label) {
  zrt::Command &command = newCommand(op, std::move(label));
  command.opcode = opcode;
  command.traffic = traffic;
  command.stream = static_cast<zrt::Stream>(getStream(op));
  command.ticket = tickets.number(op);
  command.mean = op->hasAttr("mean");
  command.group = groups.cut;
  return command;
}

LogicalResult CommandBuilder::visitWait(WaitOp wait) {
  Operation *start = handles.findStart(wait.getPending());
  if (!start)
    return wait.emitOpError("waits for what no region has carried");
  zrt::Command &command = newCommand(wait, "wait");
  command.opcode = zrt::Opcode::Wait;
  command.ticket = tickets.number(start);
  // A reduction's first place is its bucket, which only an all-reduce returns.
  unsigned next = isa<ReduceScatterOp>(start) ? 1 : 0;
  for (Value result : wait.getResults())
    places[result] = placeAt(start, next++);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void CommandBuilder::fillBucket(Operation *op, PartitionOp partition,
                                AtAttr bucket, Type type, int64_t begin,
                                int64_t end, ArrayAttr parameters,
                                ValueRange gradients) {
  int64_t bytes = elementBytes(type);
  // Stored gradients have been zero in their padding from the start; a bucket
  // shares memory with other values.
  auto clear = [&](int64_t from, int64_t to) {
    if (from < to && bucket.getArena() == ArenaKind::Communication)
      addFlatKernel(
          op, "zero.clear",
          {subPlace(bucket, (from - begin) * bytes, (to - from) * bytes)},
          {type});
  };
  int64_t filled = begin;
  for (auto [symbol, gradient] :
       llvm::zip_equal(parameters.getAsRange<FlatSymbolRefAttr>(), gradients)) {
    auto [first, last] = partition.getElementsIn(symbol.getValue(), begin, end);
    clear(filled, first);
    filled = last;
    AtAttr source = placeOf(gradient);
    AtAttr target =
        subPlace(bucket, (first - begin) * bytes, (last - first) * bytes);
    if (source.getArena() != target.getArena() ||
        source.getOffset() != target.getOffset())
      addFlatKernel(op, "zero.copy", {source, target}, {type, type});
  }
  clear(filled, end);
}

static Type elementTypeOf(PendingType type) {
  return cast<RankedTensorType>(type.getTypes().front()).getElementType();
}

void CommandBuilder::visitAllReduce(AllReduceOp reduce) {
  PartitionOp partition = state.find(reduce.getPartitionAttr());
  Type type = elementTypeOf(reduce.getPending().getType());
  AtAttr bucket = placeAt(reduce, 0);
  if (reduce.getParameters())
    fillBucket(reduce, partition, bucket, type, reduce.getBegin(),
               reduce.getEnd(), *reduce.getParameters(), reduce.getGradients());
  zrt::Command &command = startCollective(
      reduce, zrt::Opcode::AllReduce, zrt::TrafficClass::Gradient,
      "all_reduce @" + reduce.getPartition().str() + " " +
          (reduce.getParameters() ? joinNames(*reduce.getParameters())
                                  : "stored"));
  command.parts.push_back(
      {toBufferRef(bucket, groups), toBufferRef(bucket, groups),
       static_cast<uint64_t>(reduce.getEnd() - reduce.getBegin()),
       *toDataType(type), 0});
}

void CommandBuilder::visitReduceScatter(ReduceScatterOp reduce) {
  PartitionOp partition = state.find(reduce.getPartitionAttr());
  Type type = elementTypeOf(reduce.getPending().getType());
  int64_t bytes = elementBytes(type), begin = reduce.getBegin();
  AtAttr bucket = placeAt(reduce, 0);
  if (reduce.getParameters())
    fillBucket(reduce, partition, bucket, type, begin, reduce.getEnd(),
               *reduce.getParameters(), reduce.getGradients());
  zrt::Command &command = startCollective(
      reduce, zrt::Opcode::ReduceScatter, zrt::TrafficClass::Gradient,
      "reduce_scatter @" + reduce.getPartition().str() + " " +
          (reduce.getParameters() ? joinNames(*reduce.getParameters())
                                  : "stored"));
  unsigned next = 1;
  for (auto [first, last] : partition.getSegmentsIn(begin, reduce.getEnd())) {
    int64_t size = last - first;
    AtAttr send = subPlace(bucket, (first - begin) * bytes, size * bytes);
    command.parts.push_back(
        {toBufferRef(send, groups),
         toBufferRef(placeAt(reduce, next++), groups),
         static_cast<uint64_t>(size / partition.getSlices()), *toDataType(type),
         0});
  }
}

/// Where an owner keeps the gradient of `run`.
static AtAttr ownedPlace(PartitionOp partition, const OwnerRun &run) {
  auto stored = cast<AtAttr>(partition.getAt()->get("gradients"));
  int64_t slice = partition.getFlatElements() / partition.getSlices();
  int64_t bytes = elementBytes(partition.getGradientType());
  return subPlace(stored, (run.flat - run.owner * slice) * bytes,
                  run.count * bytes);
}

void CommandBuilder::visitBucketedReduce(BucketedReduceOp reduce) {
  PartitionOp partition = state.find(reduce.getPartitionAttr());
  Type type = elementTypeOf(reduce.getPending().getType());
  int64_t bytes = elementBytes(type);
  AtAttr bucket = placeAt(reduce, 0);
  int64_t offset = 0;
  for (Value gradient : reduce.getGradients()) {
    AtAttr source = placeOf(gradient);
    AtAttr target = subPlace(bucket, offset, source.getBytes());
    if (source.getArena() != target.getArena() ||
        source.getOffset() != target.getOffset())
      addFlatKernel(reduce, "zero.copy", {source, target}, {type, type});
    offset += source.getBytes();
  }
  zrt::Command &command =
      startCollective(reduce, zrt::Opcode::Reduce, zrt::TrafficClass::Gradient,
                      "bucketed_reduce @" + reduce.getPartition().str() + " " +
                          joinNames(reduce.getParameters()));
  for (const OwnerRun &run : cutAtOwners(partition, reduce.getParameters(),
                                         reduce.getRange(partition))) {
    AtAttr send = subPlace(bucket, run.inBucket * bytes, run.count * bytes);
    AtAttr receive = storesDirectly(partition, type, *step.getTraining())
                         ? ownedPlace(partition, run)
                         : send;
    command.parts.push_back(
        {toBufferRef(send, groups), toBufferRef(receive, groups),
         static_cast<uint64_t>(run.count), *toDataType(type),
         static_cast<int32_t>(run.owner)});
  }
}

void CommandBuilder::accumulateOwned(AccumulateOp accumulate,
                                     PartitionOp partition) {
  Type type =
      cast<RankedTensorType>(accumulate.getValue().getType()).getElementType();
  if (storesDirectly(partition, type, *step.getTraining()))
    return;
  AtAttr bucket = placeOf(accumulate.getValue());
  int64_t bytes = elementBytes(type);
  for (const OwnerRun &run :
       cutAtOwners(partition, *accumulate.getParameters(),
                   {accumulate.getBegin(), accumulate.getEnd()})) {
    zrt::KernelSpec spec;
    spec.ints["owner"] = {run.owner};
    if (groups.cut != zrt::kAllRanks)
      spec.ints["group"] = {groups.cut};
    addFlatKernel(accumulate, "zero.accumulate",
                  {subPlace(bucket, run.inBucket * bytes, run.count * bytes),
                   ownedPlace(partition, run)},
                  {type, partition.getGradientType()}, spec);
  }
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

void CommandBuilder::addGatherParts(zrt::Command &command, StringAttr parameter,
                                    AtAttr whole) {
  PartitionOp partition = state.getPartition(parameter);
  auto all = cast<AtAttr>(partition.getAt()->get("parameters"));
  int64_t bytes = elementBytes(partition.getComputeType());
  auto [first, last] = partition.getSegmentsOf(parameter.getValue());
  for (auto [begin, end] : partition.getSegmentsIn(first, last)) {
    AtAttr slice =
        state.getSlice(partition, all, /*sharded=*/true, bytes, begin, end);
    zrt::CollectivePart part;
    part.send = toBufferRef(slice, groups);
    part.receive = toBufferRef(
        subPlace(whole, (begin - first) * bytes, (end - begin) * bytes),
        groups);
    part.count = (end - begin) / partition.getSlices();
    part.type = *toDataType(partition.getComputeType());
    command.parts.push_back(part);
  }
}

void CommandBuilder::visitAllGather(AllGatherOp gather) {
  zrt::Command &command = startCollective(
      gather, zrt::Opcode::AllGather, zrt::TrafficClass::Parameter,
      "all_gather " + joinNames(gather.getParameters()));
  for (auto [index, symbol] :
       llvm::enumerate(gather.getParameters().getAsRange<FlatSymbolRefAttr>()))
    addGatherParts(command, symbol.getAttr(), placeAt(gather, index));
}

void CommandBuilder::visitRefreshResident(RefreshResidentOp refresh) {
  zrt::Command &command = startCollective(
      refresh, zrt::Opcode::AllGather, zrt::TrafficClass::Parameter,
      "refresh_resident " + joinNames(refresh.getParameters()));
  for (auto [index, symbol] :
       llvm::enumerate(refresh.getParameters().getAsRange<FlatSymbolRefAttr>()))
    addGatherParts(command, symbol.getAttr(), placeAt(refresh, index));
}

void CommandBuilder::visitRefresh(RefreshOp refresh) {
  PartitionOp partition = state.find(refresh.getPartitionAttr());
  zrt::Command &command = startCollective(
      refresh, zrt::Opcode::AllGather, zrt::TrafficClass::Parameter,
      "refresh @" + refresh.getPartition().str());
  auto all = cast<AtAttr>(partition.getAt()->get("parameters"));
  int64_t bytes = elementBytes(partition.getComputeType());
  for (auto [begin, end] :
       partition.getSegmentsIn(refresh.getBegin(), refresh.getEnd())) {
    int64_t size = end - begin;
    AtAttr own =
        state.getSlice(partition, all, /*sharded=*/false, bytes, begin, end);
    command.parts.push_back(
        {toBufferRef(own, groups),
         toBufferRef(subPlace(all, begin * bytes, size * bytes), groups),
         static_cast<uint64_t>(size / partition.getSlices()),
         *toDataType(partition.getComputeType()), 0});
  }
}
