//===- Report.cpp - memory and traffic of a plan --------------------------===//

#include "Report.h"

#include "Table.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void addLines(const ArenaSummary &arena, unsigned limit, Table &table) {
  // Padding and gaps are always shown: they are what the closed form lacks.
  auto isAlways = [](const MemoryLine &line) {
    return line.name == "padding" || StringRef(line.name).starts_with("gaps") ||
           StringRef(line.name).starts_with("alignment");
  };
  unsigned shown = 0;
  int64_t rest = 0, hidden = 0;
  for (const MemoryLine &line : arena.lines) {
    if (!isAlways(line) && shown++ >= limit) {
      rest += line.bytes;
      ++hidden;
      continue;
    }
    if (!isAlways(line))
      table.add({"    " + line.name, formatCount(line.bytes)});
  }
  if (hidden)
    table.add({"    " + plural(hidden, "smaller one"), formatCount(rest)});
  for (const MemoryLine &line : arena.lines)
    if (isAlways(line))
      table.add({"    " + line.name, formatCount(line.bytes)});
}

static void printMemory(const PlanSummary &plan, unsigned limit) {
  Table table;
  table.add({"memory of a rank, bytes", "planned", "closed form", ""});
  for (const ArenaSummary &arena : plan.arenas) {
    if (arena.bytes == 0)
      continue;
    std::string name = "  " + arena.space.describe();
    table.add({name, formatCount(arena.bytes),
               arena.formula ? formatCount(*arena.formula) : "",
               "(" + formatBytes(arena.bytes) + ")"});
    addLines(arena, limit, table);
  }
  for (zrt::Tier tier : zrt::kCasesOf<zrt::Tier>) {
    bool isDevice = tier == zrt::Tier::Device;
    int64_t bytes = plan.totalBytes(fromRuntime(tier));
    if (isDevice || bytes > 0)
      table.add(
          {isDevice ? "  all" : std::string("  all on ") + zrt::nameOf(tier),
           formatCount(bytes), "", "(" + formatBytes(bytes) + ")"});
  }
  table.print(llvm::outs());
  for (const ArenaSummary &arena : plan.arenas)
    if (!arena.peak.empty())
      llvm::outs() << "peak of " << arena.space.describe() << ": " << arena.peak
                   << "\n";
}

//===----------------------------------------------------------------------===//
// Traffic
//===----------------------------------------------------------------------===//

static bool isPacked(const PlanSummary &plan) {
  return llvm::any_of(plan.traffic, [](const TrafficSummary &traffic) {
    return traffic.isPacked;
  });
}

static void printTraffic(const PlanSummary &plan) {
  if (plan.ranks == 1) {
    llvm::outs() << "\ntraffic: none on one rank\n";
    return;
  }
  llvm::outs() << "\n";
  Table table;
  table.add({isPacked(plan)
                 ? "traffic that a rank sends in an update, elements"
                   ", or bytes of what is packed"
                 : "traffic that a rank sends in an update, elements",
             "planned", "closed form", "x (n-1)/n", ""});
  auto add = [&](StringRef name, int64_t planned, int64_t formula,
                 StringRef form, int64_t bytes) {
    table.add({("  " + name).str(), formatCount(planned), formatCount(formula),
               form.str(), "(" + formatBytes(bytes) + ")"});
  };
  for (const TrafficSummary &traffic : plan.traffic)
    add(traffic.name, plan.sent(traffic.planned.elements, traffic.ranks),
        plan.sent(traffic.formula.elements, traffic.ranks), traffic.form,
        plan.sent(traffic.planned.bytes, traffic.ranks));
  using Traffic = const TrafficSummary &;
  add("all",
      plan.sentInAll([](Traffic traffic) { return traffic.planned.elements; }),
      plan.sentInAll([](Traffic traffic) { return traffic.formula.elements; }),
      "",
      plan.sentInAll([](Traffic traffic) { return traffic.planned.bytes; }));
  table.print(llvm::outs());
  llvm::outs() << "collectives of an update:\n";
  Table collectives;
  for (const CollectiveSummary &collective : plan.collectives)
    collectives.add(
        {"  " + collective.name, formatCount(collective.count),
         formatBytes(plan.sent(collective.volume.bytes, collective.ranks))});
  collectives.print(llvm::outs());
}

