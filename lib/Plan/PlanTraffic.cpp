//===- PlanTraffic.cpp - what a planned schedule sends --------------------===//

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Traffic.h"
#include "zero/Memory/StatePlan.h"
#include "zero/Plan/PlanSummary.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace mlir::zero;

/// The ranks of the group that `part` travels in.
static int64_t countRanks(const TrafficPart &part,
                          const PartitionTable &partitions,
                          const PlanSummary &summary) {
  AxesAttr group = cast<CollectiveOpInterface>(part.op).getGroup(partitions);
  return group ? group.getSize() : summary.ranks;
}

/// `name`, with the axes that `part` travels over: of groups of one size, those
/// of one axis are not those of another. All ranks that add up gradients are
/// named by nothing.
static std::string nameOver(StringRef name, const TrafficPart &part,
                            const PartitionTable &partitions, AxesAttr all) {
  AxesAttr group = cast<CollectiveOpInterface>(part.op).getGroup(partitions);
  if (!group || group == all)
    return name.str();
  std::string text = (name + " over ").str();
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      group.getNames(), os, [&](StringAttr axis) { os << axis.getValue(); },
      " x "); // as metrics and traces name groups
  return text;
}

/// Counts each collective once, and what it sends under its name.
static void addCollectives(ArrayRef<TrafficPart> planned,
                           const PartitionTable &partitions, AxesAttr all,
                           PlanSummary &summary) {
  llvm::MapVector<StringAttr, CollectiveSummary> collectives;
  llvm::DenseSet<Operation *> counted;
  for (const TrafficPart &part : planned) {
    std::string name =
        nameOver(part.op->getName().stripDialect(), part, partitions, all);
    CollectiveSummary &collective =
        collectives[StringAttr::get(part.op->getContext(), name)];
    collective.name = name;
    collective.ranks = countRanks(part, partitions, summary);
    collective.volume.add(part.elements, elementBytes(part.type));
    // One group of gathers is one collective.
    if (counted.insert(part.op).second)
      collective.count += part.runs;
  }
  for (auto &[name, collective] : collectives)
    summary.collectives.push_back(collective);
}

static Volume addUp(ArrayRef<TrafficPart> parts, ArrayRef<TrafficKind> kinds) {
  Volume volume;
  for (const TrafficPart &part : parts)
    if (llvm::is_contained(kinds, part.kind))
      volume.add(part.elements, elementBytes(part.type));
  return volume;
}

/// The closed forms in words.
static void nameForms(const PlanSummary &summary, bool isDeterministic,
                      bool hasSecondary, TrafficSummary &gradients,
                      TrafficSummary &parameters) {
  if (summary.ranks == 1)
    return;
  bool everyMicro = summary.stage >= 2 || isDeterministic;
  std::string times = everyMicro && summary.accumulation > 1
                          ? std::to_string(summary.accumulation) + " "
                          : "";
  gradients.form = (summary.stage == 0 ? "2 " : "") + times + "S";
  parameters.form = summary.stage == 0  ? "0"
                    : summary.stage < 3 ? "S"
                    : hasSecondary      ? "the first gathers, padded"
                                        : "every gather, padded";
}

/// Elements of sharded parameters by the gathers of a micro-batch.
static void addGathers(const TrafficAnalysis &traffic,
                       ArrayRef<TrafficPart> planned, PlanSummary &summary) {
  llvm::MapVector<StringAttr, int64_t> counts = traffic.countGathers();
  for (const TrafficPart &part : planned)
    if (part.parameter && part.kind == TrafficKind::Refreshes)
      counts[part.parameter] -= part.runs;
  std::map<int64_t, int64_t> byCount;
  for (auto [parameter, count] : counts)
    byCount[count / summary.accumulation] += traffic.elements(parameter);
  for (auto [count, elements] : byCount)
    summary.gathers.push_back({count, elements});
}

