//===- Traffic.cpp - what one rank sends in an update ---------------------===//

#include "zero/Analysis/Traffic.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Quantization.h"
#include "zero/Analysis/Schedule.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

int64_t mlir::zero::countElements(ArrayRef<TrafficPart> parts,
                                  TrafficKind kind) {
  int64_t elements = 0;
  for (const TrafficPart &part : parts)
    if (part.kind == kind)
      elements += part.elements;
  return elements;
}

TrafficAnalysis::TrafficAnalysis(ModuleOp module, StepOp step)
    : module(module), step(step), partitions(module) {}

int64_t TrafficAnalysis::paddedElements(StringAttr parameter) const {
  auto [begin, end] = partitions.getSegmentsOf(parameter);
  return end - begin;
}

TrafficPart TrafficAnalysis::makePart(TrafficKind kind, StringAttr parameter,
                                      int64_t runs, Operation *op) const {
  PartitionOp partition = partitions.getPartition(parameter);
  return {kind,
          paddedElements(parameter) * runs,
          partition ? partition.getComputeType() : Type(),
          runs,
          op ? op : partition.getOperation(),
          parameter};
}

//===----------------------------------------------------------------------===//
// The schedule's collectives
//===----------------------------------------------------------------------===//

static TrafficKind kindOfGather(CollectiveOpInterface op,
                                const PartitionTable &partitions) {
  for (const PartitionRange &range : op.getPartitionRanges(partitions))
    if (PartitionOp partition = partitions.find(range.partition))
      return op.getGroup(partitions) == partition.getCut()
                 ? TrafficKind::Gathers
                 : TrafficKind::Regathers;
  return TrafficKind::Gathers;
}

static TrafficKind kindOfReduction(CollectiveOpInterface op,
                                   const PartitionTable &partitions) {
  if (!isReduction(op))
    return TrafficKind::Replicas;
  if (isPartialReduction(op))
    return TrafficKind::GradientsWithin;
  Type wire = op.getWireType(partitions);
  return wire && wire.isInteger(8) ? TrafficKind::QuantizedGradients
                                   : TrafficKind::Gradients;
}

static bool reduces(TrafficKind kind) {
  return kind == TrafficKind::Gradients ||
         kind == TrafficKind::QuantizedGradients ||
         kind == TrafficKind::GradientsWithin;
}

static TrafficKind kindOf(CollectiveOpInterface op,
                          const PartitionTable &partitions) {
  switch (op.getTrafficClass()) {
  case zrt::TrafficClass::Gradient:
    return kindOfReduction(op, partitions);
  case zrt::TrafficClass::Parameter:
    return isGather(op) ? kindOfGather(op, partitions) : TrafficKind::Refreshes;
  case zrt::TrafficClass::Activation:
    return TrafficKind::Activations;
  case zrt::TrafficClass::Control:
    break;
  }
  llvm_unreachable("statistics are not counted");
}

void TrafficAnalysis::addPlanned(CollectiveOpInterface op, int64_t runs,
                                 SmallVectorImpl<TrafficPart> &parts) const {
  if (op.getTrafficClass() == zrt::TrafficClass::Control)
    return;
  TrafficKind kind = kindOf(op, partitions);
  ArrayAttr names = op.getParameterNames();
  if (!reduces(kind) && names) {
    auto gather = dyn_cast<AllGatherOp>(op.getOperation());
    for (auto symbol : names.getAsRange<FlatSymbolRefAttr>()) {
      TrafficPart part = makePart(kind, symbol.getAttr(), runs, op);
      parts.push_back(gather && gather.getQuantized()
                          ? pack(part, gather.getQuantizedAttr())
                          : part);
    }
    return;
  }
  if (Type type = op.getWireType(partitions))
    parts.push_back(
        {kind, op.getElementsSent(partitions) * runs, type, runs, op});
}

SmallVector<TrafficPart> TrafficAnalysis::planned() const {
  SmallVector<TrafficPart> parts;
  for (Operation &region : step.getBody().front())
    if (int64_t runs = step.getRunsPerUpdate(&region))
      region.walk(
          [&](CollectiveOpInterface op) { addPlanned(op, runs, parts); });
  return parts;
}

