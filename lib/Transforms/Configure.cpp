//===- Configure.cpp - write the configuration into the module ------------===//

#include "ConfigureParameters.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::zero {
#define GEN_PASS_DEF_CONFIGURE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// The group of parameters that are not decayed by default.
static constexpr StringLiteral kNoDecay = "no_decay";

namespace {
struct Configure : public zero::impl::ConfigureBase<Configure> {
  using ConfigureBase::ConfigureBase;
  explicit Configure(const TrainConfig &config) : config(config) {}

  void runOnOperation() override;

private:
  FailureOr<TrainConfig> resolve();
  LogicalResult verifyModel(const TrainConfig &resolved);
  Attribute makeOptimizer(const TrainConfig &resolved, StringRef group);

  /// Given by the caller; otherwise `settings` says what to do.
  std::optional<TrainConfig> config;
};
} // namespace

std::unique_ptr<Pass>
mlir::zero::createConfigurePass(const TrainConfig &config) {
  return std::make_unique<Configure>(config);
}

FailureOr<TrainConfig> Configure::resolve() {
  if (config)
    return *config;
  std::string error;
  std::unique_ptr<ZeroPipelineOptions> options =
      ZeroPipelineOptions::read(settings, error);
  if (!options)
    return emitError(getOperation().getLoc()) << error, failure();
  return options->resolve(getOperation());
}

/// A model's own 16 bits stay.
static LogicalResult verifyPrecision(ModuleOp module,
                                     const TrainConfig &config) {
  ParameterOp unscaled;
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    Type type = parameter.getTensorType().getElementType();
    if (parameter.getFrozen() || !(type.isF16() || type.isBF16()))
      continue;
    const auto own = type.isF16() ? zrt::DataType::F16 : zrt::DataType::BF16;
    if (config.precision != zrt::DataType::F32 && config.precision != own)
      return parameter.emitError()
             << "@" << parameter.getSymName() << " is " << type
             << ", and the compute type is " << nameOf(config.precision)
             << ": compute in " << type << ", or give the model in f32";
    if (own == zrt::DataType::F16 && !config.lossScale.enabled && !unscaled)
      unscaled = parameter;
  }
  if (unscaled)
    emitRemark(unscaled.getLoc())
        << "@" << unscaled.getSymName()
        << " is f16, and no loss scale keeps its gradients above 0: compute in "
           "f16 for one";
  return success();
}

/// Groups that the configuration names have parameters; a remark where none of
/// them is trained.
static LogicalResult verifyGroups(ModuleOp module, const TrainConfig &config) {
  llvm::StringSet<> groups, trained;
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    groups.insert(parameter.getGroup());
    if (!parameter.getFrozen())
      trained.insert(parameter.getGroup());
  }
  for (const ParameterGroupConfig &group : config.parameterGroups) {
    if (!groups.contains(group.name))
      return emitError(module.getLoc())
             << "the configuration names the parameter group '" << group.name
             << "', but no parameter of the model is in it: give patterns of "
                "names as its 'parameters'";
    if (!trained.contains(group.name))
      emitRemark(module.getLoc())
          << "the parameter group '" << group.name
          << "' changes nothing: all its parameters are frozen";
  }
  return success();
}

LogicalResult Configure::verifyModel(const TrainConfig &resolved) {
  auto steps = getOperation().getOps<StepOp>();
  if (llvm::range_size(steps) != 1)
    return emitError(getOperation().getLoc())
           << "found " << llvm::range_size(steps) << " 'zero.step', wanted one";
  if (!(*steps.begin()).isModel())
    return emitError((*steps.begin()).getLoc())
           << "'zero.step' is a schedule already; wanted a model";
  if ((*steps.begin()).getTraining())
    return (*steps.begin())
        .emitOpError(
            "has 'training' already; zero-configure writes it, from the "
            "configuration: leave it out");
  for (OptimizerOp optimizer : getOperation().getOps<OptimizerOp>())
    return optimizer.emitOpError("of the group '")
           << optimizer.getGroup()
           << "' is there already; zero-configure writes it";
  for (MeshOp mesh : getOperation().getOps<MeshOp>())
    if (mesh.getAxes().getModelAxes() || !resolved.mesh.empty())
      return mesh.emitOpError("is in the model already; give the axes ")
             << mesh.getAxes()
             << " to the compiler, with --mesh or zero.mesh, and leave them "
                "out here";
  for (ParameterOp parameter : getOperation().getOps<ParameterOp>()) {
    // Nothing shows that what is behind them has no gradient.
    if (parameter.getRows())
      return parameter.emitOpError("has 'rows': what is beyond them is "
                                   "padding, which only zero-pad-vocabulary "
                                   "adds; leave them out, and set "
                                   "zero.vocabulary_multiple");
  }
  return failure(failed(verifyPrecision(getOperation(), resolved)) ||
                 failed(verifyGroups(getOperation(), resolved)));
}

