//===- ConfigReader.cpp - From checked values to plain data -----*- C++ -*-===//
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {
constexpr StringRef kTrainKey = "train_batch_size";
constexpr StringRef kMicroKey = "train_micro_batch_size_per_gpu";
constexpr StringRef kAccumulationKey = "gradient_accumulation_steps";

/// The three keys of which any two give the third.
struct BatchKeys {
  std::optional<int64_t> train, micro, accumulation;
};

class ConfigReader {
public:
  ConfigReader(const json::Object &root, const ConfigValues &values,
               const ConfigContext &context, Reporter &reporter)
      : root(root), values(values), context(context), reporter(reporter) {}

  TrainConfig run() {
    readMesh(root, values, context, reporter, config);
    if (reporter.hasErrors())
      return std::move(config);
    readBatch();
    readPrecision();
    readLossScale();
    readOptimizer(root, values, context.overrides, reporter, config);
    config.gradientClipping = values.number("gradient_clipping");
    readZero();
    readExtension();
    readCommunicationType();
    config.given = values.paths();
    remarkIdleKeys();
    if (!values.has("optimizer") && !reporter.hasErrors())
      reporter.remark("optimizer",
                      "is absent; AdamW with its defaults is used");
    return std::move(config);
  }

private:
  void readBatch();
  bool readMicroBatch(BatchKeys &keys);
  bool deriveAccumulation(BatchKeys &keys);
  bool isCount(StringRef key, std::optional<int64_t> value);
  void readPrecision();
  void readGradientType();
  void readLossScale();
  void readCommunicationType();
  void readZero();
  void readExtension();
  void readCheckpoint();
  void readStateTiers();
  void readGroups();
  void remarkIdleKeys();

  std::optional<Precision> readPrecision(StringRef path);

  const json::Object &root;
  const ConfigValues &values;
  const ConfigContext &context;
  Reporter &reporter;
  TrainConfig config;
};
} // namespace

bool ConfigReader::readMicroBatch(BatchKeys &keys) {
  if (int64_t model = context.modelMicroBatch) {
    if (keys.micro && *keys.micro != model)
      reporter.error(kMicroKey, "found " + Twine(*keys.micro) +
                                    ", but one step of the model takes " +
                                    Twine(model) +
                                    " samples; make them equal, or leave the "
                                    "key out");
    keys.micro = model;
  }
  if (keys.micro)
    return true;
  if (!keys.train) {
    reporter.error(kMicroKey,
                   "neither this key nor train_batch_size is given; "
                   "give the samples of one micro-batch on one rank");
    return false;
  }
  int64_t accumulation = keys.accumulation.value_or(1);
  int64_t parts = config.ranks * accumulation;
  if (*keys.train % parts != 0) {
    reporter.error(kTrainKey,
                   Twine(*keys.train) + " samples cannot be cut into " +
                       Twine(parts) + " equal micro-batches (" +
                       Twine(config.ranks) + " ranks x " + Twine(accumulation) +
                       " accumulation steps); give a multiple");
    return false;
  }
  keys.micro = *keys.train / parts;
  return true;
}

bool ConfigReader::deriveAccumulation(BatchKeys &keys) {
  if (keys.accumulation)
    return true;
  int64_t step = *keys.micro * config.ranks;
  if (keys.train && *keys.train % step != 0) {
    reporter.error(kTrainKey,
                   Twine(*keys.train) + " samples are no multiple of " +
                       Twine(step) + " (" + Twine(*keys.micro) + " samples x " +
                       Twine(config.ranks) +
                       " ranks), so no gradient_accumulation_steps fits; "
                       "give a multiple");
    return false;
  }
  keys.accumulation = keys.train ? *keys.train / step : 1;
  return true;
}

bool ConfigReader::isCount(StringRef key, std::optional<int64_t> value) {
  if (!value || (*value >= 1 && *value <= kMaxCount))
    return true;
  reporter.error(key, "found " + Twine(*value) + ", wanted 1 to " +
                          Twine(kMaxCount));
  return false;
}