/// What offload moves.
static void printTransfers(const PlanSummary &plan) {
  if (plan.transfers.empty())
    return;
  llvm::outs()
      << "between the tiers of a rank in an update, and on the host:\n";
  Table table;
  for (const TransferSummary &transfer : plan.transfers)
    table.add({"  " + transfer.name, transfer.link, formatCount(transfer.count),
               formatBytes(transfer.bytes)});
  table.print(llvm::outs());
}

/// Stage 3: what is gathered less than in the forward and in the backward.
static void printGathers(const PlanSummary &plan) {
  if (plan.gathers.empty())
    return;
  int64_t all = plan.trained + plan.untrained;
  int64_t bound = plan.accumulation * (plan.trained + 2 * all);
  int64_t planned = 0;
  for (const TrafficSummary &traffic : plan.traffic)
    planned += traffic.ranks ? 0 : traffic.planned.elements;
  // Elements beside bytes would say nothing.
  if (!isPacked(plan))
    llvm::outs() << (plan.untrained == 0 ? "3 A S" : "A S + 2 A (S + others)")
                 << " would be " << formatCount(plan.sent(bound)) << ", "
                 << formatCount(plan.sent(planned)) << " planned; ";
  llvm::outs() << "parameters by gathers of a micro-batch:\n";
  Table table;
  for (const GatherSummary &gathers : plan.gathers)
    table.add({"  " + (gathers.times == 0 ? std::string("never")
                                          : plural(gathers.times, "time")),
               formatCount(gathers.elements) + " elements"});
  table.print(llvm::outs());
}

/// What activation checkpointing costs.
static void printRecomputation(const PlanSummary &plan) {
  const KernelWork &again = plan.recomputed;
  if (again.kernels == 0)
    return;
  llvm::outs() << "\nrecomputed in a micro-batch: "
               << plural(again.kernels, "kernel") << ", "
               << formatCount(again.flops) << " operations on elements";
  if (plan.work.flops > 0)
    llvm::outs() << llvm::format(" (%.1f %% of all)",
                                 100.0 * again.flops / plan.work.flops);
  llvm::outs() << ", " << formatBytes(again.bytes) << " read and written\n";
}

void mlir::zero::printReport(const PlanSummary &plan, StringRef path,
                             unsigned lines) {
  llvm::outs() << path << ": stage " << plan.stage << ", "
               << plural(plan.ranks, "rank") << ", "
               << plural(plan.accumulation, "micro-batch", "es")
               << " an update, " << formatCount(plan.trained)
               << " trained parameters, " << formatCount(plan.untrained)
               << " others";
  // Ranks have parts of what an axis cuts.
  if (int64_t ofRank = plan.trained + plan.untrained; ofRank < plan.ofModel)
    llvm::outs() << " on a rank, of " << formatCount(plan.ofModel)
                 << " in the model";
  llvm::outs() << "\n\n";
  printMemory(plan, lines);
  printTraffic(plan);
  printTransfers(plan);
  printGathers(plan);
  printRecomputation(plan);
}