/// What the model itself sends, by the axes that it does over.
static void addActivations(ArrayRef<TrafficPart> planned,
                           ArrayRef<TrafficPart> expected,
                           const PartitionTable &partitions,
                           PlanSummary &summary) {
  std::map<std::string, TrafficSummary> byAxes;
  auto add = [&](ArrayRef<TrafficPart> parts, Volume TrafficSummary::*volume) {
    for (const TrafficPart &part : parts) {
      if (part.kind != TrafficKind::Activations)
        continue;
      std::string name =
          nameOver("activations", part, partitions, /*all=*/AxesAttr());
      TrafficSummary &traffic = byAxes[name];
      traffic.name = name;
      traffic.form = "what the model sends";
      traffic.ranks = countRanks(part, partitions, summary);
      (traffic.*volume).add(part.elements, elementBytes(part.type));
    }
  };
  add(planned, &TrafficSummary::planned);
  add(expected, &TrafficSummary::formula);
  for (auto &[name, traffic] : byAxes)
    summary.traffic.push_back(traffic);
}

/// The partition that `part` is of; null of what the model sends.
static PartitionOp findPartition(const TrafficPart &part,
                                 const PartitionTable &partitions) {
  if (part.parameter)
    return partitions.getPartition(part.parameter);
  if (auto partition = dyn_cast<PartitionOp>(part.op))
    return partition;
  auto collective = dyn_cast<CollectiveOpInterface>(part.op);
  if (!collective) // between stages of a pipeline: among the transfers
    return {};
  for (const PartitionRange &range : collective.getPartitionRanges(partitions))
    return partitions.find(range.partition);
  return {};
}

/// Takes what partitions send that are cut over other axes than the mesh says,
/// since their members are cut themselves.
static SmallVector<TrafficPart> takeParts(SmallVectorImpl<TrafficPart> &parts,
                                          const PartitionTable &partitions,
                                          const MeshAxes &mesh) {
  auto isOfAll = [&](const TrafficPart &part) {
    PartitionOp partition = part.kind == TrafficKind::Activations
                                ? PartitionOp()
                                : findPartition(part, partitions);
    return !partition || partition.getOver() == mesh.all;
  };
  auto *first = std::stable_partition(parts.begin(), parts.end(), isOfAll);
  SmallVector<TrafficPart> taken(first, parts.end());
  parts.erase(first, parts.end());
  return taken;
}

static void addParts(ArrayRef<TrafficPart> planned,
                     ArrayRef<TrafficPart> expected,
                     const PartitionTable &partitions, PlanSummary &summary) {
  std::map<std::pair<StringRef, int64_t>, TrafficSummary> rows;
  auto add = [&](ArrayRef<TrafficPart> parts, Volume TrafficSummary::*volume) {
    for (const TrafficPart &part : parts) {
      PartitionOp partition = findPartition(part, partitions);
      bool isOfReplicas = part.kind == TrafficKind::Replicas;
      StringRef name = isOfReplicas ? "cut parameters between replicas"
                       : part.kind == TrafficKind::Gradients
                           ? "gradients of cut parameters"
                           : "cut parameters";
      int64_t ranks =
          isOfReplicas ? partition.getReplicas() : partition.getSlices();
      TrafficSummary &row = rows[{name, ranks}];
      row.name = name.str();
      row.ranks = ranks;
      (row.*volume).add(part.elements, elementBytes(part.type));
    }
  };
  add(planned, &TrafficSummary::planned);
  add(expected, &TrafficSummary::formula);
  for (auto &[key, row] : rows) {
    row.form = "as of all others";
    summary.traffic.push_back(row);
  }
}

/// Quantized gradients: in two steps, those of the second are between nodes.
static void addExchanges(PlanningAttr planning, ArrayRef<TrafficPart> planned,
                         ArrayRef<TrafficPart> expected, PlanSummary &summary) {
  if (!planning.getQuantizedGradients())
    return;
  TrafficSummary &gradients = summary.traffic.front();
  gradients.form = "packed";
  gradients.isPacked = true;
  AxesAttr axes = planning.getGradientsWithin();
  if (!axes)
    return;
  gradients.name = "gradients between nodes";
  gradients.ranks = summary.slices / axes.getSize();
  TrafficSummary within;
  within.name = "gradients within a node";
  within.form = "packed";
  within.isPacked = true;
  within.ranks = axes.getSize();
  within.planned = addUp(planned, TrafficKind::GradientsWithin);
  within.formula = addUp(expected, TrafficKind::GradientsWithin);
  summary.traffic.push_back(within);
}