void ConfigReader::readBatch() {
  BatchKeys keys{values.optionalInteger(kTrainKey),
                 values.optionalInteger(kMicroKey),
                 values.optionalInteger(kAccumulationKey)};
  if (context.overrides.accumulation)
    keys.accumulation = context.overrides.accumulation;
  // In these bounds products of two counts fit in 64 bits.
  if (!isCount(kMicroKey, keys.micro) ||
      !isCount(kAccumulationKey, keys.accumulation) || !readMicroBatch(keys) ||
      !isCount(kMicroKey, keys.micro) || !deriveAccumulation(keys) ||
      !isCount(kAccumulationKey, keys.accumulation))
    return;
  std::string factors =
      (Twine(*keys.micro) + " samples x " + Twine(*keys.accumulation) +
       " accumulation steps x " + Twine(config.ranks) + " ranks are ")
          .str();
  int64_t product;
  if (llvm::MulOverflow(*keys.micro * *keys.accumulation, config.ranks,
                        product)) {
    reporter.error(kTrainKey, factors + "more samples than 64 bits count");
    return;
  }
  if (keys.train && *keys.train != product) {
    reporter.error(kTrainKey, "found " + Twine(*keys.train) + ", but " +
                                  factors + Twine(product) +
                                  "; leave one of the three keys out");
    return;
  }
  config.microBatch = *keys.micro;
  config.accumulation = *keys.accumulation;
  config.trainBatch = product;
}

std::optional<Precision> ConfigReader::readPrecision(StringRef path) {
  std::optional<std::string> text = values.optionalText(path);
  if (!text)
    return std::nullopt;
  return llvm::StringSwitch<Precision>(*text)
      .Case("fp16", Precision::F16)
      .Case("bf16", Precision::BF16)
      .Default(Precision::F32);
}

void ConfigReader::readPrecision() {
  bool half = values.boolean("fp16.enabled");
  bool brain =
      values.boolean("bf16.enabled") || values.boolean("bfloat16.enabled");
  if (half && brain)
    reporter.error("fp16.enabled",
                   "fp16 and bf16 are both enabled; enable one of them");
  config.precision = half    ? Precision::F16
                     : brain ? Precision::BF16
                             : Precision::F32;
  if (context.overrides.precision)
    config.precision = *context.overrides.precision;
  readGradientType();
}

void ConfigReader::readGradientType() {
  constexpr StringRef key = "data_types.grad_accum_dtype";
  std::optional<Precision> type = readPrecision(key);
  if (!type)
    return;
  if (config.accumulation > 1) {
    if (*type != Precision::F32)
      reporter.error(key, Twine(config.accumulation) +
                              " micro-batches are added up in f32; give "
                              "\"fp32\" or leave it out");
    return;
  }
  if (*type == config.precision)
    return;
  if (*type != Precision::F32)
    reporter.error(key, "gradients are stored in " +
                            stringify(config.precision) +
                            ", the compute type; leave it out");
  else
    reporter.remark(key, "changes nothing here: one micro-batch leaves "
                         "nothing to add up, and its gradients are stored in " +
                             stringify(config.precision));
}