Attribute Configure::makeOptimizer(const TrainConfig &resolved,
                                   StringRef group) {
  const OptimizerConfig &base = resolved.optimizer;
  double lr = base.learningRate;
  // Biases and norms are marked by the model; decaying them is never wanted
  // unless the configuration says so.
  double decay = group == kNoDecay ? 0.0 : base.weightDecay;
  for (const ParameterGroupConfig &change : resolved.parameterGroups) {
    if (change.name != group)
      continue;
    lr = change.learningRate.value_or(lr);
    decay = change.weightDecay.value_or(decay);
  }
  return zero::makeOptimizer(&getContext(), base.type, [&](StringRef setting) {
    return setting == "lr"             ? lr
           : setting == "weight_decay" ? decay
                                       : base.getSetting(setting);
  });
}

static LossScaleAttr makeLossScale(MLIRContext *context,
                                   const LossScaleConfig &scale) {
  if (!scale.enabled)
    return {};
  return LossScaleAttr::get(context, scale.initial, scale.dynamic,
                            scale.minimum, scale.window, scale.hysteresis,
                            scale.consecutiveHysteresis);
}

static ScheduleAttr makeSchedule(MLIRContext *context,
                                 const SchedulerConfig &schedule) {
  if (schedule.type == SchedulerType::Constant)
    return {};
  return ScheduleAttr::get(
      context, fromRuntime(schedule.type), schedule.warmupMinLearningRate,
      schedule.warmupMaxLearningRate.value_or(-1.0), schedule.warmupSteps,
      schedule.totalSteps, schedule.logWarmup, schedule.warmupMinRatio,
      schedule.cosineMinRatio);
}

static DictionaryAttr makeStateTiers(MLIRContext *context,
                                     const TrainConfig &config) {
  NamedAttrList tiers;
  for (const auto &[state, tier] : config.stateTiers)
    tiers.set(state, StringAttr::get(context, tier));
  return tiers.empty() ? DictionaryAttr() : tiers.getDictionary(context);
}

static OffloadAttr makeOffload(MLIRContext *context,
                               const std::optional<OffloadConfig> &offload) {
  if (!offload)
    return {};
  FilesAttr files;
  if (const std::optional<FilesConfig> &given = offload->files)
    files = FilesAttr::get(context, given->folder, given->blockBytes,
                           given->queueDepth, given->leastBytes);
  ParameterFilesAttr parameterFiles;
  if (const std::optional<ParameterFilesConfig> &given =
          offload->parameterFiles)
    parameterFiles =
        ParameterFilesAttr::get(context, given->inHost, given->bufferSize);
  return OffloadAttr::get(context, offload->ratio, offload->subGroupSize,
                          offload->pipelineRead, offload->pipelineWrite,
                          offload->parameters, files, offload->uploadBuffers,
                          parameterFiles);
}

/// Whether a parameter that is not trained has a block to be quantized.
static bool quantizesFrozen(const TrainConfig &config, ModuleOp module) {
  return config.quantizedFrozenBits &&
         llvm::any_of(module.getOps<ParameterOp>(), [&](ParameterOp parameter) {
           return parameter.getFrozen() &&
                  parameter.getElements() >= config.quantizationBlock;
         });
}

/// Without gathers, one rank would read parameters where and as they are kept.
static bool keepsTrivialCollectives(const TrainConfig &config,
                                    ModuleOp module) {
  return config.keepTrivialCollectives ||
         (config.ranks == 1 &&
          (quantizesFrozen(config, module) ||
           (config.offloadOptimizer && config.offloadOptimizer->parameters)));
}

static QuantizationAttr makeQuantization(MLIRContext *context, int64_t bits,
                                         const TrainConfig &config) {
  return bits ? QuantizationAttr::get(context, bits, config.quantizationBlock)
              : QuantizationAttr();
}

/// Where a rank has everything, nothing travels.
static QuantizationAttr makeWireForm(MLIRContext *context, int64_t bits,
                                     const TrainConfig &config) {
  return makeQuantization(context, config.slices() > 1 ? bits : 0, config);
}

static FeedbackAttr makeFeedback(MLIRContext *context,
                                 const TrainConfig &config) {
  return config.errorFeedback && config.slices() > 1
             ? FeedbackAttr::get(context, config.errorFeedback->beta,
                                 config.errorFeedback->reset)
             : FeedbackAttr();
}

/// The axes of the mesh that `isIn` takes, in their order; null: none.
static AxesAttr getAxes(MLIRContext *context, const TrainConfig &config,
                        function_ref<bool(StringRef)> isIn) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const MeshAxisConfig &axis : config.mesh) {
    if (!isIn(axis.name))
      continue;
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return names.empty() ? AxesAttr() : AxesAttr::get(context, names, sizes);
}