static StringRef nameLink(LinkKind link) {
  switch (link) {
  case LinkKind::Ranks:
    return "network";
  case LinkKind::Bus:
    return "bus";
  case LinkKind::HostMemory:
    return "host memory";
  case LinkKind::File:
    return "file";
  }
  llvm_unreachable("unknown link");
}

/// What is started and is no collective, by its kind.
static void addTransfers(StepOp step, const PartitionTable &partitions,
                         PlanSummary &summary) {
  llvm::MapVector<StringRef, TransferSummary> transfers;
  for (Operation &region : step.getBody().front()) {
    const int64_t runs = step.getRunsPerUpdate(&region);
    region.walk([&, runs](AsyncOpInterface op) {
      if (runs == 0 || isa<CollectiveOpInterface>(op.getOperation()))
        return;
      StringRef name = op->getName().stripDialect();
      TransferSummary &transfer = transfers[name];
      transfer.name = name.str();
      transfer.link = nameLink(op.getLink()).str();
      transfer.count += runs;
      transfer.bytes += runs * op.getBytes(partitions);
    });
  }
  for (auto &[name, transfer] : transfers)
    summary.transfers.push_back(transfer);
}

void mlir::zero::detail::summarizeTraffic(ModuleOp module,
                                          PlanSummary &summary) {
  StepOp step = *module.getOps<StepOp>().begin();
  TrafficAnalysis traffic(module, step);
  SmallVector<TrafficPart> planned = traffic.planned();
  TrainingAttr training = *step.getTraining();
  SmallVector<TrafficPart> expected = traffic.expected(
      training.getPlanning().getMaxReuseDistance(), /*padded=*/false);
  const PartitionTable partitions(module);
  const MeshAxes mesh = getMesh(module, training);
  // Each collective is counted once, whichever row has it.
  const SmallVector<TrafficPart> all = planned;
  const SmallVector<TrafficPart> ofParts = takeParts(planned, partitions, mesh);
  const SmallVector<TrafficPart> wantedOfParts =
      takeParts(expected, partitions, mesh);
  TrafficSummary gradients, parameters;
  gradients.name = "gradients";
  parameters.name = "parameters";
  const TrafficKind reduced[] = {TrafficKind::Gradients,
                                 TrafficKind::QuantizedGradients};
  const TrafficKind gathered[] = {TrafficKind::Gathers, TrafficKind::Quantized,
                                  TrafficKind::Refreshes};
  gradients.planned = addUp(planned, reduced);
  gradients.formula = addUp(expected, reduced);
  parameters.planned = addUp(planned, gathered);
  parameters.formula = addUp(expected, gathered);
  AxesAttr secondary = mesh.secondary;
  nameForms(summary, training.getDeterministic(), secondary != nullptr,
            gradients, parameters);
  parameters.isPacked = llvm::any_of(planned, [](const TrafficPart &part) {
    return part.kind == TrafficKind::Quantized;
  });
  if (parameters.isPacked)
    parameters.form += ", packed";
  summary.traffic = {gradients, parameters};
  addExchanges(training.getPlanning(), planned, expected, summary);
  if (int64_t count = mesh.replicas(); count > 1) {
    TrafficSummary replicas;
    replicas.name = "between replicas";
    replicas.form = summary.stage == 0 ? "2 S" : "2 S/n";
    replicas.ranks = count;
    replicas.planned = addUp(planned, TrafficKind::Replicas);
    replicas.formula = addUp(expected, TrafficKind::Replicas);
    summary.traffic.push_back(replicas);
  }
  if (secondary) {
    TrafficSummary again;
    again.name = "parameters within a node";
    again.form = "later gathers, padded";
    again.ranks = secondary.getSize();
    again.planned = addUp(planned, TrafficKind::Regathers);
    again.formula = addUp(expected, TrafficKind::Regathers);
    summary.traffic.push_back(again);
  }
  addParts(ofParts, wantedOfParts, partitions, summary);
  addActivations(planned, expected, partitions, summary);
  addCollectives(all, partitions, mesh.all, summary);
  addTransfers(step, partitions, summary);
  if (summary.ranks > 1)
    addGathers(traffic, all, summary);
}
