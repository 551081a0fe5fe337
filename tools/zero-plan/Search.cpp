//===- Search.cpp - the fastest plan in a memory budget -------------------===//

#include "CommandLine.h"
#include "HuggingFace.h"

#include "Predict.h"
#include "Progress.h"
#include "Remedies.h"
#include "ResolveSearch.h"
#include "SearchMeshes.h"
#include "SearchPick.h"
#include "Table.h"

#include "zero/Search/PlanSearch.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A model with micro-batches of some size, and what was found of it.
struct Searched {
  std::unique_ptr<ModelFile> model;
  ResolvedSearch resolved;
  MemoryBudgets budgets;
  SearchResult result;

  Unit getUnit() const {
    return unitOf(*model->get().getOps<StepOp>().begin());
  }
};

} // namespace

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
static void printFront(const SearchResult &result, int64_t budget,
                       const Unit &unit) {
  auto uses = [&](int64_t PlannedPoint::*bytes) {
    return llvm::any_of(result.front, [&](const PlannedPoint &point) {
      return point.*bytes != 0;
    });
  };
  bool isOffloading = uses(&PlannedPoint::hostBytes);
  bool usesFiles = uses(&PlannedPoint::fileBytes);
  Table table;
  auto add = [&](std::string memory, std::string host, std::string files,
                 SmallVector<std::string> time, std::string offloaded,
                 SmallVector<std::string> rest) {
    SmallVector<std::string> row = {std::move(memory)};
    if (isOffloading)
      row.push_back(std::move(host));
    if (usesFiles)
      row.push_back(std::move(files));
    llvm::append_range(row, time);
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
        formatAny(point.fileBytes),
        {formatSeconds(point.seconds),
         formatCount(std::llround(speedOf(point, unit))),
         std::to_string(config.stage), describeCheckpoint(config.checkpoint)},
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

static void printBudgets(const MemoryBudgets &budgets, bool isMachines,
                         const Machine &machine) {
  if (budgets.device)
    llvm::outs() << formatBytes(budgets.device) << " a rank"
                 << (isMachines ? ", which " + machine.name + " has" : "");
  else
    llvm::outs() << "any memory";
  if (budgets.host)
    llvm::outs() << ", and " << formatBytes(budgets.host) << " of the host";
}

static void printSearch(const Searched &searched, const Machine &machine) {
  const SearchResult &result = searched.result;
  const TrainConfig &base = searched.resolved.base;
  llvm::outs() << searched.model->getPath() << ": "
               << plural(base.worldRanks(), "rank") << ", "
               << plural(base.accumulation, "micro-batch", "es")
               << " an update, predicted for " << machine.name << "; ";
  printBudgets(searched.budgets, base.memoryBudget == 0, machine);
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
  printFront(result, searched.budgets.device, searched.getUnit());
}

/// One line for each of several micro-batches, the pick of all first.
static void printMicroBatches(ArrayRef<Searched> all, const Searched &best) {
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

static void writeSearch(raw_ostream &os, ArrayRef<Searched> all,
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

/// What the smallest plan needs, and what would make it fit.
static LogicalResult reportNoFit(Searched &searched,
                                 const SearchOptions &options,
                                 const Machine &machine) {
  const PlannedPoint &smallest = searched.result.front.front();
  const MemoryBudgets &budgets = searched.budgets;
  if (options.jsonFile != "-")
    printRemedies(*searched.model, options, smallest, budgets, machine);
  auto describe = [](int64_t device, int64_t host) {
    return (device ? formatBytes(device) : "any memory") +
           (host ? " and " + formatBytes(host) + " of the host" : "");
  };
  std::string counted;
  if (int64_t bytes = smallest.countedBytes - smallest.bytes)
    counted = ", of which " + formatBytes(bytes) +
              " count as the device's without --host-memory-budget";
  return fail("no plan fits into " + describe(budgets.device, budgets.host) +
              " a rank; the smallest that was found needs " +
              describe(smallest.bytes, smallest.hostBytes) + counted);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Searches for one model.
static FailureOr<Searched> search(std::unique_ptr<ModelFile> model,
                                  const SearchOptions &options,
                                  Machine &machine) {
  if (!model->isModel())
    return fail("'" + model->getPath() +
                "' is a schedule, of which nothing is open; search wants a "
                "model");
  FailureOr<ResolvedSearch> resolved = resolveSearch(*model, options);
  if (failed(resolved))
    return failure();
  if (resolved->base.hasAxis(zrt::kPipeAxis))
    return fail(
        "the search does not plan stages of a given axis 'pipe'; let it "
        "choose with '--mesh auto', or plan each mesh by itself with "
        "'zero-plan MODEL --mesh ...'");
  FailureOr<Machine> read = model->readMachine();
  if (failed(read))
    return failure();
  machine = *read;
  Searched searched{std::move(model), std::move(*resolved), {}, {}};
  const TrainConfig &base = searched.resolved.base;
  searched.budgets = {base.memoryBudget, base.hostMemoryBudget};
  if (base.memoryBudget == 0 && machine.memory > 0)
    searched.budgets.device = machine.memory - machine.reservedMemory;
  const Progress progress(searched.model->getPath().str());
  SearchRequest request;
  request.bases = searched.resolved.stages;
  request.machine = machine;
  request.budgets = searched.budgets;
  request.offload = searched.resolved.offload;
  request.onPlan = [&](int64_t plans) { progress.show(plans); };
  FailureOr<SearchResult> result = searchPlans(searched.model->get(), request);
  if (failed(result))
    return failure();
  searched.result = std::move(*result);
  return std::move(searched);
}

/// Whether `a` is faster than `b` by as much as predictions tell apart, or as
/// fast and smaller.
static bool isPreferred(const Searched &a, const Searched &b) {
  if (!a.result.pick || !b.result.pick)
    return a.result.pick.has_value() && !b.result.pick;
  const double ratio = speedOf(*a.result.pick, a.getUnit()) /
                       speedOf(*b.result.pick, b.getUnit());
  return ratio > 1 + kSameTime ||
         (ratio > 1 - kSameTime &&
          a.result.pick->countedBytes < b.result.pick->countedBytes);
}

/// Searches with micro-batches of 1, 2, 4 and more samples, until more of them
/// gain nothing or do not fit.
static LogicalResult searchMicroBatches(const SearchOptions &options,
                                        std::vector<Searched> &all,
                                        Machine &machine) {
  constexpr int64_t most = 64;
  for (int64_t samples = 1; samples <= most; samples *= 2) {
    auto model = std::make_unique<ModelFile>();
    if (failed(readHuggingFace(*model, samples)))
      return failure();
    // What does not divide the samples of an update is none to try.
    ScopedDiagnosticHandler quiet(
        model->get().getContext(),
        [&](Diagnostic &diagnostic) { return success(samples > 1); });
    FailureOr<Searched> next = search(std::move(model), options, machine);
    if (failed(next))
      return success(samples > 1);
    all.push_back(std::move(*next));
    if (all.size() > 1 && !isPreferred(all.back(), all[all.size() - 2]))
      return success();
  }
  return success();
}

/// Searches for each model, and prints the plans of the fastest. Fails, with
/// what to change, where none fits into the budget; and where the written
/// configuration does not give the pick again.
static LogicalResult runSearch(std::vector<std::unique_ptr<ModelFile>> models,
                               const SearchOptions &options) {
  std::vector<Searched> all;
  Machine machine;
  if (models.empty() && failed(searchMicroBatches(options, all, machine)))
    return failure();
  for (std::unique_ptr<ModelFile> &model : models) {
    FailureOr<Searched> next = search(std::move(model), options, machine);
    if (failed(next))
      return failure();
    all.push_back(std::move(*next));
  }
  Searched &best = *std::min_element(all.begin(), all.end(), isPreferred);
  if (options.jsonFile != "-") {
    printMicroBatches(all, best);
    printSearch(best, machine);
  }
  if (!options.jsonFile.empty() &&
      failed(writeText(options.jsonFile, [&](raw_ostream &os) {
        writeSearch(os, all, best, machine);
      })))
    return failure();
  if (!best.result.pick)
    return reportNoFit(best, options, machine);
  return keepPick(*best.model, options, *best.result.pick, best.result.front,
                  best.budgets, machine);
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

/// The models of the words, of which several are one with other micro-batches.
static FailureOr<std::vector<std::unique_ptr<ModelFile>>> readModels() {
  std::vector<std::unique_ptr<ModelFile>> models;
  if (choosesMicroBatch())
    return models;
  if (isHuggingFace()) {
    models.push_back(std::make_unique<ModelFile>());
    if (failed(readInputModel(*models.back())))
      return failure();
    return models;
  }
  for (const std::string &path : options::inputs) {
    models.push_back(std::make_unique<ModelFile>());
    if (failed(models.back()->read(path)))
      return failure();
  }
  return models;
}

LogicalResult mlir::zero::runSearchCommand() {
  FailureOr<std::string> ranks = readRankCount();
  if (failed(ranks) || failed(checkOutputs({{"--write-config", configFile}})) ||
      ((options::inputs.empty() || isHuggingFace()) && failed(expectInputs(1))))
    return failure();
  auto models = readModels();
  if (failed(models))
    return failure();
  SearchOptions search;
  search.plan = planOptions(*ranks);
  search.configFile = configFile;
  search.jsonFile = options::json;
  if (searchFolder.getNumOccurrences())
    search.folder = searchFolder;
  search.drawings = drawingFiles();
  if (search.plan.mesh != kAnyMesh)
    return runSearch(std::move(*models), search);
  if (models->size() != 1)
    return fail("--mesh auto wants one model, with --hf a --micro-batch; it "
                "compares meshes with the same micro-batch");
  if (!models->front()->isModel())
    return fail("'" + models->front()->getPath() +
                "' is a schedule, of which nothing is open; search wants a "
                "model");
  return runMeshSearch(*models->front(), search);
}
