//===- Config.h - A DeepSpeed JSON file as plain data -----------*- C++ -*-===//
//
// Reads a DeepSpeed configuration and says exactly what it asks for. A key
// that is unknown, or known and not supported, is an error with its place and
// what to do instead; nothing is dropped in silence. No MLIR in here: the
// pipeline maps `TrainConfig` to pass options.
//
// Fields that keys have by themselves are in Settings.td, and are included
// below; what follows from several keys is written here.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONFIG_CONFIG_H
#define ZERO_CONFIG_CONFIG_H

#include "program/Enums.h"
#include "program/Mesh.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir::zero {

#define GEN_SETTING_WORDS
#include "zero/Config/SettingFields.inc"

/// An update rule that a configuration can name. `Adam` adds weight decay to
/// the gradient, `AdamW` takes it off the parameter.
struct OptimizerRule {
  /// A setting whose default differs from that of the table of keys.
  struct Default {
    const char *key = "";
    double value = 0;
  };
  /// The name in files, in any case: "AdamW". The table of keys says which
  /// settings the rule has.
  const char *type;
  /// The name in options and messages: "adamw".
  const char *name;
  Default defaults[2] = {};
};

/// All rules. A file without one has the first.
llvm::ArrayRef<OptimizerRule> getOptimizerRules();
/// The rule called `name`; null where there is none.
const OptimizerRule *findOptimizerRule(llvm::StringRef name);
/// The names of all rules: "adamw, adam, sgd".
std::string listOptimizerRules();

/// The optimizer and its settings, which groups may change.
struct OptimizerConfig {
  /// The rule. DeepSpeed's "Adam" is `AdamW` unless `adam_w_mode` is false.
  std::string type = "adamw";
  /// Decay rates of the first and second moment, in [0, 1): `betas`.
  double beta1 = 0.9, beta2 = 0.999;
#define GEN_FIELDS_OF_OptimizerConfig
#include "zero/Config/SettingFields.inc"

  /// The setting that `makeOptimizer` knows as `name`: "lr", "beta1".
  double getSetting(llvm::StringRef name) const;
};

/// The settings of a named parameter group; an absent value is the optimizer's,
/// but for the weight decay of `no_decay`.
struct ParameterGroupConfig {
  /// The name that parameters carry: `{group = "no_decay"}`.
  std::string name;
  std::optional<double> learningRate;
  std::optional<double> weightDecay;
  /// Patterns of the names of parameters that are in the group, wherever the
  /// model has them; empty: those that carry its name.
  std::vector<std::string> parameters;
};

using SchedulerType = zrt::ScheduleKind;

/// The learning rate over updates; skipped updates do not count.
struct SchedulerConfig {
  SchedulerType type = SchedulerType::Constant;
  /// Rate after the warm-up; absent: each group's own (WarmupLR,
  /// WarmupDecayLR).
  std::optional<double> warmupMaxLearningRate;
  /// Warm up with log(1 + i) / log(warmupSteps); otherwise in a straight line.
  bool logWarmup = true;
  /// Updates until the end of the decay (WarmupDecayLR, WarmupCosineLR).
  int64_t totalSteps = 0;
#define GEN_FIELDS_OF_SchedulerConfig
#include "zero/Config/SettingFields.inc"
};

/// How the loss is scaled before the backward; fp16 only.
struct LossScaleConfig {
  /// False unless fp16 is enabled: the scale is 1 and never changes.
  bool enabled = false;
  /// Change the scale on overflow and growth; otherwise `initial` stays.
  bool dynamic = false;
  /// The first scale, or the static one: 2^initial_scale_power or loss_scale.
  double initial = 1;
#define GEN_FIELDS_OF_LossScaleConfig
#include "zero/Config/SettingFields.inc"
};

/// Which activations are computed a second time instead of being kept.
struct CheckpointConfig {
  /// Spans to divide the layers into, which gives `every`; 0: it is given.
  int64_t number = 0;
#define GEN_FIELDS_OF_CheckpointConfig
#include "zero/Config/SettingFields.inc"

  bool isEnabled() const { return every > 0 || number > 0; }
};

/// One axis of a mesh of ranks.
struct MeshAxisConfig {
  std::string name;
  int64_t size = 1;

  bool operator==(const MeshAxisConfig &other) const {
    return name == other.name && size == other.size;
  }
};

/// The folder of states in files, and how they are read and written: the keys
/// `nvme_path`, `aio` and `zero.offload_nvme_min_bytes`.
struct FilesConfig {
#define GEN_FIELDS_OF_FilesConfig
#include "zero/Config/SettingFields.inc"
};

/// Error feedback of quantized gradients.
struct FeedbackConfig {
#define GEN_FIELDS_OF_FeedbackConfig
#include "zero/Config/SettingFields.inc"
};

