//===- PlanMaker.cpp - the plans of a search, made and measured -----------===//

#include "PlanMaker.h"

#include "zero/Conversion/Translate.h"
#include "zero/Cost/CostModel.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Timeline/StagesTimeline.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;

FailureOr<OwningOpRef<ModuleOp>>
mlir::zero::runPasses(OwningOpRef<ModuleOp> module,
                      function_ref<void(OpPassManager &)> addPasses) {
  MLIRContext *context = module->getContext();
  PassManager passes(context, ModuleOp::getOperationName());
  // A search makes many plans of one model; what it picks is verified.
  passes.enableVerifier(false);
  addPasses(passes);
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  if (failed(passes.run(*module)))
    return failure();
  return std::move(module);
}

FailureOr<OwningOpRef<ModuleOp>>
mlir::zero::planModel(ModuleOp model, const TrainConfig &config) {
  return runPasses(model.clone(), [&](OpPassManager &passes) {
    buildZeroPipeline(passes, config);
  });
}

/// The most bytes of any stage of a pipeline, and the time of all.
static FailureOr<PlannedPoint> measureStages(ModuleOp planned,
                                             const TrainConfig &config,
                                             const Machine &machine) {
  auto programs = translateStages(planned);
  if (failed(programs))
    return failure();
  PlannedPoint point;
  point.config = config;
  for (ModuleOp stage : listStages(planned)) {
    PlanSummary summary = summarizePlan(stage);
    point.bytes = std::max(point.bytes, summary.totalBytes());
    point.hostBytes =
        std::max(point.hostBytes, summary.totalBytes(MemoryTier::Host));
  }
  point.countedBytes = point.bytes;
  for (const zrt::Program &program : *programs)
    point.workspaceBytes =
        std::max(point.workspaceBytes, workspaceOn(machine, program));
  StagesTimeline timeline = simulateStages(*programs, machine);
  point.seconds = timeline.seconds;
  point.exposed = timeline.bubble() * timeline.passSeconds;
  return point;
}

FailureOr<PlannedPoint> mlir::zero::measurePlan(ModuleOp planned,
                                                const TrainConfig &config,
                                                const Machine &machine) {
  if (isCutIntoStages(planned))
    return measureStages(planned, config, machine);
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
  point.workspaceBytes = workspaceOn(machine, *timeline->program);
  point.seconds = timeline->stepSeconds();
  point.exposed = timeline->exposed;
  return point;
}

/// What decides which kernels a rank has, beside what all plans have.
static std::string describeKernels(const TrainConfig &config) {
  std::string text = printMesh(config.mesh) + " " +
                     nameOf(config.pipelineOrder) + " " +
                     std::to_string(config.pipelineChunks);
  llvm::raw_string_ostream os(text);
  for (ArrayRef<std::string> names :
       {ArrayRef(config.shardAxes), ArrayRef(config.secondaryAxes)})
    os << " by " << llvm::join(names, ",");
  const CheckpointConfig &again = config.checkpoint;
  os << " again " << again.every << " " << again.number << " "
     << static_cast<int>(again.policy) << " " << again.offload;
  for (int64_t layer : again.layers)
    os << " " << layer;
  return text;
}

/// Makes what is missing of what ranks compute.
LogicalResult PlanMaker::makeKernels(ArrayRef<TrainConfig> configs) {
  std::vector<std::pair<const TrainConfig *, OwningOpRef<ModuleOp> *>> missing;
  for (const TrainConfig &config : configs)
    if (auto [made, isNew] = kernels.try_emplace(describeKernels(config));
        isNew)
      missing.emplace_back(&config, &made->second);
  return failableParallelForEach(
      model.getContext(), missing, [&](const auto &each) -> LogicalResult {
        auto computed = runPasses(model.clone(), [&](OpPassManager &passes) {
          buildModelPipeline(passes, *each.first);
        });
        if (failed(computed))
          return failure();
        *each.second = std::move(*computed);
        return success();
      });
}

FailureOr<PlannedPoint> PlanMaker::schedule(const TrainConfig &config) const {
  OwningOpRef<ModuleOp> module =
      kernels.at(describeKernels(config)).get().clone();
  for (ModuleOp stage : listStages(*module))
    setTraining(stage, config);
  auto planned = runPasses(std::move(module), [&](OpPassManager &passes) {
    buildSchedulePipeline(passes, config, /*proves=*/false);
  });
  if (failed(planned))
    return failure();
  return measurePlan(planned->get(), config, machine);
}

FailureOr<std::vector<PlannedPoint>>
PlanMaker::planAll(ArrayRef<TrainConfig> configs) {
  if (failed(makeKernels(configs))) {
    clear();
    return failure();
  }
  std::vector<PlannedPoint> points(configs.size());
  if (failed(failableParallelForEachN(model.getContext(), 0, configs.size(),
                                      [&](size_t i) -> LogicalResult {
                                        auto point = schedule(configs[i]);
                                        if (failed(point))
                                          return failure();
                                        points[i] = std::move(*point);
                                        return success();
                                      })))
    return failure();
  return points;
}

FailureOr<PlannedPoint> PlanMaker::plan(const TrainConfig &config) {
  auto points = planAll(config);
  if (failed(points))
    return failure();
  return std::move(points->front());
}
