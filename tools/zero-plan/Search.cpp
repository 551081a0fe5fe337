//===- Search.cpp - the fastest plan in a memory budget -------------------===//

#include "Search.h"

#include "Predict.h"
#include "PredictedTrace.h"
#include "Report.h"
#include "Table.h"

#include "zero/Search/PlanSearch.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

/// "none", "all of 0-5", "cheap of all, 2 together".
static std::string describeCheckpoint(const CheckpointConfig &checkpoint) {
  if (!checkpoint.isEnabled())
    return "none";
  std::string text = checkpoint.cheapOnly ? "cheap" : "all";
  if (!checkpoint.layers.empty()) {
    // A search takes the first layers; a file may name others.
    SmallVector<std::string> names;
    for (int64_t layer : checkpoint.layers)
      names.push_back(std::to_string(layer));
    bool isPrefix =
        static_cast<int64_t>(names.size()) == checkpoint.layers.back() + 1;
    text += isPrefix ? " of first " + std::to_string(names.size())
                     : " of " + llvm::join(names, " ");
  }
  if (checkpoint.number > 0)
    text += ", in " + std::to_string(checkpoint.number);
  else if (checkpoint.every > 1)
    text += ", by " + std::to_string(checkpoint.every);
  return text;
}

static bool isIn(const SearchResult &result, const PlannedPoint &point) {
  return result.pick && result.pick->bytes == point.bytes &&
         result.pick->seconds == point.seconds;
}

static void printFront(const SearchResult &result, int64_t budget) {
  Table table;
  table.add({"memory", "an update", "stage", "recomputed", "overlap",
             "reduce bucket", "gather bucket", "ahead", "live", "reuse",
             "kept whole", ""});
  for (const PlannedPoint &point : result.front) {
    const TrainConfig &config = point.config;
    bool isThree = config.stage == 3;
    auto only = [](bool applies, int64_t value) {
      return applies ? formatCount(value) : "-";
    };
    std::string note;
    if (isIn(result, point))
      note = "<- pick";
    else if (budget && point.bytes > budget)
      note = "above the budget";
    table.add({formatBytes(point.bytes), formatSeconds(point.seconds),
               std::to_string(config.stage),
               describeCheckpoint(config.checkpoint),
               config.overlapCommunication ? "yes" : "no",
               formatCount(config.reduceBucketSize),
               only(config.stage == 1 || config.stage == 2,
                    config.allgatherBucketSize),
               only(isThree, config.prefetchBucketSize),
               only(isThree, config.maxLiveParameters),
               only(isThree, config.maxReuseDistance),
               only(isThree, config.parameterPersistenceThreshold), note});
  }
  table.print(llvm::outs());
}

