//===- PlanSearch.cpp - the fastest plan in a memory budget ---------------===//

#include "zero/Search/PlanSearch.h"

#include "PlanMaker.h"
#include "StageSearch.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Conversion/Translate.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Pipeline.h"

#include "program/Mesh.h"

#include "mlir/AsmParser/AsmParser.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

namespace {

class PlanSearch {
public:
  PlanSearch(ModuleOp model, const SearchRequest &request)
      : model(model), request(request), maker(model, request.machine) {}

  FailureOr<SearchResult> run();

private:
  FailureOr<ModelFacts> findFacts();
  FailureOr<std::vector<PlannedPoint>> planAll(ArrayRef<TrainConfig> configs);
  int64_t leastStateBytes(const TrainConfig &config,
                          const ModelFacts &facts) const;
  OffloadSpace getOffloadSpace(const TrainConfig &config) const;
  LogicalResult improve(MutableArrayRef<StageSearch> stages);
  void summarize();

  ModuleOp model;
  const SearchRequest &request;
  /// Those of the request, where some states are large enough.
  std::optional<FilesConfig> files;
  PlanMaker maker;
  SearchResult result;
  std::vector<PlannedPoint> points;
};

} // namespace

FailureOr<std::vector<PlannedPoint>>
PlanSearch::planAll(ArrayRef<TrainConfig> configs) {
  auto planned = maker.planAll(configs);
  if (failed(planned))
    return failure();
  for (PlannedPoint &point : *planned) {
    if (files && request.budgets.host == 0)
      point.countedBytes += point.hostStateBytes;
    result.countsHost |= point.countedBytes > point.bytes;
  }
  result.planned += static_cast<int64_t>(planned->size());
  if (request.onPlan)
    request.onPlan(result.planned);
  llvm::append_range(points, *planned);
  return planned;
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

/// Adds what a stage has; of a pipeline that with most counts.
static void addStage(ModuleOp stage, ModelFacts &facts) {
  int64_t trained = 0;
  // As the passes have padded them.
  for (ParameterOp parameter : stage.getOps<ParameterOp>())
    if (parameter.isTrained()) {
      trained += parameter.getElements();
      facts.sizes.push_back(parameter.getElements());
    }
  facts.trained = std::max(facts.trained, trained);
  StepOp step = *stage.getOps<StepOp>().begin();
  Block &micro = step.getRegionOp<MicroOp>().getBody().front();
  const auto layers = static_cast<int64_t>(findActivationLayers(micro).size());
  facts.layers = std::max(facts.layers, layers);
  facts.allLayers += layers;
}

FailureOr<ModelFacts> PlanSearch::findFacts() {
  TrainConfig config = request.bases.front();
  config.checkpoint = {};
  // Layers are counted as a recomputation finds them, with norms that stand
  // apart.
  config.fuseAdditions = false;
  auto oneDevice = runPasses(model.clone(), [&](OpPassManager &passes) {
    buildOperationsPipeline(passes, config);
  });
  if (failed(oneDevice))
    return failure();
  ModelFacts facts;
  countOptimizerBytes(model.getContext(), config, facts);
  for (ModuleOp stage : listStages(oneDevice->get()))
    addStage(stage, facts);
  llvm::sort(facts.sizes);
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
  if (base.hasAxis(zrt::kPipeAxis))
    return {0, 1};
  if (base.ranks > 1)
    return {0, 1, 2, 3};
  // On one rank there is nothing to slice, but something to offload.
  if (base.stage == 0 && mayOffload && canChooseOffload(base, /*stage=*/1))
    return {0, 1};
  return {base.stage};
}

//===----------------------------------------------------------------------===//
// What was found
//===----------------------------------------------------------------------===//

/// The smallest of those that fit and are as fast as any.
static std::optional<PlannedPoint> choosePick(ArrayRef<PlannedPoint> points,
                                              const MemoryBudgets &budgets) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const PlannedPoint &point : points)
    if (budgets.hold(point))
      fastest = std::min(fastest, point.seconds);
  std::optional<PlannedPoint> pick;
  for (const PlannedPoint &point : points)
    if (budgets.hold(point) && point.seconds <= fastest * (1 + kSameTime) &&
        (!pick || std::tie(point.countedBytes, point.seconds) <
                      std::tie(pick->countedBytes, pick->seconds)))
      pick = point;
  return pick;
}

