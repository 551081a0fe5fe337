//===- SearchReport.cpp - what searches have found, in words and as JSON --===//

#include "SearchReport.h"

#include "Predict.h"
#include "Table.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

/// "0.5 by 1,000,000" of the optimizer states, in elements of a sub-group.
static std::string describeOffload(const PlannedPoint &point) {
  const TrainConfig &config = point.config;
  if (!config.offloadOptimizer)
    return "-";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%g", config.offloadOptimizer->ratio) << " by "
     << formatCount(config.offloadOptimizer->subGroupSize);
  if (point.fileBytes) // States may all be too small for them.
    os << " in files";
  if (config.offloadOptimizer->parameters)
    os << ", with parameters";
  return text;
}

static bool isIn(const SearchResult &result, const PlannedPoint &point) {
  return result.pick && result.pick->bytes == point.bytes &&
         result.pick->hostBytes == point.hostBytes &&
         result.pick->fileBytes == point.fileBytes &&
         result.pick->seconds == point.seconds;
}

static std::string describeNote(const SearchResult &result,
                                const MemoryBudgets &budgets,
                                const PlannedPoint &point) {
  if (isIn(result, point))
    return "<- pick";
  return budgets.device && budgets.needed(point) > budgets.device
             ? "above the budget"
             : "";
}

/// What of a table is about host memory or files comes where something is
/// there.
static void printFront(const SearchResult &result, const MemoryBudgets &budgets,
                       const Unit &unit) {
  auto uses = [&](int64_t PlannedPoint::*bytes) {
    return llvm::any_of(result.front, [&](const PlannedPoint &point) {
      return point.*bytes != 0;
    });
  };
  bool isOffloading = uses(&PlannedPoint::hostBytes);
  bool usesFiles = uses(&PlannedPoint::fileBytes);
  bool hasStages = llvm::any_of(result.front, [](const PlannedPoint &point) {
    return point.config.hasAxis(zrt::kPipeAxis);
  });
  Table table;
  auto add = [&](std::string memory, std::string host, std::string files,
                 SmallVector<std::string> time, std::string schedule,
                 std::string offloaded, SmallVector<std::string> rest) {
    SmallVector<std::string> row = {std::move(memory)};
    if (isOffloading)
      row.push_back(std::move(host));
    if (usesFiles)
      row.push_back(std::move(files));
    llvm::append_range(row, time);
    if (hasStages)
      row.push_back(std::move(schedule));
    if (isOffloading)
      row.push_back(std::move(offloaded));
    llvm::append_range(row, rest);
    table.add(std::move(row));
  };
  auto formatAny = [](int64_t bytes) {
    return bytes ? formatBytes(bytes) : "-";
  };
  add("memory", "on host", "in files",
      {"an update", unit.name + "s/s a rank", "stage", "recomputed"},
      "schedule", "offloaded",
      {"overlap", "reduce bucket", "gather bucket", "ahead", "live", "reuse",
       "kept whole", ""});
  for (const PlannedPoint &point : result.front) {
    const TrainConfig &config = point.config;
    bool isThree = config.stage == 3;
    auto only = [](bool applies, int64_t value) {
      return applies ? formatCount(value) : "-";
    };
    add(formatBytes(point.bytes), formatAny(point.hostBytes),
        formatAny(point.fileBytes),
        {formatSeconds(point.seconds),
         formatCount(std::llround(speedOf(point, unit))),
         std::to_string(config.stage), describeCheckpoint(config.checkpoint)},
        describeSchedule(config), describeOffload(point),
        {config.overlapCommunication ? "yes" : "no",
         formatCount(config.reduceBucketSize),
         only(config.stage == 1 || config.stage == 2,
              config.allgatherBucketSize),
         only(isThree, config.prefetchBucketSize),
         only(isThree, config.maxLiveParameters),
         only(isThree, config.maxReuseDistance),
         only(isThree, config.parameterPersistenceThreshold),
         describeNote(result, budgets, point)});
  }
  table.print(llvm::outs());
}

void mlir::zero::printSearch(const Searched &searched, const Machine &machine) {
  const SearchResult &result = searched.result;
  const TrainConfig &base = searched.resolved.base;
  llvm::outs() << searched.model->getPath() << ": "
               << plural(base.worldRanks(), "rank") << ", "
               << plural(base.accumulation, "micro-batch", "es")
               << " an update, predicted for " << machine.name << "; "
               << describeBudget(searched.budgets, base, machine);
  if (searched.budgets.host)
    llvm::outs() << ", and " << formatBytes(searched.budgets.host)
                 << " of the host";
  llvm::outs() << "\n";
  for (StringRef key : getSearchedKeys())
    if (llvm::is_contained(base.given, key.str()))
      llvm::outs() << "fixed by the configuration: " << key << "\n";
  for (int64_t stage : result.excludedStages)
    llvm::outs() << "stage " << stage
                 << ": what outlives a step exceeds the budget\n";
  for (const auto &[stage, reason] : searched.resolved.refused)
    llvm::outs() << "stage " << stage << ": " << reason << "\n";
  if (!result.whyNotInFiles.empty())
    llvm::outs() << "no state in files: " << result.whyNotInFiles << "\n";
  if (result.countsHost)
    llvm::outs() << "states too small for files stay in host memory; without "
                    "--host-memory-budget, the budget of the device counts "
                    "them\n";
  llvm::outs() << plural(result.planned, "plan") << " made; those whose times "
               << "differ by more than a prediction's error, in elements:\n\n";
  printFront(result, searched.budgets, searched.getUnit());
}

void mlir::zero::printMicroBatches(ArrayRef<Searched> all,
                                   const Searched &best) {
  if (all.size() == 1)
    return;
  Table table;
  table.add({"samples of a micro-batch", "micro-batches an update",
             best.getUnit().name + "s/s a rank", "memory", "stage",
             "recomputed", ""});
  for (const Searched &each : all) {
    const TrainConfig &base = each.resolved.base;
    SmallVector<std::string> row = {formatCount(base.microBatch),
                                    formatCount(base.accumulation)};
    if (const auto &pick = each.result.pick)
      row.append({formatCount(std::llround(speedOf(*pick, each.getUnit()))),
                  formatBytes(pick->bytes), std::to_string(pick->config.stage),
                  describeCheckpoint(pick->config.checkpoint),
                  &each == &best ? "<- pick" : ""});
    else
      row.append({"-", formatBytes(each.result.front.front().bytes), "-", "-",
                  "above the budget"});
    table.add(std::move(row));
  }
  table.print(llvm::outs());
  llvm::outs() << "\n";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

void mlir::zero::writeSearch(raw_ostream &os, ArrayRef<Searched> all,
                             const Searched &best, const Machine &machine) {
  const SearchResult &result = best.result;
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ranks", best.resolved.base.worldRanks());
    json.attribute("machine", machine.name);
    json.attribute("memory_budget", best.budgets.device);
    json.attribute("host_memory_budget", best.budgets.host);
    json.attribute("plans", result.planned);
    json.attributeArray("front", [&] {
      for (const PlannedPoint &point : result.front)
        writePoint(json, point);
    });
    json.attributeArray("micro_batches", [&] {
      for (const Searched &each : all)
        if (each.result.pick)
          writePoint(json, *each.result.pick);
    });
    if (!result.pick)
      return;
    json.attributeBegin("pick");
    writePoint(json, *result.pick);
    json.attributeEnd();
  });
  os << "\n";
}