static void printSearch(const SearchResult &result, const TrainConfig &base,
                        const Machine &machine, StringRef path) {
  llvm::outs() << path << ": " << plural(base.ranks, "rank") << ", "
               << plural(base.accumulation, "micro-batch", "es")
               << " an update, predicted for " << machine.name << "; ";
  if (base.memoryBudget)
    llvm::outs() << formatBytes(base.memoryBudget) << " a rank\n";
  else
    llvm::outs() << "any memory\n";
  for (StringRef key : getSearchedKeys())
    if (llvm::is_contained(base.given, key.str()))
      llvm::outs() << "fixed by the configuration: " << key << "\n";
  for (int64_t stage : result.excludedStages)
    llvm::outs() << "stage " << stage
                 << ": what outlives a step exceeds the budget\n";
  llvm::outs() << plural(result.planned, "plan")
               << " made; those that no other beats in both, in elements:\n\n";
  printFront(result, base.memoryBudget);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static LogicalResult writeFile(StringRef path,
                               llvm::function_ref<void(raw_ostream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  return writeTextFile(path, text);
}

static void writePoint(llvm::json::OStream &json, const PlannedPoint &point) {
  const TrainConfig &config = point.config;
  json.object([&] {
    json.attribute("bytes", point.bytes);
    json.attribute("seconds", point.seconds);
    json.attribute("stage", config.stage);
    json.attribute("recomputed", describeCheckpoint(config.checkpoint));
    json.attribute("overlap_comm", config.overlapCommunication);
    json.attribute("reduce_bucket_size", config.reduceBucketSize);
    json.attribute("allgather_bucket_size", config.allgatherBucketSize);
    json.attribute("stage3_prefetch_bucket_size", config.prefetchBucketSize);
    json.attribute("stage3_max_live_parameters", config.maxLiveParameters);
    json.attribute("stage3_max_reuse_distance", config.maxReuseDistance);
    json.attribute("stage3_param_persistence_threshold",
                   config.parameterPersistenceThreshold);
  });
}

static void writeSearch(raw_ostream &os, const SearchResult &result,
                        const TrainConfig &base, const Machine &machine) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("ranks", base.ranks);
    json.attribute("machine", machine.name);
    json.attribute("memory_budget", base.memoryBudget);
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

/// Writes the pick, and plans once more with what was written.
static LogicalResult writePick(ModelFile &model, const SearchOptions &options,
                               const PlannedPoint &pick) {
  if (failed(writeFile(options.configFile, [&](raw_ostream &os) {
        writeTrainConfig(os, pick.config);
      })))
    return failure();
  PlanOptions again;
  again.config = options.configFile;
  again.ranks = std::to_string(pick.config.ranks);
  FailureOr<OwningOpRef<ModuleOp>> planned = model.plan(again);
  FailureOr<Machine> machine = model.readMachine();
  if (failed(planned) || failed(machine))
    return failure();
  FailureOr<Timeline> timeline = simulate(planned->get(), *machine);
  if (failed(timeline))
    return failure();
  int64_t bytes = summarizePlan(planned->get()).totalBytes();
  if (bytes == pick.bytes && timeline->stepSeconds() == pick.seconds)
    return success();
  return fail("'" + options.configFile + "' gives a plan of " +
              formatBytes(bytes) + " and " +
              formatSeconds(timeline->stepSeconds()) + ", not the pick's " +
              formatBytes(pick.bytes) + " and " + formatSeconds(pick.seconds));
}

/// The trace and the picture of the pick.
static LogicalResult drawPick(ModuleOp model, const SearchOptions &options,
                              const PlannedPoint &pick,
                              const Machine &machine) {
  if (options.drawings.trace.empty() && options.drawings.picture.empty())
    return success();
  FailureOr<OwningOpRef<ModuleOp>> planned = planModel(model, pick.config);
  if (failed(planned))
    return failure();
  FailureOr<Timeline> timeline = simulate(planned->get(), machine);
  if (failed(timeline))
    return failure();
  return writeDrawings(options.drawings, planned->get(), *timeline, machine);
}

/// The smallest plan, with what is alive where it is fullest.
static LogicalResult reportNoFit(ModelFile &model, const SearchOptions &options,
                                 const PlannedPoint &smallest, int64_t budget) {
  auto planned = planModel(model.get(), smallest.config);
  if (failed(planned))
    return failure();
  if (options.jsonFile != "-") {
    llvm::outs() << "\nthe smallest plan:\n";
    printReport(summarizePlan(planned->get()), model.getPath(), options.lines);
    llvm::outs().flush();
  }
  return fail("no plan fits into " + formatBytes(budget) +
              " a rank; the smallest that was found needs " +
              formatBytes(smallest.bytes) +
              ": give more ranks, a smaller micro-batch or more memory");
}

LogicalResult mlir::zero::runSearch(ModelFile &model,
                                    const SearchOptions &options) {
  if (!model.isModel())
    return fail("'" + model.getPath() +
                "' is a schedule, of which nothing is open; --search wants a "
                "model");
  FailureOr<TrainConfig> base = model.resolve(options.plan);
  if (failed(base))
    return failure();
  FailureOr<Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  SearchRequest request;
  request.base = *base;
  request.machine = *machine;
  request.budget = base->memoryBudget;
  FailureOr<SearchResult> result = searchPlans(model.get(), request);
  if (failed(result))
    return failure();
  if (options.jsonFile != "-")
    printSearch(*result, *base, *machine, model.getPath());
  if (!options.jsonFile.empty() &&
      failed(writeFile(options.jsonFile, [&](raw_ostream &os) {
        writeSearch(os, *result, *base, *machine);
      })))
    return failure();
  if (!result->pick)
    return reportNoFit(model, options, result->front.front(),
                       base->memoryBudget);
  if (failed(drawPick(model.get(), options, *result->pick, *machine)))
    return failure();
  if (options.configFile.empty())
    return success();
  return writePick(model, options, *result->pick);
}
