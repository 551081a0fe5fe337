//===- ConfigReader.cpp - From checked values to plain data -----*- C++ -*-===//
#include "ConfigReader.h"

#include "program/Bounds.h"
#include "program/ByteCount.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::zero;
using llvm::StringRef;
using llvm::Twine;
using zrt::plural;
namespace json = llvm::json;

namespace {
constexpr StringRef kTrainKey = "train_batch_size";
constexpr StringRef kMicroKey = "train_micro_batch_size_per_gpu";
constexpr StringRef kAccumulationKey = "gradient_accumulation_steps";

// The keys that faults between several depend on; a block is all in it.
using Keys = std::initializer_list<StringRef>;
constexpr Keys kMeshKeys = {"zero.mesh",
                            "zero.shard_axes",
                            "tensor_parallel",
                            "expert_parallel",
                            "sequence_parallel_size",
                            "use_data_before_expert_parallelism",
                            "zero_optimization.mics_shard_size"};
constexpr Keys kBatchKeys = {kTrainKey, kMicroKey, kAccumulationKey};
constexpr Keys kPrecisionKeys = {"fp16.enabled", "bf16.enabled",
                                 "bfloat16.enabled"};
constexpr Keys kStageKeys = {"zero_optimization.stage"};
constexpr Keys kQuantizationKeys = {
    "zero_optimization.zero_hpz_partition_size",
    "zero_optimization.zero_quantized_weights",
    "zero_optimization.zero_quantized_nontrainable_weights",
    "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zeropp_loco_param",
    "zero.quantized_weights_bits",
    "zero.quantized_nontrainable_weights_bits",
    "zero.quantized_gradients_bits",
    "zero.quantized_gradients_within",
    "zero.quantization_block"};
constexpr Keys kOffloadKeys = {"zero_optimization.offload_optimizer",
                               "zero_optimization.offload_param",
                               "zero_optimization.cpu_offload",
                               "zero_optimization.cpu_offload_param",
                               "zero.state_tiers",
                               "zero.offload_nvme_min_bytes",
                               "aio"};
constexpr Keys kCheckpointKeys = {"activation_checkpointing",
                                  "zero.checkpoint_activations"};
constexpr Keys kPipelineKeys = {"zero.pipeline_schedule",
                                "zero.pipeline_chunks"};

/// The three keys of which any two give the third.
struct BatchKeys {
  std::optional<int64_t> train, micro, accumulation;
};

class ConfigReader {
public:
  ConfigReader(const json::Object &root, const ConfigValues &values,
               const OtherOptions &options, const ConfigContext &context,
               Reporter &reporter)
      : root(root), values(values), options(options), context(context),
        reporter(reporter) {}

  TrainConfig run() {
    if (areSound({kMeshKeys})) {
      const unsigned before = reporter.countErrors();
      readMesh(root, values, context, reporter, config);
      hasMesh = reporter.countErrors() == before;
    }
    values.readFields(config, {""});
    if (hasMesh && areSound({kBatchKeys}))
      readBatch();
    if (areSound({kPrecisionKeys}))
      readPrecision(values, reporter, config);
    if (areSound({kPrecisionKeys, kBatchKeys, {"data_types"}}))
      readGradientType(values, reporter, config);
    if (areSound({kPrecisionKeys, {"fp16"}}))
      readLossScale(values, reporter, config);
    if (areSound({{"optimizer", "scheduler"}}))
      readOptimizer(root, values, reporter, config);
    readZero();
    if (hasMesh &&
        areSound({kPrecisionKeys,
                  kBatchKeys,
                  kStageKeys,
                  {"communication_data_type", "zero.deterministic"}}))
      readCommunicationType(values, reporter, config);
    recordGiven();
    reportIdleKeys();
    if (!values.has("optimizer") && !reporter.hasErrors() && !context.hasNoFile)
      reporter.remark("optimizer",
                      "is absent; AdamW with its defaults is used");
    return std::move(config);
  }

private:
  /// Whether it is known what the file means by all of these keys: a fault
  /// between them does not follow from another one.
  bool areSound(std::initializer_list<Keys> groups) const {
    return llvm::all_of(groups, [&](Keys keys) {
      return llvm::all_of(keys,
                          [&](StringRef key) { return values.isSound(key); });
    });
  }