/// Of points in the order of their time, those that need less memory than all
/// faster ones and differ in time from the one before by the part `apart`; of
/// those that do not differ, the smallest.
static std::vector<PlannedPoint> thin(ArrayRef<PlannedPoint> points,
                                      double apart) {
  std::vector<PlannedPoint> kept;
  double first = 0;
  for (const PlannedPoint &point : points) {
    if (!kept.empty() && point.countedBytes >= kept.back().countedBytes)
      continue;
    if (!kept.empty() && point.seconds <= first * (1 + apart)) {
      kept.back() = point;
      continue;
    }
    if (!kept.empty() && point.seconds <= kept.back().seconds * (1 + apart))
      continue;
    first = point.seconds;
    kept.push_back(point);
  }
  return kept;
}

/// Makes the front of what is faster than the pick and above the budget, the
/// pick, and what is smaller, of which fewer are shown the more there are.
void PlanSearch::summarize() {
  llvm::erase_if(points, [&](const PlannedPoint &point) {
    return !request.budgets.holdHost(point);
  });
  llvm::stable_sort(points, [](const PlannedPoint &a, const PlannedPoint &b) {
    return std::tie(a.seconds, a.countedBytes) <
           std::tie(b.seconds, b.countedBytes);
  });
  result.pick = choosePick(points, request.budgets);
  std::vector<PlannedPoint> larger, smaller;
  for (const PlannedPoint &point : points)
    if (!result.pick)
      smaller.push_back(point);
    else if (point.seconds * (1 + kSameTime) < result.pick->seconds)
      larger.push_back(point);
    else if (point.countedBytes < result.pick->countedBytes &&
             point.seconds > result.pick->seconds * (1 + kSameTime))
      smaller.push_back(point);
  for (double apart = kSameTime;; apart *= 2) {
    result.front = thin(larger, apart);
    if (result.pick)
      result.front.push_back(*result.pick);
    llvm::append_range(result.front, thin(smaller, apart));
    if (result.front.size() <= kMostPlans)
      break;
  }
  std::reverse(result.front.begin(), result.front.end());
}

/// Whether a plan of the stage may yet be faster than the best by as much as
/// predictions tell, or as fast and smaller.
static bool canWin(const StageSearch &stage, const PlannedPoint &best,
                   const MemoryBudgets &budgets) {
  if (!stage.fitsAny())
    return false;
  if (!budgets.hold(best))
    return true;
  const bool isSmaller = stage.getBest().countedBytes < best.countedBytes;
  return stage.getBound() <
         best.seconds * (1 + (isSmaller ? kSameTime : -kSameTime));
}

/// The stage with the best plan.
static StageSearch &findBest(MutableArrayRef<StageSearch> stages) {
  return *std::min_element(
      stages.begin(), stages.end(),
      [](const StageSearch &a, const StageSearch &b) {
        return std::make_tuple(!a.fitsAny(), a.getBest().seconds) <
               std::make_tuple(!b.fitsAny(), b.getBest().seconds);
      });
}

LogicalResult PlanSearch::improve(MutableArrayRef<StageSearch> stages) {
  // Those that need least memory come first, so that others have to be faster.
  for (StageSearch &stage : llvm::reverse(stages))
    if (canWin(stage, findBest(stages).getBest(), request.budgets) &&
        failed(stage.climb()))
      return failure();
  const double fastest = findBest(stages).getBest().seconds;
  for (StageSearch &stage : stages) {
    // Where nothing fits, what is smallest is all that counts.
    if (!stage.fitsAny() && &stage == &stages.back() && failed(stage.refine()))
      return failure();
    if (!stage.fitsAny() || stage.getBest().seconds > fastest * (1 + kSameTime))
      continue;
    if (failed(stage.refine()) ||
        failed(stage.shrink(fastest * (1 + kSameTime))))
      return failure();
  }
  return findBest(stages).tryRecomputation();
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
  auto plan = [&](ArrayRef<TrainConfig> configs) { return planAll(configs); };
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
    if (failed(searches.back().begin()))
      return failure();
  }
  if (failed(improve(searches)))
    return failure();
  PlannedPoint least =
      *std::min_element(points.begin(), points.end(),
                        [](const PlannedPoint &a, const PlannedPoint &b) {
                          return std::tie(a.hostBytes, a.countedBytes) <
                                 std::tie(b.hostBytes, b.countedBytes);
                        });
  summarize();
  if (result.front.empty()) // The host has no room for what is fixed.
    result.front.push_back(std::move(least));
  return std::move(result);
}

FailureOr<SearchResult> mlir::zero::searchPlans(ModuleOp model,
                                                const SearchRequest &request) {
  return PlanSearch(model, request).run();
}
