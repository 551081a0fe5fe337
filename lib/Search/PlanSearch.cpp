//===- PlanSearch.cpp - the fastest plan in a memory budget ---------------===//

#include "zero/Search/PlanSearch.h"

#include "StageSearch.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Timeline/Timeline.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::zero;

namespace {

class PlanSearch {
public:
  PlanSearch(ModuleOp model, const SearchRequest &request)
      : model(model), request(request) {}

  FailureOr<SearchResult> run();

private:
  FailureOr<ModelFacts> findFacts();
  FailureOr<PlannedPoint> planOne(const TrainConfig &config);
  int64_t leastStateBytes(const TrainConfig &config,
                          const ModelFacts &facts) const;
  OffloadSpace getOffloadSpace(const TrainConfig &config) const;
  LogicalResult refineSizes(MutableArrayRef<StageSearch> searches);
  void summarize();

  ModuleOp model;
  const SearchRequest &request;
  /// Those of the request, where some states are large enough.
  std::optional<FilesConfig> files;
  SearchResult result;
  std::vector<PlannedPoint> points;
};

} // namespace

/// Runs `passes` on a copy of the module without its remarks.
static FailureOr<OwningOpRef<ModuleOp>>
runOnCopy(ModuleOp model, function_ref<void(OpPassManager &)> addPasses) {
  OwningOpRef<ModuleOp> copy = model.clone();
  PassManager passes(model.getContext(), ModuleOp::getOperationName());
  addPasses(passes);
  ScopedDiagnosticHandler quiet(model.getContext(), [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  if (failed(passes.run(*copy)))
    return failure();
  return copy;
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::zero::planModel(ModuleOp model, const TrainConfig &config) {
  return runOnCopy(
      model, [&](OpPassManager &passes) { buildZeroPipeline(passes, config); });
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::zero::makeKernels(ModuleOp model, const TrainConfig &config) {
  return runOnCopy(model, [&](OpPassManager &passes) {
    buildModelPipeline(passes, config);
  });
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::zero::planKernels(ModuleOp kernels, const TrainConfig &config) {
  setTraining(kernels, config);
  return runOnCopy(kernels, [&](OpPassManager &passes) {
    buildSchedulePipeline(passes, config);
  });
}

FailureOr<PlannedPoint> mlir::zero::measurePlan(ModuleOp planned,
                                                const TrainConfig &config,
                                                const Machine &machine) {
  auto timeline = simulate(planned, machine);
  if (failed(timeline))
    return failure();
  PlannedPoint point;
  point.config = config;
  PlanSummary summary = summarizePlan(planned);
  point.bytes = summary.totalBytes();
  point.hostBytes = summary.totalBytes(MemoryTier::Host);
  point.fileBytes = summary.totalBytes(MemoryTier::File);
  point.hostStateBytes =
      summary.arena({ArenaKind::Optimizer, MemoryTier::Host}).bytes;
  point.countedBytes = point.bytes;
  point.seconds = timeline->stepSeconds();
  point.exposed = timeline->exposed;
  return point;
}

FailureOr<PlannedPoint> PlanSearch::planOne(const TrainConfig &config) {
  auto planned = planModel(model, config);
  if (failed(planned))
    return failure();
  auto point = measurePlan(planned->get(), config, request.machine);
  if (failed(point))
    return failure();
  if (files && request.budgets.host == 0)
    point->countedBytes += point->hostStateBytes;
  result.countsHost |= point->countedBytes > point->bytes;
  ++result.planned;
  points.push_back(*point);
  return point;
}

static Type getComputeType(MLIRContext *context, const TrainConfig &config) {
  return parseType(zrt::nameOf(config.precision), context);
}

/// Counts bytes an element of the optimizer states that no tier is said for.
static void countOptimizerBytes(MLIRContext *context, const TrainConfig &config,
                                ModelFacts &facts) {
  Attribute rule =
      makeOptimizer(context, config.optimizer.type, [&](StringRef name) {
        return config.optimizer.getSetting(name);
      });
  for (const OptimizerState &state : PartitionOp::describeStates(
           getComputeType(context, config), config.splitMaster, rule))
    if (auto tier = config.stateTiers.find(state.name.str());
        tier == config.stateTiers.end() || tier->second == "device") {
      int64_t bytes = elementBytes(state.type);
      facts.optimizerBytes += bytes;
      facts.largestStateBytes = std::max(facts.largestStateBytes, bytes);
    }
}

FailureOr<ModelFacts> PlanSearch::findFacts() {
  TrainConfig config = request.bases.front();
  config.checkpoint = {};
  // Layers are counted as a recomputation finds them, with norms that stand
  // apart.
  config.fuseAdditions = false;
  auto oneDevice = runOnCopy(model, [&](OpPassManager &passes) {
    buildOperationsPipeline(passes, config);
  });
  if (failed(oneDevice))
    return failure();
  ModelFacts facts;
  countOptimizerBytes(model.getContext(), config, facts);
  // As the passes have padded them.
  for (ParameterOp parameter : oneDevice->get().getOps<ParameterOp>())
    if (!parameter.getFrozen() && !parameter.getAverage()) {
      facts.trained += parameter.getElements();
      facts.sizes.push_back(parameter.getElements());
    }
  facts.runs.assign(facts.sizes.rbegin(), facts.sizes.rend());
  std::partial_sum(facts.runs.begin(), facts.runs.end(), facts.runs.begin());
  llvm::sort(facts.sizes);
  StepOp step = *oneDevice->get().getOps<StepOp>().begin();
  Block &micro = step.getRegionOp<MicroOp>().getBody().front();
  facts.layers = findActivationLayers(micro).size();
  return facts;
}

OffloadSpace PlanSearch::getOffloadSpace(const TrainConfig &config) const {
  OffloadSpace space;
  space.usesHost = request.budgets.host > 0;
  if (!canChooseOffload(config, config.stage))
    return space;
  space.stateBytes = request.budgets.host;
  space.files = files;
  space.subGroupSize = request.offload.subGroupSize;
  return space;
}

/// What outlives a step takes at least on the device, in bytes of a rank.
int64_t PlanSearch::leastStateBytes(const TrainConfig &config,
                                    const ModelFacts &facts) const {
  MLIRContext *context = ModuleOp(model).getContext();
  int64_t parameter = elementBytes(getComputeType(context, config));
  int64_t gradient = config.accumulation > 1 ? 4 : parameter;
  auto share = [&](int64_t bytes, int64_t fromStage) {
    return bytes * facts.trained /
           (config.stage >= fromStage ? config.slices() : 1);
  };
  OffloadSpace space = getOffloadSpace(config);
  int64_t optimizer = share(facts.optimizerBytes, 1);
  int64_t parameters = share(parameter, 3);
  // Its last segment may hold all of the rest.
  if (config.offloadOptimizer || space.files)
    optimizer = 0;
  else
    optimizer -= std::min(optimizer, space.stateBytes);
  if (config.stage == 3 && space.usesHost && space.takesStates())
    parameters = 0;
  return parameters + share(gradient, 2) + optimizer;
}

std::vector<int64_t> mlir::zero::getOpenStages(const TrainConfig &base,
                                               bool mayOffload) {
  if (llvm::is_contained(base.given, std::string("zero_optimization.stage")))
    return {base.stage};
  if (base.ranks > 1)
    return {0, 1, 2, 3};
  // On one rank there is nothing to slice, but something to offload.
  if (base.stage == 0 && mayOffload && canChooseOffload(base, /*stage=*/1))
    return {0, 1};
  return {base.stage};
}

/// The front and the pick.
void PlanSearch::summarize() {
  llvm::stable_sort(points, [](const PlannedPoint &a, const PlannedPoint &b) {
    return std::tie(a.countedBytes, a.seconds) <
           std::tie(b.countedBytes, b.seconds);
  });
  for (const PlannedPoint &point : points) {
    if (!request.budgets.holdHost(point) ||
        (!result.front.empty() && point.seconds >= result.front.back().seconds))
      continue;
    result.front.push_back(point);
    if (request.budgets.hold(point))
      result.pick = point;
  }
  if (result.front.empty()) // The host has no room for what is fixed.
    result.front.push_back(
        *std::min_element(points.begin(), points.end(),
                          [](const PlannedPoint &a, const PlannedPoint &b) {
                            return a.hostBytes < b.hostBytes;
                          }));
}

/// Sizes between those of the ladder, in the stages that can still win by them.
LogicalResult PlanSearch::refineSizes(MutableArrayRef<StageSearch> searches) {
  constexpr double margin = 1.02;
  double fastest = std::numeric_limits<double>::infinity();
  for (const StageSearch &search : searches)
    if (search.fitsAny())
      fastest = std::min(fastest, search.getBest().seconds);
  for (StageSearch &search : searches)
    if (search.fitsAny() && search.getBest().seconds <= margin * fastest &&
        failed(search.refineSizes()))
      return failure();
  return success();
}

FailureOr<SearchResult> PlanSearch::run() {
  FailureOr<ModelFacts> facts = findFacts();
  if (failed(facts))
    return failure();
  if (request.offload.files)
    result.whyNotInFiles =
        describeNoFiles(*request.offload.files, request.bases.back(), *facts);
  if (result.whyNotInFiles.empty())
    files = request.offload.files;
  auto plan = [&](const TrainConfig &config) { return planOne(config); };
  std::vector<StageSearch> searches;
  for (TrainConfig base : request.bases) {
    base.memoryBudget = base.hostMemoryBudget = 0;
    if (request.budgets.device &&
        leastStateBytes(base, *facts) > request.budgets.device &&
        base.stage != request.bases.back().stage) {
      result.excludedStages.push_back(base.stage);
      continue;
    }
    searches.emplace_back(base,
                          makeDimensions(base, *facts, getOffloadSpace(base)),
                          request.budgets, plan);
    if (failed(searches.back().run()))
      return failure();
  }
  if (failed(refineSizes(searches)))
    return failure();
  summarize();
  return std::move(result);
}

FailureOr<SearchResult> mlir::zero::searchPlans(ModuleOp model,
                                                const SearchRequest &request) {
  return PlanSearch(model, request).run();
}
