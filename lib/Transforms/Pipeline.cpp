//===- Pipeline.cpp - from a model to a planned schedule ------------------===//

#include "zero/Transforms/Pipeline.h"

#include "zero/Analysis/MemoryBudget.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::zero;

static std::optional<Precision> parsePrecision(StringRef name) {
  return llvm::StringSwitch<std::optional<Precision>>(name)
      .Case("f32", Precision::F32)
      .Cases({"f16", "fp16"}, Precision::F16)
      .Case("bf16", Precision::BF16)
      .Default(std::nullopt);
}

static std::optional<OptimizerType> parseOptimizer(StringRef name) {
  return llvm::StringSwitch<std::optional<OptimizerType>>(name)
      .Case("adamw", OptimizerType::AdamW)
      .Case("adam", OptimizerType::Adam)
      .Case("sgd", OptimizerType::SGD)
      .Default(std::nullopt);
}

/// The configuration file's content, or the defaults where none is named.
static FailureOr<TrainConfig>
loadBase(const ZeroPipelineOptions &options, int64_t modelMicroBatch,
         function_ref<InFlightDiagnostic()> emitError,
         function_ref<InFlightDiagnostic()> emitRemark) {
  if (options.config.empty()) {
    // Small buckets and nothing kept whole: what a reader of a schedule wants
    // to see. A file brings DeepSpeed's defaults instead.
    TrainConfig config;
    config.ranks = options.ranks;
    config.reduceBucketSize = options.reduceBucketSize;
    config.allgatherBucketSize = options.allgatherBucketSize;
    config.parameterPersistenceThreshold = options.persistenceThreshold;
    config.maxReuseDistance = options.maxReuseDistance;
    return config;
  }
  ConfigContext context;
  context.ranks = options.ranks;
  context.modelMicroBatch = modelMicroBatch;
  SmallVector<ConfigDiagnostic> diagnostics;
  std::optional<TrainConfig> config =
      loadTrainConfig(options.config, context, diagnostics);
  for (const ConfigDiagnostic &diagnostic : diagnostics) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printConfigDiagnostics(os, options.config, diagnostic);
    bool isError = diagnostic.severity == ConfigSeverity::Error;
    (isError ? emitError : emitRemark)() << StringRef(text).rtrim();
  }
  if (!config)
    return failure();
  return *config;
}

/// Lets options that were given override `config`.
static LogicalResult applyOverrides(const ZeroPipelineOptions &options,
                                    TrainConfig &config,
                                    function_ref<InFlightDiagnostic()> emitError) {
  auto set = [](auto &option, auto &field) {
    if (option.getNumOccurrences())
      field = option.getValue();
  };
  set(options.stage, config.stage);
  set(options.accumulation, config.accumulation);
  set(options.lr, config.optimizer.learningRate);
  set(options.weightDecay, config.optimizer.weightDecay);
  set(options.momentum, config.optimizer.momentum);
  set(options.clip, config.gradientClipping);
  set(options.deterministic, config.deterministic);
  set(options.reduceBucketSize, config.reduceBucketSize);
  set(options.allgatherBucketSize, config.allgatherBucketSize);
  set(options.alignment, config.alignment);
  set(options.maxReuseDistance, config.maxReuseDistance);
  set(options.persistenceThreshold, config.parameterPersistenceThreshold);
  set(options.modelPersistenceThreshold, config.modelPersistenceThreshold);
  set(options.prefetchBucketSize, config.prefetchBucketSize);
  set(options.maxLiveParameters, config.maxLiveParameters);
  set(options.overlap, config.overlapCommunication);
  set(options.ignoreUnused, config.ignoreUnusedParameters);
  if (options.precision.getNumOccurrences()) {
    std::optional<Precision> precision = parsePrecision(options.precision);
    if (!precision)
      return emitError() << "precision '" << options.precision.getValue()
                         << "' is none of f32, bf16, f16";
    config.precision = *precision;
  }
  if (options.optimizer.getNumOccurrences()) {
    std::optional<OptimizerType> type = parseOptimizer(options.optimizer);
    if (!type)
      return emitError() << "optimizer '" << options.optimizer.getValue()
                         << "' is none of adamw, adam, sgd";
    config.optimizer.type = *type;
  }
  if (options.layout.getNumOccurrences()) {
    if (options.layout != "bucketed" && options.layout != "contiguous")
      return emitError() << "layout '" << options.layout.getValue()
                         << "' is neither bucketed nor contiguous";
    config.layout = options.layout == "bucketed" ? Layout::Bucketed
                                                 : Layout::Contiguous;
  }
  if (config.precision == Precision::F16 &&
      (options.config.empty() || options.lossScale.getNumOccurrences())) {
    config.lossScale.enabled = true;
    config.lossScale.dynamic = options.lossScale == 0;
    config.lossScale.initial = options.lossScale == 0 ? 65536.0 : options.lossScale;
  }
  return success();
}

