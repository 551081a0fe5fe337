//===- PipelineOptions.cpp - what the options of zero-pipeline mean -------===//

#include "zero/Transforms/Pipeline.h"

#include "OffloadOptions.h"
#include "OverrideOptions.h"

#include "zero/Analysis/Sizes.h"
#include "zero/Config/InputFile.h"
#include "zero/Cost/Machine.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Plan/MemoryBudget.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// Takes the next option off `text`: up to a space that is in no quotes and no
/// braces.
static StringRef takeOption(StringRef &text) {
  text = text.ltrim();
  int depth = 0;
  char quote = 0;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    char c = text[end];
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '}') {
      depth += c == '{' ? 1 : -1;
    } else if (llvm::isSpace(c) && depth == 0) {
      break;
    }
  }
  StringRef option = text.take_front(end);
  text = text.drop_front(end);
  return option;
}

std::unique_ptr<ZeroPipelineOptions>
ZeroPipelineOptions::read(StringRef text, std::string &error) {
  auto options = std::make_unique<ZeroPipelineOptions>();
  while (!text.trim().empty()) {
    StringRef option = takeOption(text);
    std::string reason;
    llvm::raw_string_ostream stream(reason);
    if (succeeded(options->parseFromString(option, stream)))
      continue;
    error = ("cannot read the option '" + option +
             "' of zero-pipeline; zero-opt --help lists all that there are")
                .str();
    return nullptr;
  }
  return options;
}

/// Samples that one micro-batch of the module's step holds: the first
/// dimension of its first argument; 0 where there is none.
static int64_t getModelMicroBatch(ModuleOp module) {
  for (StepOp step : module.getOps<StepOp>())
    if (!step.getArgumentTypes().empty())
      if (auto type =
              dyn_cast<RankedTensorType>(step.getArgumentTypes().front()))
        return type.getRank() ? type.getDimSize(0) : 0;
  return 0;
}

/// Data is samples: they are the first dimension of the first input.
static LogicalResult verifyInputs(ModuleOp module) {
  for (StepOp step : module.getOps<StepOp>())
    if (!step.getArgumentTypes().empty())
      if (auto type =
              dyn_cast<RankedTensorType>(step.getArgumentTypes().front());
          type && type.getRank() == 0)
        return emitError(step.getArgument(0).getLoc(), "input 0 has type ")
               << type
               << ", which has no batch dimension; wanted the samples of a "
                  "micro-batch first, such as "
               << RankedTensorType::get({1}, type.getElementType());
  return success();
}

/// Says what `diagnostics` say, at their lines of `file`; where no file is
/// named, errors only, at `module`.
static LogicalResult report(ArrayRef<ConfigDiagnostic> diagnostics,
                            StringRef file, ModuleOp module) {
  bool hasErrors = false;
  for (const ConfigDiagnostic &each : diagnostics) {
    bool isError = each.severity == ConfigSeverity::Error;
    hasErrors |= isError;
    if (file.empty() && !isError)
      continue;
    Location loc = module.getLoc();
    if (!file.empty())
      // What the file lacks belongs to the whole of it.
      loc = FileLineColLoc::get(module.getContext(), file,
                                std::max(each.line, 1u),
                                std::max(each.column, 1u));
    InFlightDiagnostic diagnostic = isError ? emitError(loc) : emitRemark(loc);
    if (!each.key.empty())
      diagnostic << each.key << ": ";
    diagnostic << each.message;
  }
  return failure(hasErrors);
}

/// Forgets what DeepSpeed's file would mean where it leaves a key out.
static void setPlanningDefaults(const OffloadOverrides &overrides,
                                TrainConfig &config) {
  config.reduceBucketSize = PlanningDefaults::reduceBucketSize;
  config.allgatherBucketSize = PlanningDefaults::allgatherBucketSize;
  config.parameterPersistenceThreshold =
      PlanningDefaults::parameterPersistenceThreshold;
  config.maxReuseDistance = PlanningDefaults::maxReuseDistance;
  if (config.offloadOptimizer && !overrides.uploadBuffers)
    config.offloadOptimizer->uploadBuffers = OffloadConfig().uploadBuffers;
  if (config.offloadOptimizer && config.offloadOptimizer->parameterFiles &&
      !overrides.inHost)
    config.offloadOptimizer->parameterFiles->inHost =
        ParameterFilesConfig().inHost;
}

