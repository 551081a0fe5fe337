//===- PlanSearch.cpp - the fastest plan in a memory budget ---------------===//

#include "zero/Search/PlanSearch.h"

#include "StageSearch.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Cost/Timeline.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Transforms/Pipeline.h"

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
  std::vector<int64_t> getStages() const;
  LogicalResult refineSizes(MutableArrayRef<StageSearch> searches);
  void summarize();

  ModuleOp model;
  const SearchRequest &request;
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

FailureOr<PlannedPoint> PlanSearch::planOne(const TrainConfig &config) {
  auto planned = planModel(model, config);
  if (failed(planned))
    return failure();
  auto timeline = simulate(planned->get(), request.machine);
  if (failed(timeline))
    return failure();
  PlannedPoint point;
  point.config = config;
  point.bytes = summarizePlan(planned->get()).totalBytes();
  point.seconds = timeline->stepSeconds();
  ++result.planned;
  points.push_back(point);
  return point;
}

FailureOr<ModelFacts> PlanSearch::findFacts() {
  TrainConfig config = request.base;
  config.checkpoint = {};
  auto oneDevice = runOnCopy(model, [&](OpPassManager &passes) {
    buildModelPipeline(passes, config);
  });
  if (failed(oneDevice))
    return failure();
  ModelFacts facts;
  for (ParameterOp parameter : model.getOps<ParameterOp>())
    if (!parameter.getFrozen()) {
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

/// What outlives a step takes at least on the device, in bytes of a rank.
static int64_t leastStateBytes(MLIRContext *context, const TrainConfig &config,
                               int64_t trained) {
  Type f32 = Float32Type::get(context), compute = f32;
  if (config.precision != Precision::F32)
    compute = config.precision == Precision::BF16
                  ? Type(BFloat16Type::get(context))
                  : Type(Float16Type::get(context));
  int64_t parameter = elementBytes(compute);
  int64_t gradient = config.accumulation > 1 ? 4 : parameter;
  Attribute rule =
      makeOptimizer(context, config.optimizer.type, [&](StringRef name) {
        return config.optimizer.getSetting(name);
      });
  int64_t optimizer = 0;
  for (const OptimizerState &state :
       PartitionOp::describeStates(compute, config.splitMaster, rule))
    if (auto tier = config.stateTiers.find(state.name.str());
        tier == config.stateTiers.end() || tier->second == "device")
      optimizer += elementBytes(state.type);
  auto share = [&](int64_t bytes, int64_t fromStage) {
    return bytes * trained / (config.stage >= fromStage ? config.slices() : 1);
  };
  return share(parameter, 3) + share(gradient, 2) + share(optimizer, 1);
}

std::vector<int64_t> PlanSearch::getStages() const {
  // On one rank there is nothing to slice.
  bool isFixed = llvm::is_contained(request.base.given,
                                    std::string("zero_optimization.stage"));
  if (isFixed || request.base.ranks == 1)
    return {request.base.stage};
  return {0, 1, 2, 3};
}

/// The front and the pick.
void PlanSearch::summarize() {
  llvm::stable_sort(points, [](const PlannedPoint &a, const PlannedPoint &b) {
    return std::tie(a.bytes, a.seconds) < std::tie(b.bytes, b.seconds);
  });
  for (const PlannedPoint &point : points) {
    if (!result.front.empty() && point.seconds >= result.front.back().seconds)
      continue;
    result.front.push_back(point);
    if (request.budget == 0 || point.bytes <= request.budget)
      result.pick = point;
  }
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
  auto plan = [&](const TrainConfig &config) { return planOne(config); };
  std::vector<StageSearch> searches;
  for (int64_t stage : getStages()) {
    TrainConfig base = request.base;
    base.stage = stage;
    base.memoryBudget = 0;
    if (request.budget &&
        leastStateBytes(model.getContext(), base, facts->trained) >
            request.budget &&
        (stage < 3 && getStages().size() > 1)) {
      result.excludedStages.push_back(stage);
      continue;
    }
    searches.emplace_back(base, makeDimensions(base, stage, *facts),
                          request.budget, plan);
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
