//===- Search.cpp - the fastest plan in a memory budget -------------------===//

#include "CommandLine.h"
#include "HuggingFace.h"
#include "Progress.h"
#include "Remedies.h"
#include "SearchMeshes.h"
#include "SearchReport.h"
#include "Table.h"

#include "zero/Search/PlanSearch.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace mlir::zero;

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
  if (smallest.workspaceBytes)
    counted += ", beside " + formatBytes(smallest.workspaceBytes) +
               " for the kernels' workspace";
  return fail("no plan fits into " + describe(budgets.device, budgets.host) +
              " a rank; the smallest that was found needs " +
              describe(smallest.bytes, smallest.hostBytes) + counted);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Searches for one model, which is moved to the result; where that fails it
/// stays where it is.
static FailureOr<Searched> search(std::unique_ptr<ModelFile> &model,
                                  const SearchOptions &options,
                                  Machine &machine) {
  if (!model->isModel())
    return fail("'" + model->getPath() +
                "' is a schedule, of which nothing is open; search wants a "
                "model");
  FailureOr<ResolvedSearch> resolved = resolveSearch(*model, options);
  if (failed(resolved))
    return failure();
  FailureOr<Machine> read = model->readMachine();
  if (failed(read))
    return failure();
  machine = *read;
  const MemoryBudgets budgets = budgetsOf(resolved->base, machine);
  const Progress progress(model->getPath().str());
  SearchRequest request;
  request.bases = resolved->stages;
  request.machine = machine;
  request.budgets = budgets;
  request.offload = resolved->offload;
  request.onPlan = [&](int64_t plans) { progress.show(plans); };
  FailureOr<SearchResult> result = searchPlans(model->get(), request);
  if (failed(result))
    return failure();
  return Searched{std::move(model), std::move(*resolved), budgets,
                  std::move(*result)};
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
  auto imports = startImports();
  if (failed(imports))
    return failure();
  (*imports)->ask(1);
  for (int64_t samples = 1; samples <= most; samples *= 2) {
    FailureOr<std::string> path = (*imports)->take();
    if (failed(path))
      return failure();
    if (samples < most)
      (*imports)->ask(2 * samples);
    auto model = std::make_unique<ModelFile>();
    if (failed(model->read(*path)))
      return failure();
    // What does not divide the samples of an update is none to try.
    ScopedDiagnosticHandler quiet(
        model->get().getContext(),
        [&](Diagnostic &diagnostic) { return success(samples > 1); });
    FailureOr<Searched> next = search(model, options, machine);
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
    FailureOr<Searched> next = search(model, options, machine);
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