/// Which parameters are in files: `offload_param` with the device `nvme`.
struct ParameterFilesConfig {
#define GEN_FIELDS_OF_ParameterFilesConfig
#include "zero/Config/SettingFields.inc"
};

/// Optimizer states in host memory, updated on the host; as the keys of
/// `zero_optimization.offload_optimizer` and `sub_group_size` say.
struct OffloadConfig {
  bool parameters = false; ///< sharded parameters are there, too: offload_param
  std::optional<FilesConfig> files; ///< states are there: the device `nvme`
  /// Parameters are in files, too; needs `parameters` and `files`.
  std::optional<ParameterFilesConfig> parameterFiles;
#define GEN_FIELDS_OF_OffloadConfig
#include "zero/Config/SettingFields.inc"
};

/// One training run, complete: every default is filled in. A file that leaves a
/// key out means the default of the table of keys, not that of the member.
struct TrainConfig {
#define GEN_FIELDS_OF_TrainConfig
#include "zero/Config/SettingFields.inc"

  /// Ranks that have samples of their own, as the caller or the mesh gave them;
  /// at least 1.
  int64_t ranks = 1;
  /// Axes of the ranks, in row-major order; none: the ranks form one group.
  std::vector<MeshAxisConfig> mesh;
  /// Names of the axes over which states are cut, in the mesh's order; none
  /// without a mesh.
  std::vector<std::string> shardAxes;
  /// Names of the axes in `shardAxes` within which parameters of stage 3 are
  /// gathered again: `zero_hpz_partition_size`, the last ones that have as many
  /// ranks.
  std::vector<std::string> secondaryAxes;
  /// Bits of gathered weights, 8 or 4, as `zero_quantized_weights` and
  /// `zero.quantized_weights_bits` say; 0: those of their type.
  int64_t quantizedWeightBits = 0;
  /// Bits in which stage 3 stores weights that are not trained, 8 or 4, as
  /// `zero_quantized_nontrainable_weights` and
  /// `zero.quantized_nontrainable_weights_bits` say; 0: those of their type.
  int64_t quantizedFrozenBits = 0;
  /// Bits of reduced gradients of stage 3, as `zero_quantized_gradients`
  /// and `zero.quantized_gradients_bits` say.
  int64_t quantizedGradientBits = 0;
  /// Names of the axes within which quantized gradients are added up first,
  /// such as those of a node; without any, they are added up over all ranks at
  /// once.
  std::vector<std::string> gradientAxes;
  /// Error feedback: the quantization errors of gradients are added to later
  /// ones, `zeropp_loco_param`. Absent: they are lost.
  std::optional<FeedbackConfig> errorFeedback;
  /// Samples of one update on all ranks: microBatch * accumulation * ranks.
  int64_t trainBatch = 1;

  /// Type of the compute parameters and activations: f32, f16 or bf16.
  zrt::DataType precision = zrt::DataType::F32;
  /// Type that gradients must travel in; absent: the one that they have.
  std::optional<zrt::DataType> communicationType;

  OptimizerConfig optimizer;
  /// In the order of the file; names are unique.
  std::vector<ParameterGroupConfig> parameterGroups;
  SchedulerConfig scheduler;
  LossScaleConfig lossScale;

  /// Activation checkpointing.
  CheckpointConfig checkpoint;

  /// The tiers of optimizer states by name, such as "exp_avg" and "host"; all
  /// others are on the device.
  std::map<std::string, std::string> stateTiers;
  /// Dimensions that the axis `tensor` is to cut, -1: none, by parameters'
  /// names or patterns of them.
  std::map<std::string, int64_t> sharding;
  /// Optimizer states in host memory, and their update on the host.
  std::optional<OffloadConfig> offloadOptimizer;
  /// Paths of the keys that a file, or an option in its place, gives by
  /// itself, in increasing order: a search leaves them as they are.
  std::vector<std::string> given;

  /// Whether a single rank keeps its collectives, which move nothing. Not in
  /// the file: it is for tests of the code that runs collectives.
  bool keepTrivialCollectives = false;
  /// Most bytes that one rank may need of its device; 0: any. Not in the file,
  /// which describes the training and not the machine.
  int64_t memoryBudget = 0;
  /// Most bytes that one rank may need of host memory, beside its device; 0:
  /// any.
  int64_t hostMemoryBudget = 0;

  /// Whether gradients travel once a micro-batch, as they are computed.
  /// Otherwise they are added up first, in f32, and travel once an update.
  bool reducesEveryMicroBatch() const {
    return stage >= 2 || deterministic || accumulation == 1;
  }

  /// Whether gradients of a micro-batch travel in f32, whatever they are
  /// computed in.
  bool widensGradients() const {
    return reducesEveryMicroBatch() && communicationType == zrt::DataType::F32;
  }