  void readBatch();
  bool readMicroBatch(BatchKeys &keys);
  bool deriveAccumulation(BatchKeys &keys);
  bool isCount(StringRef key, std::optional<int64_t> value);
  void readZero();
  void readStateTiers();
  void readSharding();
  void readGroups();
  void recordGiven();
  void reportIdleKeys();

  const json::Object &root;
  const ConfigValues &values;
  const OtherOptions &options;
  const ConfigContext &context;
  Reporter &reporter;
  /// The ranks and their axes are known.
  bool hasMesh = false;
  TrainConfig config;
};
} // namespace

bool ConfigReader::readMicroBatch(BatchKeys &keys) {
  if (int64_t model = context.modelMicroBatch) {
    if (keys.micro && *keys.micro != model)
      reporter.error(kMicroKey, "found " + Twine(*keys.micro) +
                                    ", but one step of the model takes " +
                                    plural(model, "sample") +
                                    "; make them equal, or leave the "
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
  int64_t parts = config.batchRanks() * accumulation;
  if (*keys.train % parts != 0) {
    reporter.error(kTrainKey, Twine(*keys.train) +
                                  " samples cannot be cut into " +
                                  Twine(parts) + " equal micro-batches (" +
                                  plural(config.batchRanks(), "rank") + " x " +
                                  plural(accumulation, "accumulation step") +
                                  "); give a multiple");
    return false;
  }
  keys.micro = *keys.train / parts;
  return true;
}

bool ConfigReader::deriveAccumulation(BatchKeys &keys) {
  if (keys.accumulation)
    return true;
  int64_t step = *keys.micro * config.batchRanks();
  if (keys.train && *keys.train % step != 0) {
    reporter.error(kTrainKey, Twine(*keys.train) +
                                  " samples are no multiple of " + Twine(step) +
                                  " (" + plural(*keys.micro, "sample") + " x " +
                                  plural(config.batchRanks(), "rank") +
                                  "), so no gradient_accumulation_steps fits; "
                                  "give a multiple");
    return false;
  }
  keys.accumulation = keys.train ? *keys.train / step : 1;
  return true;
}

bool ConfigReader::isCount(StringRef key, std::optional<int64_t> value) {
  if (!value || (*value >= 1 && *value <= zrt::kMostCount))
    return true;
  reporter.error(key, "found " + Twine(*value) + ", wanted 1 to " +
                          Twine(zrt::kMostCount));
  return false;
}

void ConfigReader::readBatch() {
  BatchKeys keys{values.optionalInteger(kTrainKey),
                 values.optionalInteger(kMicroKey),
                 values.optionalInteger(kAccumulationKey)};
  // In these bounds products of two counts fit in 64 bits.
  if (!isCount(kMicroKey, keys.micro) ||
      !isCount(kAccumulationKey, keys.accumulation) || !readMicroBatch(keys) ||
      !isCount(kMicroKey, keys.micro) || !deriveAccumulation(keys) ||
      !isCount(kAccumulationKey, keys.accumulation))
    return;
  std::string factors = plural(*keys.micro, "sample") + " x " +
                        plural(*keys.accumulation, "accumulation step") +
                        " x " + plural(config.batchRanks(), "rank") + " are ";
  int64_t product;
  if (llvm::MulOverflow(*keys.micro * *keys.accumulation, config.batchRanks(),
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

/// What follows from several keys, or from none.
void ConfigReader::readZero() {
  if (values.get("zero_optimization.overlap_comm").getAsNull())
    config.overlapCommunication = config.stage == 3;
  if (!values.has("zero.loss_mean"))
    config.lossMean.reset();
  if (areSound({kPrecisionKeys}) && config.splitMaster &&
      config.precision != zrt::DataType::BF16)
    reporter.error("zero.split_master",
                   Twine("is for bf16 only, whose values are prefixes of f32 "
                         "ones; the precision is ") +
                       nameOf(config.precision));
  if (hasMesh && areSound({kStageKeys, kMeshKeys, kQuantizationKeys})) {
    readSecondary(values, reporter, config);
    readQuantization(values, reporter, config);
  }
  readStateTiers();
  readSharding();
  if (areSound({kStageKeys, kOffloadKeys}))
    readOffload(values, reporter, config);
  if (areSound({kCheckpointKeys}))
    readCheckpoint(values, options, reporter, config);
  if (hasMesh && areSound({kStageKeys, kPrecisionKeys, kQuantizationKeys,
                           kOffloadKeys, kCheckpointKeys, kPipelineKeys}))
    checkModelAxes(values, reporter, config);
  readGroups();
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

void ConfigReader::readSharding() {
  const json::Object *block = root.getObject("zero");
  const json::Object *names = block ? block->getObject("sharding") : nullptr;
  if (!names)
    return;
  for (const json::Object::value_type &entry : *names) {
    std::string path = ("zero.sharding." + StringRef(entry.first)).str();
    if (!values.has(path))
      continue;
    int64_t dim = values.integer(path);
    if (dim < -1)
      reporter.error(path, "found " + Twine(dim) +
                               ", wanted a dimension, or -1 for none");
    config.sharding[StringRef(entry.first).str()] = dim;
  }
}

static std::vector<std::string> textsOf(const json::Array *array) {
  std::vector<std::string> texts;
  if (array)
    for (const json::Value &each : *array)
      if (std::optional<StringRef> text = each.getAsString())
        texts.push_back(text->str());
  return texts;
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
         withoutSignOfZero(group->getNumber("weight_decay")),
         textsOf(group->getArray("parameters"))});
  }
}

/// A search leaves alone what is given in either form.
void ConfigReader::recordGiven() {
  config.given = values.paths();
  auto record = [&](bool isGiven, const char *path) {
    if (isGiven)
      config.given.push_back(path);
  };
  record(config.checkpoint.isEnabled() ||
             options.count("checkpoint-activations"),
         "zero.checkpoint_activations");
  record(options.count("checkpoint-offload"),
         "zero.checkpoint_activations.offload");
  llvm::sort(config.given);
  config.given.erase(llvm::unique(config.given), config.given.end());
}

/// Names the keys that nothing depends on at their stage. A default asks for
/// nothing. After an error, what counts is not known.
void ConfigReader::reportIdleKeys() {
  if (reporter.hasErrors())
    return;
  // Keys of the file that nothing depends on for one reason are one remark.
  std::vector<std::pair<std::string, std::vector<std::string>>> idle;
  auto keysWith = [&](const std::string &text) -> std::vector<std::string> & {
    for (auto &[known, paths] : idle)
      if (known == text)
        return paths;
    return idle.emplace_back(text, std::vector<std::string>()).second;
  };
  for (const std::string &path : values.paths()) {
    const ConfigKey *row = findConfigRow(path);
    const IdleReason reason = row ? row->describeIdle(config) : IdleReason();
    if (!*reason.why || values.get(path) == getDefault(*row, context.hasNoFile))
      continue;
    const bool never = row->state == KeyState::NoEffect;
    const std::string text =
        "changes nothing " +
        (never ? "here" : "at stage " + std::to_string(config.stage)) + ": " +
        reason.why;
    if (*reason.advice && reporter.isOption(path))
      reporter.error(path, text + "; " + reason.advice + ", or leave it out");
    else if (never || reporter.isOption(path))
      reporter.remark(path, text);
    else
      keysWith(text).push_back(path);
  }
  for (const auto &[text, paths] : idle)
    reporter.remark(paths.front(),
                    paths.size() == 1
                        ? text
                        : text + "; the same holds for " +
                              llvm::join(llvm::drop_begin(paths), ", "));
}

TrainConfig mlir::zero::readConfig(const json::Object &root,
                                   const ConfigValues &values,
                                   const OtherOptions &options,
                                   const ConfigContext &context,
                                   Reporter &reporter) {
  return ConfigReader(root, values, options, context, reporter).run();
}