/// Reads `memory-budget`, which no configuration file has.
static LogicalResult readMemoryBudget(const ZeroPipelineOptions &options, TrainConfig &config,
                                      function_ref<InFlightDiagnostic()> emitError) {
  if (options.memoryBudget.empty())
    return success();
  std::optional<int64_t> budget = parseBytes(options.memoryBudget);
  if (!budget)
    return emitError() << "memory-budget '" << options.memoryBudget.getValue()
                       << "' is no number of bytes above 0, such as 512MiB";
  config.memoryBudget = *budget;
  return success();
}

/// What no pass could carry out.
static LogicalResult verifyConfig(const TrainConfig &config,
                                  function_ref<InFlightDiagnostic()> emitError) {
  if (config.stage < 0 || config.stage > 3)
    return emitError() << "stage " << config.stage << " is none of 0, 1, 2, 3";
  if (config.ranks < 1)
    return emitError() << config.ranks << " ranks; wanted at least 1";
  if (config.accumulation < 1)
    return emitError() << "accumulation " << config.accumulation
                       << "; wanted at least 1";
  if (config.alignment < 1 || config.reduceBucketSize < 1 ||
      config.allgatherBucketSize < 1)
    return emitError() << "alignment and bucket sizes must be at least 1";
  return success();
}

FailureOr<TrainConfig>
ZeroPipelineOptions::resolve(int64_t modelMicroBatch,
                             function_ref<InFlightDiagnostic()> emitError,
                             function_ref<InFlightDiagnostic()> emitRemark) const {
  FailureOr<TrainConfig> config =
      loadBase(*this, modelMicroBatch, emitError, emitRemark);
  if (failed(config) || failed(applyOverrides(*this, *config, emitError)) ||
      failed(readMemoryBudget(*this, *config, emitError)) ||
      failed(verifyConfig(*config, emitError)))
    return failure();
  return config;
}

int64_t mlir::zero::getModelMicroBatch(ModuleOp module) {
  for (StepOp step : module.getOps<StepOp>())
    if (!step.getArgumentTypes().empty())
      if (auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes().front()))
        return type.getRank() ? type.getDimSize(0) : 0;
  return 0;
}

static void addModelPasses(OpPassManager &manager, const TrainConfig &config) {
  manager.addPass(createConfigurePass(config));
  SetPrecisionOptions precision;
  precision.compute = stringify(config.precision).str();
  manager.addPass(createSetPrecision(precision));
  DifferentiateOptions differentiate;
  differentiate.ignoreUnusedParameters = config.ignoreUnusedParameters;
  manager.addPass(createDifferentiate(differentiate));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createOutlineElementwise());
}

static void addStatePasses(OpPassManager &manager, const TrainConfig &config) {
  PartitionOptions partition;
  partition.reduceBucketSize = config.reduceBucketSize;
  partition.alignment = config.alignment;
  partition.contiguous = config.layout == Layout::Contiguous;
  manager.addPass(createPartition(partition));
  InsertReductionsOptions reductions;
  reductions.reduceBucketSize = config.reduceBucketSize;
  manager.addPass(createInsertReductions(reductions));
  InsertGathersOptions gathers;
  gathers.maxReuseDistance = config.maxReuseDistance;
  gathers.parameterPersistenceThreshold = config.parameterPersistenceThreshold;
  gathers.modelPersistenceThreshold = config.modelPersistenceThreshold;
  manager.addPass(createInsertGathers(gathers));
  PrefetchOptions prefetch;
  prefetch.prefetchBucketSize = config.prefetchBucketSize;
  prefetch.maxLiveParameters = config.maxLiveParameters;
  manager.addPass(createPrefetch(prefetch));
  InsertUpdatesOptions updates;
  updates.allgatherBucketSize = config.allgatherBucketSize;
  manager.addPass(createInsertUpdates(updates));
  if (config.overlapCommunication)
    manager.addPass(createOverlapReductions());
}

void mlir::zero::buildZeroPipeline(OpPassManager &manager,
                                   const TrainConfig &config) {
  addModelPasses(manager, config);
  addStatePasses(manager, config);
  manager.addPass(createFree());
  manager.addPass(createVerifySchedule());
  PlanMemoryOptions plan;
  if (config.memoryBudget)
    plan.memoryBudget = std::to_string(config.memoryBudget);
  manager.addPass(createPlanMemory(plan));
}

/// Parses `text` and adds the passes. The module is not read yet, so what
/// depends on it is checked by zero-configure.
static LogicalResult
buildFromText(OpPassManager &manager, StringRef text,
              function_ref<LogicalResult(const Twine &)> onError) {
  std::unique_ptr<ZeroPipelineOptions> options =
      ZeroPipelineOptions::createFromString(text);
  if (!options)
    return onError("options of zero-pipeline cannot be read");
  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  FailureOr<TrainConfig> config =
      options->resolve(/*modelMicroBatch=*/0, [&] { return emitError(loc); },
                       [&] { return emitRemark(loc); });
  if (failed(config))
    return onError("options of zero-pipeline do not make a configuration");
  buildZeroPipeline(manager, *config);
  return success();
}

void mlir::zero::registerZeroPipelines() {
  registerPassPipeline(
      "zero-pipeline", "From a model to a planned schedule for one ZeRO stage",
      buildFromText, [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(ZeroPipelineOptions());
      });
}
