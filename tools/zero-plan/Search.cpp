//===- Search.cpp - the fastest plan in a memory budget -------------------===//

#include "CommandLine.h"
#include "HuggingFace.h"

#include "Report.h"
#include "ResolveSearch.h"
#include "SearchMeshes.h"
#include "SearchPick.h"
#include "Table.h"

#include "zero/Search/PlanSearch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

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

static std::string describeNote(const SearchResult &result, int64_t budget,
                                const PlannedPoint &point) {
  if (isIn(result, point))
    return "<- pick";
  return budget && point.countedBytes > budget ? "above the budget" : "";
}

/// What of a table is about host memory or files comes where something is
/// there.
static void printFront(const SearchResult &result, int64_t budget) {
  auto uses = [&](int64_t PlannedPoint::*bytes) {
    return llvm::any_of(result.front, [&](const PlannedPoint &point) {
      return point.*bytes != 0;
    });
  };
  bool isOffloading = uses(&PlannedPoint::hostBytes);
  bool usesFiles = uses(&PlannedPoint::fileBytes);
  Table table;
  auto add = [&](std::string memory, std::string host, std::string files,
                 std::string time, std::string stage, std::string recomputed,
                 std::string offloaded, llvm::SmallVector<std::string> rest) {
    llvm::SmallVector<std::string> row = {memory};
    if (isOffloading)
      row.push_back(host);
    if (usesFiles)
      row.push_back(files);
    row.append({time, stage, recomputed});
    if (isOffloading)
      row.push_back(offloaded);
    llvm::append_range(row, rest);
    table.add(std::move(row));
  };
  auto formatAny = [](int64_t bytes) {
    return bytes ? formatBytes(bytes) : "-";
  };
  add("memory", "on host", "in files", "an update", "stage", "recomputed",
      "offloaded",
      {"overlap", "reduce bucket", "gather bucket", "ahead", "live", "reuse",
       "kept whole", ""});
  for (const PlannedPoint &point : result.front) {
    const TrainConfig &config = point.config;
    bool isThree = config.stage == 3;
    auto only = [](bool applies, int64_t value) {
      return applies ? formatCount(value) : "-";
    };
    add(formatBytes(point.bytes), formatAny(point.hostBytes),
        formatAny(point.fileBytes), formatSeconds(point.seconds),
        std::to_string(config.stage), describeCheckpoint(config.checkpoint),
        describeOffload(point),
        {config.overlapCommunication ? "yes" : "no",
         formatCount(config.reduceBucketSize),
         only(config.stage == 1 || config.stage == 2,
              config.allgatherBucketSize),
         only(isThree, config.prefetchBucketSize),
         only(isThree, config.maxLiveParameters),
         only(isThree, config.maxReuseDistance),
         only(isThree, config.parameterPersistenceThreshold),
         describeNote(result, budget, point)});
  }
  table.print(llvm::outs());
}

static void printSearch(const SearchResult &result, const TrainConfig &base,
                        const Machine &machine, StringRef path,
                        const Refusals &refused) {
  llvm::outs() << path << ": " << plural(base.worldRanks(), "rank") << ", "
               << plural(base.accumulation, "micro-batch", "es")
               << " an update, predicted for " << machine.name << "; ";
  if (base.memoryBudget)
    llvm::outs() << formatBytes(base.memoryBudget) << " a rank";
  else
    llvm::outs() << "any memory";
  if (base.hostMemoryBudget)
    llvm::outs() << ", and " << formatBytes(base.hostMemoryBudget)
                 << " of the host";
  llvm::outs() << "\n";
  for (StringRef key : getSearchedKeys())
    if (llvm::is_contained(base.given, key.str()))
      llvm::outs() << "fixed by the configuration: " << key << "\n";
  for (int64_t stage : result.excludedStages)
    llvm::outs() << "stage " << stage
                 << ": what outlives a step exceeds the budget\n";
  for (const auto &[stage, reason] : refused)
    llvm::outs() << "stage " << stage << ": " << reason << "\n";
  if (!result.whyNotInFiles.empty())
    llvm::outs() << "no state in files: " << result.whyNotInFiles << "\n";
  if (result.countsHost)
    llvm::outs() << "states too small for files stay in host memory; without "
                    "--host-memory-budget, the budget of the device counts "
                    "them\n";
  llvm::outs() << plural(result.planned, "plan")
               << " made; those that no other beats in both, in elements:\n\n";
  printFront(result, base.memoryBudget);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static void writeSearch(raw_ostream &os, const SearchResult &result,
                        const TrainConfig &base, const Machine &machine) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ranks", base.worldRanks());
    json.attribute("machine", machine.name);
    json.attribute("memory_budget", base.memoryBudget);
    json.attribute("host_memory_budget", base.hostMemoryBudget);
    json.attribute("plans", result.planned);
    json.attributeArray("front", [&] {
      for (const PlannedPoint &point : result.front)
        writePoint(json, point);
    });
    if (!result.pick)
      return;
    json.attributeBegin("pick");
    writePoint(json, *result.pick);
    json.attributeEnd();
  });
  os << "\n";
}