/// The file's content, or the defaults where none is named, under `overrides`.
static FailureOr<TrainConfig> loadBase(const ZeroPipelineOptions &options,
                                       const ConfigOverrides &overrides,
                                       ModuleOp module) {
  // Without a place in that file, which whoever shows it would open.
  if (std::string why = findWhyNotFile(options.config); !why.empty())
    return mlir::emitError(UnknownLoc::get(module.getContext()))
           << "the configuration '" << options.config
           << "' cannot be read: " << why;
  ConfigContext context;
  if (options.ranks.getNumOccurrences())
    context.ranks = options.ranks;
  context.modelMicroBatch = getModelMicroBatch(module);
  context.overrides = overrides;
  SmallVector<ConfigDiagnostic> diagnostics;
  std::optional<TrainConfig> config;
  if (options.config.empty()) {
    // A model without a batch dimension takes one sample.
    context.modelMicroBatch = std::max<int64_t>(context.modelMicroBatch, 1);
    config = parseTrainConfig("{}", context, diagnostics);
  } else {
    config = loadTrainConfig(options.config, context, diagnostics);
  }
  if (failed(report(diagnostics, options.config, module)) || !config)
    return failure();
  if (options.config.empty()) {
    // No overlap either: what a reader of a schedule wants to see. A file
    // brings DeepSpeed's defaults instead.
    setPlanningDefaults(overrides.offload, *config);
    config->overlapCommunication = options.overlap;
  }
  return *config;
}

static LogicalResult
applyCheckpointOptions(const ZeroPipelineOptions &options,
                       CheckpointConfig &checkpoint,
                       function_ref<InFlightDiagnostic()> emitError) {
  if (options.checkpointActivations.getNumOccurrences()) {
    checkpoint.every = options.checkpointActivations;
    checkpoint.number = 0;
  }
  if (!options.checkpointLayers.empty()) {
    checkpoint.layers.assign(options.checkpointLayers.begin(),
                             options.checkpointLayers.end());
    if (!options.checkpointActivations.getNumOccurrences() &&
        !checkpoint.isEnabled())
      checkpoint.every = 1;
  }
  if (options.checkpointPolicy.getNumOccurrences()) {
    std::optional<RecomputePolicy> policy =
        parseRecomputePolicy(options.checkpointPolicy.getValue());
    if (!policy)
      return emitError() << "checkpoint-policy '"
                         << options.checkpointPolicy.getValue()
                         << "' is none of all, cheap and full";
    checkpoint.policy = *policy;
  }
  if (options.checkpointOffload.getNumOccurrences())
    checkpoint.offload = options.checkpointOffload;
  if (checkpoint.isEnabled())
    return success();
  bool isAsked = options.checkpointOffload.getNumOccurrences() &&
                 options.checkpointOffload;
  if (isAsked || !options.checkpointLayers.empty() ||
      options.checkpointPolicy.getNumOccurrences())
    return emitError() << "checkpoint-layers, checkpoint-policy or "
                          "checkpoint-offload is given, but all activations "
                          "are kept; give checkpoint-activations, or leave it "
                          "out";
  if (checkpoint.offload && !options.checkpointActivations.getNumOccurrences())
    return emitError() << "activation_checkpointing.cpu_checkpointing is true, "
                          "but all activations are kept on the device; give "
                          "number_checkpoints, zero.checkpoint_activations or "
                          "the option checkpoint-activations";
  checkpoint.offload = false;
  return success();
}

static LogicalResult
applyStateTiers(const ZeroPipelineOptions &options, TrainConfig &config,
                function_ref<InFlightDiagnostic()> emitError) {
  for (const std::string &entry : options.stateTiers) {
    auto [state, tier] = StringRef(entry).split('=');
    if (state.empty() || !symbolizeMemoryTier(tier))
      return emitError() << "state-tiers has '" << entry
                         << "', wanted a state and one of device, host, file, "
                            "such as exp_avg=host";
    config.stateTiers[state.str()] = tier.str();
  }
  return success();
}

