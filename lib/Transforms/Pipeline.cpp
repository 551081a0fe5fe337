//===- Pipeline.cpp - from a model to a planned schedule ------------------===//

#include "zero/Transforms/Pipeline.h"

#include "zero/Transforms/Passes.h"

#include "program/Mesh.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::zero;

static std::unique_ptr<Pass>
makeCheckpointPass(const CheckpointConfig &config) {
  CheckpointActivationsOptions checkpoint;
  checkpoint.every = std::max<int64_t>(config.every, 1);
  checkpoint.number = config.number;
  checkpoint.layers.assign(config.layers.begin(), config.layers.end());
  checkpoint.policy = stringify(config.policy).str();
  checkpoint.offload = config.offload;
  return createCheckpointActivations(checkpoint);
}

/// The passes on a whole model.
static void addModelPasses(OpPassManager &manager, const TrainConfig &config) {
  manager.addPass(createConfigurePass(config));
  manager.addPass(createRewriteTensorOps());
  if (config.expertCapacityFactor > 0) {
    LimitExpertsOptions limits;
    limits.factor = config.expertCapacityFactor;
    limits.least = config.expertMinCapacity;
    if (config.expertDropPolicy)
      limits.policy = nameOf(*config.expertDropPolicy);
    limits.renormalize = config.expertRenormalize;
    manager.addPass(createLimitExperts(limits));
  }
  manager.addPass(createPadVocabulary({config.vocabularyMultiple}));
  manager.addPass(createWeighMicroBatches(
      {config.lossMean ? stringify(*config.lossMean).str() : ""}));
  manager.addPass(createShardModel({config.cutRows}));
  manager.addPass(createVerifyValues({/*isInternal=*/true}));
  if (config.fuseMoves)
    manager.addPass(createJoinRotary());
  SetPrecisionOptions precision;
  precision.compute = nameOf(config.precision);
  manager.addPass(createSetPrecision(precision));
}

static bool isCutIntoStages(const TrainConfig &config) {
  return config.hasAxis(zrt::kPipeAxis);
}

/// The passes on the model of one stage, which is all of it where nothing cuts
/// it into stages. `hasChunks`: it has several groups of layers.
static void addOperationPasses(OpPassManager &manager,
                               const TrainConfig &config, bool hasChunks) {
  DifferentiateOptions differentiate;
  differentiate.ignoreUnusedParameters = config.ignoreUnusedParameters;
  manager.addPass(createDifferentiate(differentiate));
  if (config.widensGradients())
    manager.addPass(createWidenGradients());
  if (config.givenGradients)
    manager.addPass(
        createTakeGradients({stringify(*config.givenGradients).str()}));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (hasChunks)
    manager.addPass(createSeparateChunks());
  if (config.fuseCrossEntropy)
    manager.addPass(createFuseCrossEntropy({config.crossEntropyChunkBytes}));
  if (config.fuseEpilogues) {
    FuseEpiloguesOptions fuse;
    // A cheap recomputation has gelu, and not the product.
    fuse.gradientsOnly = config.checkpoint.isEnabled() &&
                         config.checkpoint.policy == RecomputePolicy::Cheap;
    manager.addPass(createFuseEpilogues(fuse));
  }
  // In f32 a model that asks for 16 bits wants the rounding.
  manager.addPass(
      createOutlineElementwise({config.precision == zrt::DataType::F32}));
  if (config.fuseMoves)
    manager.addPass(createFuseMoves());
  // Gradients that come from outside need no forward pass.
  if (config.checkpoint.isEnabled() &&
      config.givenGradients != GivenGradientKind::Instead)
    manager.addPass(makeCheckpointPass(config.checkpoint));
  if (config.fuseAdditions)
    manager.addPass(createFuseAdditions({config.fuseEpilogues}));
}

/// Where the passes go that run on each stage by itself.
static OpPassManager &stagesOf(OpPassManager &manager,
                               const TrainConfig &config) {
  return isCutIntoStages(config) ? manager.nest<ModuleOp>() : manager;
}

