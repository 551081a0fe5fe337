//===- PlanTraffic.cpp - what a planned schedule sends --------------------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Memory/StatePlan.h"
#include "zero/Plan/PlanSummary.h"

#include "program/Collective.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace mlir::zero;

namespace {

class TrafficCount {
public:
  TrafficCount(ModuleOp module, PlanSummary &summary)
      : module(module), step(*module.getOps<StepOp>().begin()),
        summary(summary), places(module) {}

  void countPlanned();
  void computeFormula();

private:
  void count(CollectiveOpInterface op, int64_t times);
  int64_t paddedElements(FlatSymbolRefAttr parameter) const;
  void addGradientFormula(PartitionOp partition);
  void addGatherFormula();
  int64_t addGathered(ArrayAttr parameters, int64_t times);

  ModuleOp module;
  StepOp step;
  PlanSummary &summary;
  StatePlaces places;
  TrafficSummary gradients, parameters;
  llvm::MapVector<StringRef, CollectiveSummary> collectives;
};

} // namespace

//===----------------------------------------------------------------------===//
// The schedule's collectives
//===----------------------------------------------------------------------===//

int64_t TrafficCount::paddedElements(FlatSymbolRefAttr parameter) const {
  PartitionOp partition = places.getPartition(parameter.getAttr());
  auto [begin, end] = partition.getSegmentsOf(parameter.getValue());
  return end - begin;
}

void TrafficCount::count(CollectiveOpInterface op, int64_t times) {
  if (op.getTrafficClass() == zrt::TrafficClass::Control)
    return;
  auto buffers = op.getBuffers(places, *step.getTraining());
  auto parts = op.getParts(places, buffers);
  if (parts.empty())
    return;
  CollectiveSummary &collective = collectives[op->getName().stripDialect()];
  collective.name = op->getName().stripDialect().str();
  collective.count += times;
  TrafficSummary &all = isReduction(op) ? gradients : parameters;
  for (const CollectivePart &part : parts) {
    int64_t elements =
        times * zrt::sentByGroup(op.getKind(), part.count, summary.ranks);
    int64_t bytes = elementBytes(buffers[part.send.buffer].type);
    collective.volume.add(elements, bytes);
    all.planned.add(elements, bytes);
  }
}

void TrafficCount::countPlanned() {
  for (Operation &region : step.getBody().front())
    if (int64_t times = step.getRunsPerUpdate(&region))
      for (auto op : region.getRegion(0).getOps<CollectiveOpInterface>())
        count(op, times);
}

//===----------------------------------------------------------------------===//
// The closed form: from partition tables and uses
//===----------------------------------------------------------------------===//

static int64_t trainedElements(PartitionOp partition) {
  int64_t elements = 0;
  for (MemberAttr member : partition.getMemberRange())
    elements += member.getSize();
  return elements;
}

void TrafficCount::addGradientFormula(PartitionOp partition) {
  int64_t elements = trainedElements(partition);
  bool everyMicro =
      partition.getStage() >= 2 || step.getTraining()->getDeterministic();
  int64_t times = everyMicro ? summary.accumulation : 1;
  // What is summed up before it travels, travels as it is stored.
  Type wire = everyMicro || summary.accumulation == 1
                  ? partition.getComputeType()
                  : partition.getGradientType();
  gradients.formula.add(elements * times * (partition.getStage() == 0 ? 2 : 1),
                        elementBytes(wire));
  if (partition.hasShardedOptimizer() && !partition.hasShardedParameters())
    parameters.formula.add(elements, elementBytes(partition.getComputeType()));
}

int64_t TrafficCount::addGathered(ArrayAttr names, int64_t times) {
  int64_t all = 0;
  for (auto symbol : names.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = places.getPartition(symbol.getAttr());
    int64_t elements = paddedElements(symbol);
    parameters.formula.add(elements * times,
                           elementBytes(partition.getComputeType()));
    all += elements;
  }
  return all;
}

void TrafficCount::addGatherFormula() {
  llvm::MapVector<StringAttr, int64_t> gathers;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (partition.hasShardedParameters())
      for (MemberAttr member : partition.getMemberRange())
        gathers[member.getParameter().getAttr()] = 0;
  for (auto gather :
       step.getRegionOp<MicroOp>().getBody().getOps<CollectiveOpInterface>()) {
    if (!isGather(gather))
      continue;
    ArrayAttr names = gather.getParameterNames();
    addGathered(names, summary.accumulation);
    for (auto symbol : names.getAsRange<FlatSymbolRefAttr>())
      ++gathers[symbol.getAttr()];
  }
  for (auto refresh :
       step.getRegionOp<ApplyOp>().getBody().getOps<CollectiveOpInterface>())
    if (isRefresh(refresh) && refresh.getParameterNames())
      addGathered(refresh.getParameterNames(), 1);
  std::map<int64_t, int64_t> byCount;
  for (auto [name, count] : gathers)
    byCount[count] += places.getMember(name).getSize();
  for (auto [count, elements] : byCount)
    summary.gathers.push_back({count, elements});
}

void TrafficCount::computeFormula() {
  gradients.name = "gradients";
  parameters.name = "parameters";
  if (summary.ranks > 1) {
    for (PartitionOp partition : module.getOps<PartitionOp>())
      if (partition.isTrainable())
        addGradientFormula(partition);
    addGatherFormula();
  }
  bool everyMicro =
      summary.stage >= 2 || step.getTraining()->getDeterministic();
  std::string times = everyMicro && summary.accumulation > 1
                          ? std::to_string(summary.accumulation) + " "
                          : "";
  if (summary.ranks > 1) {
    gradients.form = (summary.stage == 0 ? "2 " : "") + times + "S";
    parameters.form = summary.stage == 0   ? "0"
                      : summary.stage == 3 ? "every gather, padded"
                                           : "S";
  }
  summary.traffic = {gradients, parameters};
  for (auto &[name, collective] : collectives)
    summary.collectives.push_back(collective);
}

void mlir::zero::detail::summarizeTraffic(ModuleOp module,
                                          PlanSummary &summary) {
  TrafficCount traffic(module, summary);
  traffic.countPlanned();
  traffic.computeFormula();
}