  /// Ranks of a group of these axes of the mesh.
  int64_t ranksOf(const std::vector<std::string> &axes) const {
    int64_t product = 1;
    for (const MeshAxisConfig &axis : mesh)
      for (const std::string &name : axes)
        product *= axis.name == name ? axis.size : 1;
    return product;
  }

  /// All ranks of a run, those that compute one model together included.
  int64_t worldRanks() const {
    int64_t all = mesh.empty() ? ranks : 1;
    for (const MeshAxisConfig &axis : mesh)
      all *= axis.size;
    return all;
  }

  /// Whether the mesh has an axis of that name, of more than one rank.
  bool hasAxis(const std::string &name) const { return ranksOf({name}) > 1; }
  /// Groups of layers of each stage of a pipeline.
  int64_t countChunks() const {
    return pipelineOrder == zrt::PassOrder::Interleaved ? pipelineChunks : 1;
  }

  /// Whether ranks of an axis compute parts of a model.
  bool cutsModel() const {
    return std::any_of(mesh.begin(), mesh.end(),
                       [](const MeshAxisConfig &axis) {
                         return axis.size > 1 && zrt::cutsModel(axis.name);
                       });
  }

  /// Ranks with samples of their own.
  int64_t batchRanks() const {
    int64_t batch = ranks;
    for (const MeshAxisConfig &axis : mesh)
      batch /= zrt::cutsPositions(axis.name) ? axis.size : 1;
    return batch;
  }

  /// Ranks over which states are cut.
  int64_t slices() const { return mesh.empty() ? ranks : ranksOf(shardAxes); }
  /// Whether anything travels or is stored quantized.
  bool quantizes() const {
    return quantizedWeightBits || quantizedFrozenBits || quantizedGradientBits;
  }
};

/// An option of a command line that stands for a key, or for several.
struct ConfigOption {
  llvm::StringRef name, meaning; ///< literals
  /// Takes `true` and `false`.
  bool isFlag = false;
};

/// All of them.
std::vector<ConfigOption> getConfigOptions();

/// Facts that the caller knows, and that the file need not say.
struct ConfigContext {
  /// Data-parallel ranks; at least 1. Absent: as many as the mesh has, or 1.
  std::optional<int64_t> ranks;
  /// Samples that one call of the model's step takes; 0: not known. Where
  /// known it is the micro-batch, and the file must not say otherwise.
  int64_t modelMicroBatch = 0;
  /// Options that are given, with their values as text: they replace what the
  /// file says before anything is derived from it or compared with it.
  std::vector<std::pair<std::string, std::string>> options;
  /// Whether there is no file: some keys then have other defaults.
  bool hasNoFile = false;
};

/// How much a message matters.
enum class ConfigSeverity { Error, Remark };

/// A message about one key of a file, or about an option.
struct ConfigDiagnostic {
  ConfigSeverity severity;
  /// Path of the key, `zero_optimization.stage`; empty for the whole file. Of
  /// an option, `the option stage`.
  std::string key;
  /// Line of the key, from 1; 0 where the key is not in the file.
  unsigned line;
  /// Lower case, without place: what was found, wanted, and what to do.
  std::string message;
  /// Column of the key, from 1; 0 where the line is.
  unsigned column = 0;
  bool isOption = false;
};

/// Prints `file:line: error: key: message`, one line each.
void printConfigDiagnostics(llvm::raw_ostream &os, llvm::StringRef fileName,
                            llvm::ArrayRef<ConfigDiagnostic> diagnostics);

/// Reads a configuration from JSON text. All faults are appended to
/// `diagnostics`, not only the first one; the result is absent when one of
/// them is an error. Remarks name keys that change nothing here.
std::optional<TrainConfig>
parseTrainConfig(llvm::StringRef text, const ConfigContext &context,
                 llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics);

/// As `parseTrainConfig`, of a file; one that cannot be read is an error.
std::optional<TrainConfig>
loadTrainConfig(llvm::StringRef path, const ConfigContext &context,
                llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics);

/// Reads axes such as "replica=2,shard=3". Nothing, with the reason in `error`,
/// if the text cannot be read, names an axis twice, or has an axis without
/// ranks.
std::optional<std::vector<MeshAxisConfig>> parseMesh(llvm::StringRef text,
                                                     std::string &error);

/// Writes axes in the form that `parseMesh` reads.
std::string printMesh(const std::vector<MeshAxisConfig> &axes);

/// Writes a configuration that reads as `config` on as many ranks: a DeepSpeed
/// file with the block `zero`. The number of ranks and the memory budget are
/// not of the file.
void writeTrainConfig(llvm::raw_ostream &os, const TrainConfig &config);

/// Paths of the keys that a search of plans may vary.
std::vector<llvm::StringRef> getSearchedKeys();

/// Writes the table of all keys as a page of Markdown.
void writeConfigReference(llvm::raw_ostream &os);

} // namespace mlir::zero

#endif // ZERO_CONFIG_CONFIG_H
