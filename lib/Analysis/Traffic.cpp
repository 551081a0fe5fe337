//===- Traffic.cpp - what one rank sends in an update ---------------------===//

#include "zero/Analysis/Traffic.h"

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

static TrafficKind kindOf(CollectiveOpInterface op) {
  switch (op.getTrafficClass()) {
  case zrt::TrafficClass::Gradient:
    return isReduction(op) ? TrafficKind::Gradients : TrafficKind::Replicas;
  case zrt::TrafficClass::Parameter:
    return isGather(op) ? TrafficKind::Gathers : TrafficKind::Refreshes;
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
  TrafficKind kind = kindOf(op);
  ArrayAttr names = op.getParameterNames();
  if (kind != TrafficKind::Gradients && names) {
    for (auto symbol : names.getAsRange<FlatSymbolRefAttr>())
      parts.push_back(makePart(kind, symbol.getAttr(), runs, op));
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
  // What is added up before it travels has the type that it is stored in.
  Type wire = everyMicro || training.getAccumulation() == 1
                  ? partition.getComputeType()
                  : partition.getGradientType();
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
    llvm::MapVector<StringAttr, int64_t> &counts) const {
  DenseMap<StringAttr, int64_t> lastUse;
  int64_t used = 0;
  for (Operation &op : block) {
    if (isa<FreeOp>(op))
      continue;
    for (Value operand : op.getOperands()) {
      // What every rank has whole, or resident, is loaded without a gather.
      auto load = operand.getDefiningOp<LoadOp>();
      if (!load || !load.getSource())
        continue;
      StringAttr parameter = load.getParameterAttr().getAttr();
      auto last = lastUse.find(parameter);
      bool isNext = last != lastUse.end() && used == last->second;
      if (!isNext) {
        if (last == lastUse.end() || used - last->second >= maxReuseDistance)
          counts[parameter] += runs;
        used += elements(parameter);
      }
      lastUse[parameter] = used;
    }
  }
}

llvm::MapVector<StringAttr, int64_t>
TrafficAnalysis::countUses(int64_t maxReuseDistance) const {
  llvm::MapVector<StringAttr, int64_t> counts;
  for (auto micro : step.getBody().getOps<MicroOp>())
    countUses(micro.getBody().front(), maxReuseDistance,
              step.getRunsPerUpdate(micro), counts);
  return counts;
}

/// What the model itself sends follows from the tensors that it sends.
void TrafficAnalysis::addActivations(
    SmallVectorImpl<TrafficPart> &parts) const {
  for (Operation &region : step.getBody().front()) {
    int64_t runs = step.getRunsPerUpdate(&region);
    region.walk([&](CollectiveOpInterface op) {
      if (op.getTrafficClass() != zrt::TrafficClass::Activation || runs == 0)
        return;
      for (Value operand : op->getOperands()) {
        auto tensor = cast<RankedTensorType>(operand.getType());
        parts.push_back({TrafficKind::Activations,
                         tensor.getNumElements() * runs,
                         tensor.getElementType(), runs, op});
      }
    });
  }
}

SmallVector<TrafficPart> TrafficAnalysis::expected(int64_t maxReuseDistance,
                                                   bool padded) const {
  SmallVector<TrafficPart> parts;
  if (step.getTraining()->isSilent())
    return parts;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.isTrainable())
      addGradients(partition, padded, parts);
  // Copies that persist are brought up to date once, if an update changes them.
  for (FlatSymbolRefAttr resident : getResidentParameters(step))
    if (PartitionOp partition = partitions.getPartition(resident.getAttr());
        partition && partition.isTrainable())
      parts.push_back(makePart(TrafficKind::Refreshes, resident.getAttr(),
                               /*runs=*/1, nullptr));
  for (auto [parameter, runs] : countUses(maxReuseDistance))
    parts.push_back(makePart(TrafficKind::Gathers, parameter, runs, nullptr));
  addActivations(parts);
  return parts;
}