llvm::MapVector<StringAttr, int64_t> TrafficAnalysis::countGathers() const {
  llvm::MapVector<StringAttr, int64_t> counts;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.hasShardedParameters())
      for (MemberAttr member : partition.getMemberRange())
        counts[member.getParameter().getAttr()] = 0;
  for (const TrafficPart &part : planned())
    if (part.parameter)
      counts[part.parameter] += part.runs;
  return counts;
}

//===----------------------------------------------------------------------===//
// The closed form
//===----------------------------------------------------------------------===//

/// In two steps, what is left after the first is between nodes.
void TrafficAnalysis::addExchanges(PartitionOp partition, int64_t runs,
                                   SmallVectorImpl<TrafficPart> &parts) const {
  PlanningAttr planning = step.getTraining()->getPlanning();
  QuantizationAttr quantization = planning.getQuantizedGradients();
  const int64_t slices = partition.getSlices();
  int64_t packed = 0; // of one rank's slices
  for (auto [begin, end] :
       partition.getSegmentsIn(0, partition.getFlatElements()))
    packed += quantization.getPackedBytes((end - begin) / slices);
  Type byte = IntegerType::get(module.getContext(), 8);
  AxesAttr within = planning.getGradientsWithin();
  if (within)
    parts.push_back({TrafficKind::GradientsWithin, packed * slices * runs, byte,
                     runs, partition});
  parts.push_back(
      {TrafficKind::QuantizedGradients,
       packed * (within ? slices / within.getSize() : slices) * runs, byte,
       runs, partition});
}

void TrafficAnalysis::addGradients(PartitionOp partition, bool padded,
                                   SmallVectorImpl<TrafficPart> &parts) const {
  TrainingAttr training = *step.getTraining();
  int64_t trained = 0;
  for (MemberAttr member : partition.getMemberRange())
    trained += member.getSize();
  int64_t whole = padded ? partition.getFlatElements() : trained;
  // Reduced to owners, padding does not travel.
  int64_t reduced =
      partition.getLayout() == LayoutKind::Contiguous ? trained : whole;
  bool everyMicro = partition.getStage() >= 2 || training.getDeterministic();
  int64_t runs = everyMicro ? training.getAccumulation() : 1;
  // Gradients that are added up before they travel have the type in which they
  // are stored.
  Type wire = everyMicro || training.getAccumulation() == 1
                  ? partition.getWireType()
                  : partition.getGradientType();
  if (training.getPlanning().getQuantizedGradients())
    addExchanges(partition, runs, parts);
  else
    parts.push_back({TrafficKind::Gradients,
                     reduced * runs * (partition.getStage() == 0 ? 2 : 1), wire,
                     runs, partition});
  if (partition.getReplicas() > 1)
    parts.push_back(
        {TrafficKind::Replicas,
         2 * whole /
             (partition.hasShardedOptimizer() ? partition.getSlices() : 1),
         partition.getGradientType(), /*runs=*/1, partition});
  if (partition.hasShardedOptimizer() && !partition.hasShardedParameters())
    parts.push_back({TrafficKind::Refreshes, whole, partition.getComputeType(),
                     /*runs=*/1, partition});
}

/// Adds `runs` for each run of uses in `block` that are less than
/// `maxReuseDistance` elements of used parameters apart.
void TrafficAnalysis::countUses(
    Block &block, int64_t maxReuseDistance, int64_t runs,
    llvm::MapVector<StringAttr, UseCount> &counts) const {
  DenseMap<StringAttr, int64_t> lastUse;
  int64_t used = 0;
  for (Operation &op : block) {
    if (isa<FreeOp, SecondarySliceOp>(op)) // a slice serves other uses
      continue;
    for (Value operand : op.getOperands()) {
      // Parameters that every rank has whole, or resident, are loaded without a
      // gather.
      auto load = operand.getDefiningOp<LoadOp>();
      if (!load || !load.getSource())
        continue;
      StringAttr parameter = load.getParameterAttr().getAttr();
      auto last = lastUse.find(parameter);
      bool isFirst = last == lastUse.end();
      bool isNext = !isFirst && used == last->second;
      if (!isNext) {
        if (isFirst)
          counts[parameter].first += runs;
        else if (used - last->second >= maxReuseDistance)
          counts[parameter].again += runs;
        used += elements(parameter);
      }
      lastUse[parameter] = used;
    }
  }
}