/// The smallest plan, with what is alive where it is fullest.
static LogicalResult reportNoFit(ModelFile &model, const SearchOptions &options,
                                 const PlannedPoint &smallest,
                                 const TrainConfig &base) {
  auto planned = planModel(model.get(), smallest.config);
  if (failed(planned))
    return failure();
  if (options.jsonFile != "-") {
    llvm::outs() << "\nthe smallest plan:\n";
    printReport(summarizePlan(planned->get()), model.getPath(), options.lines);
    llvm::outs().flush();
  }
  auto describe = [](int64_t device, int64_t host) {
    return (device ? formatBytes(device) : "any memory") +
           (host ? " and " + formatBytes(host) + " of the host" : "");
  };
  std::string counted;
  if (int64_t bytes = smallest.countedBytes - smallest.bytes)
    counted = ", of which " + formatBytes(bytes) +
              " count as the device's without --host-memory-budget";
  return fail("no plan fits into " +
              describe(base.memoryBudget, base.hostMemoryBudget) +
              " a rank; the smallest that was found needs " +
              describe(smallest.bytes, smallest.hostBytes) + counted +
              ": give more ranks, a smaller micro-batch or more memory");
}

/// Searches, and prints the plans of which none is smaller and faster than
/// another. Fails, after the smallest plan, where none fits into the budget;
/// and where the written configuration does not give the pick again.
static LogicalResult runSearch(ModelFile &model, const SearchOptions &options) {
  FailureOr<ResolvedSearch> resolved = resolveSearch(model, options);
  if (failed(resolved))
    return failure();
  const TrainConfig &base = resolved->base;
  FailureOr<Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  SearchRequest request;
  request.bases = resolved->stages;
  request.machine = *machine;
  request.budgets = {base.memoryBudget, base.hostMemoryBudget};
  request.offload = resolved->offload;
  FailureOr<SearchResult> result = searchPlans(model.get(), request);
  if (failed(result))
    return failure();
  if (options.jsonFile != "-")
    printSearch(*result, base, *machine, model.getPath(), resolved->refused);
  if (!options.jsonFile.empty() &&
      failed(writeText(options.jsonFile, [&](raw_ostream &os) {
        writeSearch(os, *result, base, *machine);
      })))
    return failure();
  if (!result->pick)
    return reportNoFit(model, options, result->front.front(), base);
  return keepPick(model, options, *result->pick, *machine);
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

namespace cl = llvm::cl;

static cl::opt<std::string> searchFolder(
    "nvme-path", cl::cat(category()), cl::sub(commands::search()),
    cl::value_desc("folder"),
    cl::desc("A folder in which the search may keep optimizer states in files; "
             "in none if not given"));
static cl::opt<std::string>
    configFile("write-config", cl::cat(category()), cl::sub(commands::search()),
               cl::value_desc("file"),
               cl::desc("Write the pick as a configuration"));

LogicalResult mlir::zero::runSearchCommand() {
  ModelFile model;
  FailureOr<std::string> ranks = readRankCount();
  if (failed(ranks) || failed(checkOutputs({{"--write-config", configFile}})) ||
      failed(expectInputs(1)) || failed(readInputModel(model)))
    return failure();
  if (!model.isModel())
    return fail("'" + model.getPath() +
                "' is a schedule, of which nothing is open; search wants a "
                "model");
  SearchOptions search;
  search.plan = planOptions(*ranks);
  search.configFile = configFile;
  search.jsonFile = options::json;
  if (searchFolder.getNumOccurrences())
    search.folder = searchFolder;
  search.drawings = drawingFiles();
  search.lines = options::lines;
  return search.plan.mesh == kAnyMesh ? runMeshSearch(model, search)
                                      : runSearch(model, search);
}