static AxesAttr getAxes(MLIRContext *context, const TrainConfig &config,
                        ArrayRef<std::string> names) {
  return getAxes(context, config, [&](StringRef name) {
    return llvm::is_contained(names, name);
  });
}

static PlanningAttr makePlanning(MLIRContext *context,
                                 const TrainConfig &config) {
  PlanningSettings settings;
#define PLANNED(type, name, parameter, initial, least, most, field)            \
  settings.name = config.field;
#include "zero/Config/PlannedSettings.inc"
  settings.contiguous = config.layout == zrt::Layout::Contiguous;
  settings.stateTiers = makeStateTiers(context, config);
  settings.offload = makeOffload(context, config.offloadOptimizer);
  settings.quantizedWeights =
      makeWireForm(context, config.quantizedWeightBits, config);
  settings.quantizedFrozen =
      makeQuantization(context, config.quantizedFrozenBits, config);
  settings.quantizedGradients =
      makeWireForm(context, config.quantizedGradientBits, config);
  settings.gradientsWithin = getAxes(context, config, config.gradientAxes);
  settings.errorFeedback = makeFeedback(context, config);
  return PlanningAttr::get(context, settings);
}

static void createMesh(OpBuilder &builder, Location loc,
                       const TrainConfig &config) {
  MLIRContext *context = builder.getContext();
  AxesAttr axes = getAxes(context, config, [](StringRef) { return true; });
  AxesAttr cut = getAxes(context, config, config.shardAxes);
  AxesAttr secondary = getAxes(context, config, config.secondaryAxes);
  MeshOp::create(builder, loc, "mesh", axes, cut == axes ? AxesAttr() : cut,
                 secondary, /*stage=*/IntegerAttr(), /*order=*/StringAttr());
}

/// Inputs without the first one's batch dimension are the same for all samples,
/// which may be meant or a mistake.
static void remarkOnSharedInputs(StepOp step) {
  int64_t microBatch = 0;
  for (BlockArgument input : step.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type)
      continue;
    bool isFirst = input.getArgNumber() == 0;
    if (isFirst && type.getRank() > 0)
      microBatch = type.getDimSize(0);
    else if (type.getRank() == 0 || type.getDimSize(0) != microBatch)
      emitRemark(input.getLoc(), "input ")
          << input.getArgNumber() << " has type " << type
          << ": all samples share it, as its first dimension is not the "
             "micro-batch, "
          << microBatch << " in input 0";
  }
}

/// Models mark biases and norms, and the optimizers of PyTorch and DeepSpeed
/// decay all that they are given.
static void remarkOnMissingDecay(ModuleOp module, const TrainConfig &config) {
  for (const ParameterGroupConfig &group : config.parameterGroups)
    if (group.name == kNoDecay && group.weightDecay)
      return;
  SmallVector<ParameterOp> spared;
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (parameter.getGroup() == kNoDecay && !parameter.getFrozen())
      spared.push_back(parameter);
  if (config.optimizer.weightDecay == 0 || spared.empty())
    return;
  emitRemark(spared.front().getLoc(), "weight decay leaves out ")
      << spared.size() << (spared.size() == 1 ? " parameter" : " parameters")
      << " of the group '" << kNoDecay << "', such as @"
      << spared.front().getSymName()
      << "; zero.parameter_groups gives the group its own, or 0 for none";
}

static TrainingAttr makeTraining(ModuleOp module, const TrainConfig &config) {
  MLIRContext *context = module.getContext();
  return TrainingAttr::get(
      context, config.stage, config.ranks, config.accumulation,
      config.gradientClipping, config.deterministic,
      makeLossScale(context, config.lossScale),
      makeSchedule(context, config.scheduler),
      keepsTrivialCollectives(config, module), makePlanning(context, config));
}

void mlir::zero::setTraining(ModuleOp module, const TrainConfig &config) {
  (*module.getOps<StepOp>().begin())
      .setTrainingAttr(makeTraining(module, config));
}

void Configure::runOnOperation() {
  FailureOr<TrainConfig> resolved = resolve();
  if (failed(resolved) || failed(writeGroups(getOperation(), *resolved)) ||
      failed(verifyModel(*resolved)) ||
      failed(writeSharding(getOperation(), *resolved)))
    return signalPassFailure();
  StepOp step = *getOperation().getOps<StepOp>().begin();
  remarkOnSharedInputs(step);
  remarkOnMissingDecay(getOperation(), *resolved);
  setTraining(getOperation(), *resolved);
  llvm::SetVector<StringRef> groups;
  for (ParameterOp parameter : getOperation().getOps<ParameterOp>())
    groups.insert(parameter.getGroup());
  OpBuilder builder(step);
  if (!resolved->mesh.empty())
    createMesh(builder, step.getLoc(), *resolved);
  for (StringRef group : groups)
    OptimizerOp::create(builder, step.getLoc(), group,
                        makeOptimizer(*resolved, group));
}