void mlir::zero::printRankCounts(ArrayRef<PlanReport> reports, StringRef path) {
  const PlanSummary &first = reports.front().plan;
  llvm::outs() << path << ": stage " << first.stage << ", "
               << plural(first.accumulation, "micro-batch", "es")
               << " an update; of a rank:\n\n";
  Table table;
  table.add({"ranks", "parameters", "gradients", "optimizer", "states",
             "closed form", "activations", "communication", "all", "fits",
             "sent", "predicted", "exposed",
             reports.front().verdict.speed.unit + "s/s a rank", "MFU"});
  for (const auto &[plan, prediction, commands, verdict] : reports) {
    int64_t formula = 0;
    for (const ArenaSummary &arena : plan.arenas)
      formula += arena.formula.value_or(0);
    SmallVector<std::string> row = {formatCount(plan.ranks)};
    for (ArenaKind kind :
         {ArenaKind::Parameters, ArenaKind::Gradients, ArenaKind::Optimizer})
      row.push_back(formatBytes(plan.arena(kind).bytes));
    row.push_back(formatBytes(plan.stateBytes()));
    row.push_back(formatBytes(formula));
    row.push_back(formatBytes(plan.arena(ArenaKind::Activations).bytes));
    row.push_back(formatBytes(plan.arena(ArenaKind::Communication).bytes));
    row.push_back(formatBytes(plan.totalBytes()));
    row.push_back(!verdict.knowsMemory() ? "?" : verdict.fits() ? "yes" : "no");
    row.push_back(formatBytes(plan.sentInAll(
        [](const TrafficSummary &traffic) { return traffic.planned.bytes; })));
    row.push_back(formatSeconds(prediction.seconds));
    row.push_back(formatShare(prediction.exposed, prediction.seconds));
    row.push_back(formatCount(std::llround(verdict.speed.units)));
    row.push_back(formatShare(verdict.speed.operations, verdict.peak));
    table.add(std::move(row));
  }
  table.print(llvm::outs());
  const Prediction &prediction = reports.front().prediction;
  llvm::outs() << "predicted for " << prediction.machine
               << ": an update, and the part of it that waits for "
                  "communication\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeVolume(llvm::json::OStream &json, const PlanSummary &plan,
                        StringRef name, const Volume &volume,
                        int64_t ranks = 0) {
  json.attributeObject(name, [&] {
    json.attribute("elements", plan.sent(volume.elements, ranks));
    json.attribute("bytes", plan.sent(volume.bytes, ranks));
  });
}

static void writeArena(llvm::json::OStream &json, const ArenaSummary &arena) {
  json.attributeObject(arena.space.describe(), [&] {
    json.attribute("bytes", arena.bytes);
    if (arena.formula)
      json.attribute("closed_form", *arena.formula);
    if (!arena.peak.empty())
      json.attribute("peak", arena.peak);
    json.attributeArray("parts", [&] {
      for (const MemoryLine &line : arena.lines)
        json.object([&] {
          json.attribute("name", line.name);
          json.attribute("bytes", line.bytes);
        });
    });
  });
}

void mlir::zero::writeJson(llvm::json::OStream &json,
                           const PlanReport &report) {
  const PlanSummary &plan = report.plan;
  json.object([&] {
    json.attribute("stage", plan.stage);
    json.attribute("ranks", plan.ranks);
    json.attribute("accumulation", plan.accumulation);
    json.attribute("trained_elements", plan.trained);
    json.attribute("other_elements", plan.untrained);
    json.attribute("bytes", plan.totalBytes());
    json.attributeObject("memory", [&] {
      for (const ArenaSummary &arena : plan.arenas)
        if (arena.bytes > 0)
          writeArena(json, arena);
    });
    json.attributeObject("traffic", [&] {
      for (const TrafficSummary &traffic : plan.traffic)
        json.attributeObject(traffic.name, [&] {
          if (traffic.isPacked)
            json.attribute("packed_elements_are_bytes", true);
          writeVolume(json, plan, "planned", traffic.planned, traffic.ranks);
          writeVolume(json, plan, "closed_form", traffic.formula,
                      traffic.ranks);
        });
    });
    json.attributeArray("gathers_of_a_micro_batch", [&] {
      for (const GatherSummary &gathers : plan.gathers)
        json.object([&] {
          json.attribute("times", gathers.times);
          json.attribute("elements", gathers.elements);
        });
    });
    json.attributeObject("recomputed_in_a_micro_batch", [&] {
      json.attribute("kernels", plan.recomputed.kernels);
      json.attribute("flops", plan.recomputed.flops);
      json.attribute("flops_of_all", plan.work.flops);
      json.attribute("bytes", plan.recomputed.bytes);
    });
    json.attributeObject("collectives", [&] {
      for (const CollectiveSummary &collective : plan.collectives)
        json.attributeObject(collective.name, [&] {
          json.attribute("count", collective.count);
          writeVolume(json, plan, "sent", collective.volume, collective.ranks);
        });
    });
    json.attributeObject("transfers", [&] {
      for (const TransferSummary &transfer : plan.transfers)
        json.attributeObject(transfer.name, [&] {
          json.attribute("link", transfer.link);
          json.attribute("count", transfer.count);
          json.attribute("bytes", transfer.bytes);
        });
    });
    writeCommands(json, report.commands);
    writePrediction(json, report.prediction);
    writeVerdict(json, report.verdict);
  });
}