/// Lets options that were given, and that nothing else follows from, override
/// `config`.
static LogicalResult
applyOptions(const ZeroPipelineOptions &options, TrainConfig &config,
             const OffloadOverrides &overrides,
             function_ref<InFlightDiagnostic()> emitError) {
  auto set = [](auto &option, auto &field) {
    if (option.getNumOccurrences())
      field = option.getValue();
  };
  set(options.lr, config.optimizer.learningRate);
  set(options.weightDecay, config.optimizer.weightDecay);
  set(options.momentum, config.optimizer.momentum);
  set(options.clip, config.gradientClipping);
  set(options.splitMaster, config.splitMaster);
  set(options.reduceBucketSize, config.reduceBucketSize);
  set(options.allgatherBucketSize, config.allgatherBucketSize);
  set(options.alignment, config.alignment);
  set(options.maxReuseDistance, config.maxReuseDistance);
  set(options.persistenceThreshold, config.parameterPersistenceThreshold);
  set(options.modelPersistenceThreshold, config.modelPersistenceThreshold);
  set(options.prefetchBucketSize, config.prefetchBucketSize);
  set(options.maxLiveParameters, config.maxLiveParameters);
  set(options.gathersInFlight, config.gathersInFlight);
  set(options.machine, config.machine);
  set(options.overlap, config.overlapCommunication);
  set(options.fuseEpilogues, config.fuseEpilogues);
  set(options.vocabularyMultiple, config.vocabularyMultiple);
  set(options.fuseAdditions, config.fuseAdditions);
  set(options.fuseCrossEntropy, config.fuseCrossEntropy);
  set(options.fuseMoves, config.fuseMoves);
  set(options.ignoreUnused, config.ignoreUnusedParameters);
  set(options.keepTrivialCollectives, config.keepTrivialCollectives);
  if (options.momentum.getNumOccurrences() &&
      !config.optimizer.hasKey("momentum"))
    return emitError() << "a momentum is given, but the optimizer is "
                       << config.optimizer.type
                       << ", which has none; leave it out, or choose sgd";
  if (options.layout.getNumOccurrences()) {
    if (options.layout != "bucketed" && options.layout != "contiguous")
      return emitError() << "layout '" << options.layout.getValue()
                         << "' is neither bucketed nor contiguous";
    config.layout =
        options.layout == "bucketed" ? Layout::Bucketed : Layout::Contiguous;
  }
  if (options.lossMean.getNumOccurrences()) {
    config.lossMean = parseLossMean(options.lossMean);
    if (!config.lossMean)
      return emitError() << "loss-mean '" << options.lossMean.getValue()
                         << "' is neither tokens nor micro_batches";
  }
  if (failed(applyStateTiers(options, config, emitError)) ||
      failed(verifyOffloadOptions(overrides, config, emitError)))
    return failure();
  return applyCheckpointOptions(options, config.checkpoint, emitError);
}

/// Names the keys that options stand for, as far as a search may move them, and
/// says which of the options change nothing.
static void recordGiven(const ZeroPipelineOptions &options, ModuleOp module,
                        TrainConfig &config) {
  auto record = [&](bool isGiven, StringRef name) {
    if (isGiven)
      config.given.push_back(name.str());
  };
  auto remark = [&](const auto &option, StringRef name) {
    std::string reason = describeIdleKey(name, config);
    if (option.getNumOccurrences() > 0 && !reason.empty())
      emitRemark(module.getLoc())
          << "the option " << option.getArgStr() << " " << reason;
  };
  auto recordZero = [&](const auto &option, StringRef name) {
    std::string key = ("zero_optimization." + name).str();
    record(option.getNumOccurrences() > 0, key);
    remark(option, key);
  };
  remark(options.layout, "zero.layout");
  remark(options.quantizedWeights, "zero_optimization.zero_quantized_weights");
  remark(options.quantizedFrozenWeights,
         "zero_optimization.zero_quantized_nontrainable_weights");
  remark(options.quantizedGradients,
         "zero_optimization.zero_quantized_gradients");
  remark(options.errorFeedback, "zero_optimization.zeropp_loco_param");
  remark(options.quantizationBlock, "zero.quantization_block");
  remark(options.alignment, "zero.alignment");
  remark(options.gathersInFlight, "zero.gathers_in_flight");
  remark(options.modelPersistenceThreshold,
         "zero_optimization.stage3_model_persistence_threshold");
  recordZero(options.stage, "stage");
  recordZero(options.reduceBucketSize, "reduce_bucket_size");
  recordZero(options.allgatherBucketSize, "allgather_bucket_size");
  recordZero(options.overlap, "overlap_comm");
  recordZero(options.prefetchBucketSize, "stage3_prefetch_bucket_size");
  recordZero(options.maxLiveParameters, "stage3_max_live_parameters");
  recordZero(options.maxReuseDistance, "stage3_max_reuse_distance");
  recordZero(options.persistenceThreshold,
             "stage3_param_persistence_threshold");
  record(options.offloadOptimizer.getNumOccurrences() > 0,
         "zero_optimization.offload_optimizer");
  record(options.offloadParameters.getNumOccurrences() > 0,
         "zero_optimization.offload_param");
  record(options.checkpointActivations.getNumOccurrences() ||
             !options.checkpointLayers.empty() ||
             options.checkpointPolicy.getNumOccurrences() ||
             config.checkpoint.isEnabled(),
         "zero.checkpoint_activations");
  record(options.checkpointOffload.getNumOccurrences() > 0,
         "zero.checkpoint_activations.offload");
  llvm::sort(config.given);
  config.given.erase(llvm::unique(config.given), config.given.end());
}