void ConfigReader::readLossScale() {
  std::optional<double> given = context.overrides.lossScale;
  if (config.precision != Precision::F16) {
    if (given)
      reporter.error("", "a loss scale is given, but the compute type is " +
                             stringify(config.precision) +
                             ", which needs none; leave it out, or compute in "
                             "f16");
    return;
  }
  LossScaleConfig &scale = config.lossScale;
  scale.enabled = true;
  double fixed = given.value_or(values.number("fp16.loss_scale"));
  int64_t power = values.integer("fp16.initial_scale_power");
  if (power > 126)
    reporter.error("fp16.initial_scale_power",
                   "2^" + Twine(power) + " is no f32; give at most 126");
  scale.dynamic = fixed == 0;
  scale.initial =
      scale.dynamic ? std::ldexp(1.0, static_cast<int>(power)) : fixed;
  scale.minimum = values.number("fp16.min_loss_scale");
  scale.window = values.integer("fp16.loss_scale_window");
  scale.hysteresis = values.integer("fp16.hysteresis");
  scale.consecutiveHysteresis = values.boolean("fp16.consecutive_hysteresis");
  if (scale.dynamic && scale.minimum > scale.initial)
    reporter.error("fp16.min_loss_scale",
                   "the lowest scale is above the first one, 2^" +
                       Twine(power) + "; lower it");
}

void ConfigReader::readCommunicationType() {
  constexpr StringRef key = "communication_data_type";
  config.communicationType = readPrecision(key);
  if (!config.communicationType)
    return;
  if (config.reducesEveryMicroBatch()) {
    if (*config.communicationType != config.precision)
      reporter.error(key, "gradients travel in the compute type, " +
                              stringify(config.precision) +
                              ", and are added up in f32; leave it out");
  } else if (*config.communicationType != Precision::F32) {
    reporter.error(key, "the gradients of " + Twine(config.accumulation) +
                            " micro-batches are added up before they travel "
                            "at stage " +
                            Twine(config.stage) +
                            ", and travel as the f32 sum; give \"fp32\", or "
                            "leave it out");
  }
}

void ConfigReader::readZero() {
  auto key = [](StringRef name) { return ("zero_optimization." + name).str(); };
  config.stage = values.integer(key("stage"));
  if (config.stage > 3)
    reporter.error(key("stage"),
                   "found " + Twine(config.stage) + ", wanted 0, 1, 2 or 3");
  if (context.overrides.stage)
    config.stage = *context.overrides.stage;
  config.reduceBucketSize = values.integer(key("reduce_bucket_size"));
  config.allgatherBucketSize = values.integer(key("allgather_bucket_size"));
  config.overlapCommunication = values.has(key("overlap_comm"))
                                    ? values.boolean(key("overlap_comm"))
                                    : config.stage == 3;
  config.ignoreUnusedParameters =
      values.boolean(key("ignore_unused_parameters"));
  config.prefetchBucketSize =
      values.integer(key("stage3_prefetch_bucket_size"));
  config.maxLiveParameters = values.integer(key("stage3_max_live_parameters"));
  config.parameterPersistenceThreshold =
      values.integer(key("stage3_param_persistence_threshold"));
  config.modelPersistenceThreshold =
      values.integer(key("stage3_model_persistence_threshold"));
  config.maxReuseDistance = values.integer(key("stage3_max_reuse_distance"));
  readSecondary(values, context, reporter, config);
  readQuantization(values, context, reporter, config);
}

void ConfigReader::readExtension() {
  config.deterministic = context.overrides.deterministic.value_or(
      values.boolean("zero.deterministic"));
  config.splitMaster = values.boolean("zero.split_master");
  config.layout = values.text("zero.layout") == "contiguous"
                      ? Layout::Contiguous
                      : Layout::Bucketed;
  if (values.has("zero.loss_mean"))
    config.lossMean = parseLossMean(values.text("zero.loss_mean"));
  config.alignment = values.integer("zero.alignment");
  isCount("zero.alignment", config.alignment);
  config.gathersInFlight = values.integer("zero.gathers_in_flight");
  config.machine = values.optionalText("zero.machine").value_or("");
  config.fuseEpilogues = values.has("zero.fuse_epilogues") &&
                         values.boolean("zero.fuse_epilogues");
  if (values.has("zero.vocabulary_multiple"))
    config.vocabularyMultiple = values.integer("zero.vocabulary_multiple");
  config.fuseAdditions = values.boolean("zero.fuse_additions");
  config.fuseCrossEntropy = values.boolean("zero.fuse_cross_entropy");
  config.fuseMoves = values.boolean("zero.fuse_moves");
  readStateTiers();
  readOffload(values, context.overrides.offload, reporter, config);
  readCheckpoint();
  readGroups();
}