void mlir::zero::buildOperationsPipeline(OpPassManager &manager,
                                         const TrainConfig &config) {
  addModelPasses(manager, config);
  manager.addPass(createCutPipelinePass(config));
  addOperationPasses(stagesOf(manager, config), config,
                     isCutIntoStages(config) && config.countChunks() > 1);
}

void mlir::zero::buildKernelsPipeline(OpPassManager &manager,
                                      const TrainConfig &config) {
  addOperationPasses(manager, config, /*hasChunks=*/true);
}

static void addExchangePasses(OpPassManager &manager,
                              const TrainConfig &config) {
  if (config.cutRows)
    manager.addPass(createGatherAgain());
  manager.addPass(createVerifyValues({/*isInternal=*/true}));
  manager.addPass(createStartExchanges());
  manager.addPass(createOverlapExchanges());
}

void mlir::zero::buildModelPipeline(OpPassManager &manager,
                                    const TrainConfig &config) {
  buildOperationsPipeline(manager, config);
  addExchangePasses(stagesOf(manager, config), config);
}

static void addOverlapPasses(OpPassManager &manager) {
  manager.addPass(createPeelLastMicro());
  manager.addPass(createReduceEarly());
  manager.addPass(createOverlapReductions());
  manager.addPass(createSplitStatistics());
  manager.addPass(createOverlapGathers());
}

static void addStatePasses(OpPassManager &manager, const TrainConfig &config) {
  manager.addPass(createSplitGradients());
  manager.addPass(createPartition());
  manager.addPass(createInsertReductions());
  manager.addPass(createInsertGathers());
  manager.addPass(createInsertUpdates());
  // Gradients are complete after the last backward pass of a pipeline.
  if (config.overlapCommunication && !isCutIntoStages(config))
    addOverlapPasses(manager);
  if (config.offloadOptimizer)
    manager.addPass(createOverlapUpdates());
  if (config.offloadOptimizer && config.overlapCommunication)
    manager.addPass(createCopyEarly());
  manager.addPass(createJoinGathers());
  manager.addPass(createPrefetch());
  if (config.offloadOptimizer && config.offloadOptimizer->parameters)
    manager.addPass(createUploadParameters());
  manager.addPass(createSplitForward());
}

void mlir::zero::buildZeroPipeline(OpPassManager &manager,
                                   const TrainConfig &config) {
  buildModelPipeline(manager, config);
  buildSchedulePipeline(manager, config);
}

static void addSchedulePasses(OpPassManager &manager, const TrainConfig &config,
                              bool proves) {
  addStatePasses(manager, config);
  manager.addPass(createFree());
  VerifyScheduleOptions proof;
  proof.isInternal = true;
  if (proves)
    manager.addPass(createVerifySchedule(proof));
  PlanMemoryOptions plan;
  if (config.memoryBudget)
    plan.memoryBudget = std::to_string(config.memoryBudget);
  if (config.hostMemoryBudget)
    plan.hostMemoryBudget = std::to_string(config.hostMemoryBudget);
  manager.addPass(createPlanMemory(plan));
  if (proves)
    manager.addPass(createVerifySchedule(proof));
  manager.addPass(createCheckPlanPass(config));
}

void mlir::zero::buildSchedulePipeline(OpPassManager &manager,
                                       const TrainConfig &config, bool proves) {
  addSchedulePasses(stagesOf(manager, config), config, proves);
}

/// Adds the pass that reads `text` once there is a module: the micro-batch, and
/// all that follows from it, is the model's.
static LogicalResult
buildFromText(OpPassManager &manager, StringRef text,
              function_ref<LogicalResult(const Twine &)> onError) {
  std::string error;
  if (!ZeroPipelineOptions::read(text, error))
    return onError(error);
  RunPipelineOptions options;
  options.settings = text.str();
  manager.addPass(createRunPipeline(options));
  return success();
}

void mlir::zero::registerZeroPipelines() {
  registerPassPipeline(
      "zero-pipeline", "From a model to a planned schedule for one ZeRO stage",
      buildFromText,
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(ZeroPipelineOptions());
      });
}