llvm::MapVector<StringAttr, TrafficAnalysis::UseCount>
TrafficAnalysis::countUses(int64_t maxReuseDistance) const {
  llvm::MapVector<StringAttr, UseCount> counts;
  for (auto micro : step.getBody().getOps<MicroOp>())
    countUses(micro.getBody().front(), maxReuseDistance,
              step.getRunsPerUpdate(micro), counts);
  return counts;
}

TrafficPart TrafficAnalysis::pack(TrafficPart part,
                                  QuantizationAttr quantization) const {
  PartitionOp partition = partitions.getPartition(part.parameter);
  int64_t ranks = partition ? partition.getSlices() : 1;
  part.kind = TrafficKind::Quantized;
  part.elements =
      quantization.getPackedBytes(paddedElements(part.parameter) / ranks) *
      ranks * part.runs;
  part.type = IntegerType::get(module.getContext(), 8);
  return part;
}

TrafficPart TrafficAnalysis::makeFirstGather(StringAttr parameter,
                                             int64_t runs) const {
  TrafficPart part = makePart(TrafficKind::Gathers, parameter, runs, nullptr);
  QuantizationAttr quantization = getGatherQuantization(
      step.getTraining()->getPlanning(), partitions, parameter);
  return quantization ? pack(part, quantization) : part;
}

void TrafficAnalysis::addGathers(int64_t maxReuseDistance,
                                 SmallVectorImpl<TrafficPart> &parts) const {
  bool staysInNode = getMesh(module, *step.getTraining()).secondary != nullptr;
  for (auto [parameter, count] : countUses(maxReuseDistance)) {
    parts.push_back(makeFirstGather(
        parameter, count.first + (staysInNode ? 0 : count.again)));
    if (staysInNode && count.again > 0)
      parts.push_back(
          makePart(TrafficKind::Regathers, parameter, count.again, nullptr));
  }
}

/// Adds the traffic of the model's own exchanges, from the tensors that they
/// send.
void TrafficAnalysis::addActivations(
    SmallVectorImpl<TrafficPart> &parts) const {
  for (Operation &region : step.getBody().front()) {
    int64_t runs = step.getRunsPerUpdate(&region);
    region.walk([&](CollectiveOpInterface op) {
      if (op.getTrafficClass() != zrt::TrafficClass::Activation || runs == 0)
        return;
      // Reductions send each element twice; gathers span the values of all
      // ranks.
      const int64_t times = op.getReduction() ? 2
                            : op.getKind() == zrt::Collective::AllGather
                                ? op.getGroup(partitions).getSize()
                                : 1;
      for (Value operand : op->getOperands()) {
        auto tensor = cast<RankedTensorType>(operand.getType());
        parts.push_back({TrafficKind::Activations,
                         times * tensor.getNumElements() * runs,
                         tensor.getElementType(), runs, op});
      }
    });
    region.walk([&](TieGradientsOp tie) {
      PartitionOp partition = partitions.find(tie.getPartitionAttr());
      int64_t others = partition.getStages()->size() - 1;
      int64_t owned =
          partition.getOwnedElements(0, partition.getFlatElements());
      parts.push_back({TrafficKind::TiedGradients, others * owned * runs,
                       partition.getGradientType(), runs, tie});
    });
    region.walk([&](StartSendOp send) {
      auto tensor = cast<RankedTensorType>(send.getValue().getType());
      if (runs > 0)
        parts.push_back({TrafficKind::Transfers, tensor.getNumElements() * runs,
                         tensor.getElementType(), runs, send});
    });
  }
}

SmallVector<TrafficPart> TrafficAnalysis::expected(int64_t maxReuseDistance,
                                                   bool padded) const {
  SmallVector<TrafficPart> parts;
  addActivations(parts);
  if (step.getTraining()->isSilent())
    return parts;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.isTrainable() && !partition.isSilent(*step.getTraining()))
      addGradients(partition, padded, parts);
  // Copies that persist are brought up to date once, if an update changes them.
  for (FlatSymbolRefAttr resident : getResidentParameters(step))
    if (PartitionOp partition = partitions.getPartition(resident.getAttr());
        partition && partition.isTrainable())
      parts.push_back(makePart(TrafficKind::Refreshes, resident.getAttr(),
                               /*runs=*/1, nullptr));
  addGathers(maxReuseDistance, parts);
  return parts;
}