void ConfigReader::readCheckpoint() {
  constexpr StringRef block = "activation_checkpointing";
  constexpr StringRef key = "activation_checkpointing.number_checkpoints";
  constexpr StringRef own = "zero.checkpoint_activations";
  CheckpointConfig &checkpoint = config.checkpoint;
  if (std::optional<int64_t> number = values.optionalInteger(key))
    checkpoint.number = *number;
  checkpoint.offload =
      values.has(block) &&
      values.boolean("activation_checkpointing.cpu_checkpointing");
  if (!values.has(own)) {
    if (values.has(block) && !checkpoint.isEnabled())
      reporter.remark(block, "gives no number_checkpoints: all activations are "
                             "kept; give it, or zero.checkpoint_activations");
    return;
  }
  if (checkpoint.isEnabled())
    reporter.error(own, "activation_checkpointing.number_checkpoints says how "
                        "many borders to keep as well; leave one of them out");
  auto path = [&](StringRef name) { return (own + "." + name).str(); };
  checkpoint.every = values.integer(path("every"));
  llvm::SmallVector<int64_t> layers = values.integers(path("layers"));
  checkpoint.layers.assign(layers.begin(), layers.end());
  bool isOffloaded = values.boolean(path("offload"));
  if (values.has(path("offload")) && checkpoint.offload && !isOffloaded)
    reporter.error(path("offload"),
                   "is false, and activation_checkpointing.cpu_checkpointing "
                   "is true; leave one of them out");
  checkpoint.offload |= isOffloaded;
  // One of the table's choices, or an error there.
  checkpoint.policy = parseRecomputePolicy(values.text(path("policy")))
                          .value_or(RecomputePolicy::All);
}

void ConfigReader::readStateTiers() {
  const json::Object *block = root.getObject("zero");
  const json::Object *tiers = block ? block->getObject("state_tiers") : nullptr;
  if (!tiers)
    return;
  for (const json::Object::value_type &entry : *tiers) {
    std::string path = ("zero.state_tiers." + StringRef(entry.first)).str();
    if (values.has(path))
      config.stateTiers[StringRef(entry.first).str()] = values.text(path);
  }
}

void ConfigReader::readGroups() {
  const json::Object *block = root.getObject("zero");
  const json::Object *groups =
      block ? block->getObject("parameter_groups") : nullptr;
  if (!groups)
    return;
  llvm::SmallVector<std::pair<unsigned, std::string>> names;
  for (const json::Object::value_type &entry : *groups) {
    std::string path =
        ("zero.parameter_groups." + StringRef(entry.first)).str();
    names.emplace_back(reporter.getLines().lines.lookup(path),
                       StringRef(entry.first).str());
  }
  llvm::sort(names);
  for (const auto &[line, name] : names) {
    const json::Object *group = groups->getObject(name);
    if (!group)
      continue;
    config.parameterGroups.push_back(
        {name, withoutSignOfZero(group->getNumber("lr")),
         withoutSignOfZero(group->getNumber("weight_decay"))});
  }
}

/// Names the keys of the file that nothing depends on at its stage. A default
/// asks for nothing. After an error, what counts is not known.
void ConfigReader::remarkIdleKeys() {
  if (reporter.hasErrors())
    return;
  for (const std::string &path : config.given) {
    std::string reason = describeIdleKey(path, config);
    if (!reason.empty() && values.get(path) != getDefault(getConfigKey(path)))
      reporter.remark(path, reason);
  }
}

TrainConfig mlir::zero::readConfig(const json::Object &root,
                                   const ConfigValues &values,
                                   const ConfigContext &context,
                                   Reporter &reporter) {
  return ConfigReader(root, values, context, reporter).run();
}