/// What the target's kernels can do and what it is timed for, where nothing
/// else says it.
static LogicalResult applyTarget(const ZeroPipelineOptions &options,
                                 TrainConfig &config,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (!options.target.empty() && options.target != "host" &&
      options.target != "cuda")
    return emitError() << "target '" << options.target.getValue()
                       << "' is neither host nor cuda";
  if (config.machine.empty())
    config.machine =
        options.target == "host" ? "host" : PlanningDefaults::machine.str();
  if (!options.fuseEpilogues.getNumOccurrences() &&
      !llvm::is_contained(config.given, "zero.fuse_epilogues"))
    config.fuseEpilogues = options.target == "cuda";
  if (!options.vocabularyMultiple.getNumOccurrences() &&
      !llvm::is_contained(config.given, "zero.vocabulary_multiple"))
    config.vocabularyMultiple =
        options.target == "cuda" ? PlanningDefaults::vocabularyMultiple : 1;
  return success();
}

/// The file may have come or gone since, but a name that never was one is
/// better found before anything runs, and at stages that do not look at it.
static LogicalResult
checkMachine(const TrainConfig &config,
             function_ref<InFlightDiagnostic()> emitError) {
  std::string error;
  if (succeeded(readMachine(config.machine, error)))
    return success();
  return emitError() << error;
}

/// Reads a limit of memory, which no configuration file has.
template <typename Option>
static LogicalResult readBudget(const Option &option, int64_t &budget,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (option.empty())
    return success();
  std::optional<int64_t> bytes = parseBytes(option.getValue());
  if (!bytes)
    return emitError()
           << option.getArgStr() << " '" << option.getValue()
           << "' is no number of bytes above 0, such as 512MiB; units "
              "are "
           << kByteUnits;
  budget = *bytes;
  return success();
}

FailureOr<TrainConfig> ZeroPipelineOptions::resolve(
    ModuleOp module, const std::optional<OffloadOverrides> &offload) const {
  if (failed(verifySizes(module)) || failed(verifyInputs(module)))
    return failure();
  // At the place of the module, which would be too long to be printed.
  auto emitError = [&] { return mlir::emitError(module.getLoc()); };
  FailureOr<ConfigOverrides> overrides = readOverrides(*this, emitError);
  if (failed(overrides))
    return failure();
  if (offload)
    overrides->offload = *offload;
  FailureOr<TrainConfig> resolved = loadBase(*this, *overrides, module);
  if (failed(resolved) ||
      failed(applyOptions(*this, *resolved, overrides->offload, emitError)) ||
      failed(applyTarget(*this, *resolved, emitError)) ||
      failed(checkMachine(*resolved, emitError)) ||
      failed(readBudget(memoryBudget, resolved->memoryBudget, emitError)) ||
      failed(
          readBudget(hostMemoryBudget, resolved->hostMemoryBudget, emitError)))
    return failure();
  recordGiven(*this, module, *resolved);
  SmallVector<ConfigDiagnostic> diagnostics;
  verifyTrainConfig(*resolved, diagnostics);
  if (failed(report(diagnostics, /*file=*/"", module)))
    return failure();
  return resolved;
}
