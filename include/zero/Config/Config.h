//===- Config.h - A DeepSpeed JSON file as plain data -----------*- C++ -*-===//
//
// Reads a DeepSpeed configuration and says exactly what it asks for. A key
// that is unknown, or known and not supported, is an error with its place and
// what to do instead; nothing is dropped in silence. No MLIR in here: the
// pipeline maps `TrainConfig` to pass options.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONFIG_CONFIG_H
#define ZERO_CONFIG_CONFIG_H

#include "zero/Config/PlanningDefaults.h"

#include "program/Enums.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

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

/// Most ranks, most micro-batches of an update and most samples of a
/// micro-batch: they travel in 32 bits.
inline constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

/// Element type of compute parameters, gradients or what travels.
enum class Precision { F32, F16, BF16 };

/// `f32`, `f16` or `bf16`, as MLIR spells it.
llvm::StringRef stringify(Precision precision);

/// An update rule that a configuration can name. `Adam` adds weight decay to
/// the gradient, `AdamW` takes it off the parameter.
struct OptimizerRule {
  /// What differs from the defaults of the table of keys.
  struct Default {
    const char *key = "";
    double value = 0;
  };
  /// As a file spells it, in any case: "AdamW". Which settings it has is said
  /// in the table of keys.
  const char *type;
  /// In options and messages: "adamw".
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
  /// Learning rate before any schedule.
  double learningRate = 1e-3;
  /// Decay of the first moment, in [0, 1).
  double beta1 = 0.9;
  /// Decay of the second moment, in [0, 1).
  double beta2 = 0.999;
  /// Added to the root of the second moment.
  double epsilon = 1e-8;
  /// Weight decay; of the group `no_decay` it is 0 unless that is given.
  double weightDecay = 0;
  /// Divide moments by 1 - beta^t (Adam, AdamW).
  bool biasCorrection = true;
  /// Momentum (SGD); 0 keeps no moment.
  double momentum = 0;
  /// Nesterov's form of momentum (SGD); needs a momentum above 0.
  bool nesterov = false;

  /// The setting that `makeOptimizer` knows as `name`: "lr", "beta1".
  double getSetting(llvm::StringRef name) const;
  /// Whether the rule has the key `optimizer.params.<key>`.
  bool hasKey(llvm::StringRef key) const;
};

/// What a named parameter group changes; an absent value is the optimizer's,
/// but for the weight decay of `no_decay`.
struct ParameterGroupConfig {
  /// The name that parameters carry: `{group = "no_decay"}`.
  std::string name;
  std::optional<double> learningRate;
  std::optional<double> weightDecay;
};

using SchedulerType = zrt::ScheduleKind;

/// The learning rate over updates; skipped updates do not count.
struct SchedulerConfig {
  SchedulerType type = SchedulerType::Constant;
  /// Rate at the first update (WarmupLR, WarmupDecayLR).
  double warmupMinLearningRate = 0;
  /// Rate after the warm-up; absent: each group's own (WarmupLR,
  /// WarmupDecayLR).
  std::optional<double> warmupMaxLearningRate;
  /// Updates of the warm-up.
  int64_t warmupSteps = 1000;
  /// Warm up with log(1 + i) / log(warmupSteps); otherwise in a straight line.
  bool logWarmup = true;
  /// Updates until the end of the decay (WarmupDecayLR, WarmupCosineLR).
  int64_t totalSteps = 0;
  /// Share of the rate at the first update (WarmupCosineLR).
  double warmupMinRatio = 0;
  /// Share of the rate at the end of the cosine (WarmupCosineLR).
  double cosineMinRatio = 1e-4;
};

/// How the loss is scaled before the backward; fp16 only.
struct LossScaleConfig {
  /// False unless fp16 is enabled: the scale is 1 and never changes.
  bool enabled = false;
  /// Change the scale on overflow and growth; otherwise `initial` stays.
  bool dynamic = false;
  /// The first scale, or the static one: 2^initial_scale_power or loss_scale.
  double initial = 1;
  /// The scale never falls below it; an overflow at it ends the run.
  double minimum = 1;
  /// Updates without an overflow before the scale doubles.
  int64_t window = 1000;
  /// Overflows until the scale halves.
  int64_t hysteresis = 2;
  /// An update without an overflow refills the hysteresis at once.
  bool consecutiveHysteresis = false;
};

/// How flat groups are cut into slices at stage 2.
enum class Layout { Bucketed, Contiguous };

/// `bucketed` or `contiguous`.
llvm::StringRef stringify(Layout layout);

/// What weighs the same in the loss of an update: a token that counts, or a
/// micro-batch, whatever it counts.
enum class LossMeanKind { Tokens, MicroBatches };

/// `tokens` or `micro_batches`.
llvm::StringRef stringify(LossMeanKind kind);
std::optional<LossMeanKind> parseLossMean(llvm::StringRef name);

/// What of a span of layers is computed a second time.
enum class RecomputePolicy {
  /// What the backward needs, whatever it costs.
  All,
  /// Of that, what moves data rather than computes.
  Cheap,
  /// The whole forward of the span, also what nothing reads: as frameworks do.
  Full
};

/// `all`, `cheap` or `full`.
llvm::StringRef stringify(RecomputePolicy policy);
/// The policy of that name; nothing for another name.
std::optional<RecomputePolicy> parseRecomputePolicy(llvm::StringRef name);

/// Which activations are computed a second time instead of being kept.
struct CheckpointConfig {
  /// Layers between two borders that are kept; 0: all activations are kept.
  int64_t every = 0;
  /// Spans to divide the layers into, which gives `every`; 0: it is given.
  int64_t number = 0;
  /// The layers that are recomputed, from 0 on; none: all.
  std::vector<int64_t> layers;
  RecomputePolicy policy = RecomputePolicy::All;
  bool offload = false; ///< what is kept waits in host memory

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

/// Where states in files are, and how they are read and written: the keys
/// `nvme_path`, `aio` and `zero.offload_nvme_min_bytes`.
struct FilesConfig {
  /// What a block is a multiple of, and its most bytes; the longest queue.
  static constexpr int64_t diskBlock = 4096, mostBlockBytes = 1 << 30,
                           mostQueueDepth = 4096;
  std::string folder;
  int64_t blockBytes = 1 << 20, queueDepth = 8;
  /// Sub-groups whose states are smaller stay in host memory.
  int64_t leastBytes = 1 << 20;
};

/// Error feedback of quantized gradients.
struct FeedbackConfig {
  /// How much of an error stays, in [0, 1).
  double beta = 0.8;
  /// Updates until all errors are zero again; at least 1.
  int64_t reset = 1024;
};

/// Which parameters are in files: `offload_param` with the device `nvme`.
struct ParameterFilesConfig {
  /// Elements of a rank that stay in host memory, of the first parameters that
  /// fit: `max_in_cpu`.
  int64_t inHost = 0;
  /// The most elements of a slice that is read at a time: `buffer_size`.
  int64_t bufferSize = 100000000;
};

/// Optimizer states in host memory, updated on the host; as the keys of
/// `zero_optimization.offload_optimizer` and `sub_group_size` say.
struct OffloadConfig {
  /// The least part of each partition that is on the host; above 0, at most 1.
  double ratio = 1;
  int64_t subGroupSize = 1000000000; ///< elements of a rank updated together
  /// Whether the gradients of the next sub-group, and the parameters of the one
  /// before, are copied during an update.
  bool pipelineRead = false, pipelineWrite = false;
  bool parameters = false; ///< sharded parameters are there, too: offload_param
  std::optional<FilesConfig> files; ///< states are there: the device `nvme`
  /// Where parameters are in host memory, uploads of slices start this many
  /// gathers ahead, less one: `offload_param.buffer_count`.
  int64_t uploadBuffers = 2;
  /// Parameters are in files, too; needs `parameters` and `files`.
  std::optional<ParameterFilesConfig> parameterFiles;
};

/// One training run, complete: every default is filled in. A file that leaves a
/// key out means the default of the table of keys, not that of the member.
struct TrainConfig {
  /// ZeRO stage, 0 to 3.
  int64_t stage = 0;
  /// Data-parallel ranks, as the caller or the mesh gave them; at least 1.
  int64_t ranks = 1;
  /// Axes of the ranks, in row-major order; none: the ranks form one group.
  std::vector<MeshAxisConfig> mesh;
  /// Names of the axes over which states are cut, in the mesh's order; none
  /// without a mesh.
  std::vector<std::string> shardAxes;
  /// Names of those of them within which parameters of stage 3 are gathered
  /// again: `zero_hpz_partition_size`, the last ones that have as many ranks.
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
  /// Names of the axes within which they are added up first, such as those of a
  /// node; without any, they are over all ranks at once.
  std::vector<std::string> gradientAxes;
  /// Elements that share a scale where something is quantized.
  int64_t quantizationBlock = 256;
  /// What quantized gradients lose is added to later ones:
  /// `zeropp_loco_param`. Absent: it is lost.
  std::optional<FeedbackConfig> errorFeedback;
  /// Samples of one rank in one micro-batch.
  int64_t microBatch = 1;
  /// Micro-batches of one update on one rank.
  int64_t accumulation = 1;
  /// Samples of one update on all ranks: microBatch * accumulation * ranks.
  int64_t trainBatch = 1;

  /// Type of the compute parameters and activations.
  Precision precision = Precision::F32;
  /// Type that gradients must travel in; absent: the one that they have.
  std::optional<Precision> communicationType;

  OptimizerConfig optimizer;
  /// In the order of the file; names are unique.
  std::vector<ParameterGroupConfig> parameterGroups;
  SchedulerConfig scheduler;
  LossScaleConfig lossScale;

  /// Bound on the global norm of the gradient; 0: none.
  double gradientClipping = 1.0;

  /// Most elements of a gradient bucket or of a communication interval.
  int64_t reduceBucketSize = PlanningDefaults::reduceBucketSize;
  /// Most elements of one gather of updated parameters.
  int64_t allgatherBucketSize = PlanningDefaults::allgatherBucketSize;
  /// A bucket is reduced while the next is filled; absent in the file: true at
  /// stage 3.
  bool overlapCommunication = false;
  /// A parameter without a gradient is left alone; otherwise it is an error.
  bool ignoreUnusedParameters = true;

  /// Stage 3: most elements gathered ahead of their use.
  int64_t prefetchBucketSize = PlanningDefaults::prefetchBucketSize;
  /// Stage 3: most elements of gathered parameters at once, as far as prefetch
  /// decides it.
  int64_t maxLiveParameters = PlanningDefaults::maxLiveParameters;
  /// Stage 3: most gathers that are started and not waited for, as early as
  /// the other limits allow; 0: as the cost model says, on `machine`.
  int64_t gathersInFlight = PlanningDefaults::gathersInFlight;
  /// What choices of time are made for: a name or file that `readMachine`
  /// knows. Empty where a file does not say: the target decides.
  std::string machine;
  /// Stage 3: parameters of at most this many elements stay whole...
  int64_t parameterPersistenceThreshold =
      PlanningDefaults::parameterPersistenceThreshold;
  /// ...as long as together they have at most this many.
  int64_t modelPersistenceThreshold =
      PlanningDefaults::modelPersistenceThreshold;
  /// Stage 3: keep a parameter that is used again within this many elements.
  int64_t maxReuseDistance = PlanningDefaults::maxReuseDistance;

  /// Activation checkpointing.
  CheckpointConfig checkpoint;

  /// Equal bits at every stage and bucket size, on one kind of CPU.
  bool deterministic = false;
  /// bf16: the master's upper half is the parameter; only the lower one is
  /// kept beside it.
  bool splitMaster = false;
  /// The tiers of optimizer states by name, such as "exp_avg" and "host"; all
  /// others are on the device.
  std::map<std::string, std::string> stateTiers;
  /// Optimizer states in host memory, and their update on the host.
  std::optional<OffloadConfig> offloadOptimizer;
  /// Stage 2's layout.
  Layout layout = Layout::Bucketed;
  /// What the loss of an update is a mean over; where nothing says it, its
  /// micro-batches, and a remark says where that matters.
  std::optional<LossMeanKind> lossMean;
  /// Elements that each rank's part of a bucket is padded to a multiple of.
  int64_t alignment = PlanningDefaults::alignment;
  /// 16-bit products also do the gelu that follows them. Where a file does not
  /// say, the target decides: devices have such kernels.
  bool fuseEpilogues = false;
  /// What a vocabulary is padded to a multiple of. Where a file does not say,
  /// the target decides: products of devices are faster then.
  int64_t vocabularyMultiple = 1;
  /// Norms and their gradients also do the addition beside them.
  bool fuseAdditions = true;
  /// The loss and its gradient are computed some rows of logits at a time.
  bool fuseCrossEntropy = false;
  /// Kernels that take strides read and write parts of tensors in place.
  bool fuseMoves = true;
  /// Paths of the keys that a file, or an option in its place, gives by
  /// itself, in increasing order: a search leaves them as they are.
  std::vector<std::string> given;

  /// One rank communicates as several do: its collectives are trivial, but
  /// there. Not of the file: it is for tests of what runs collectives.
  bool keepTrivialCollectives = false;
  /// Most bytes that one rank may need of its device; 0: any. Not of the file:
  /// the machine is not a part of what is trained.
  int64_t memoryBudget = 0;
  /// The same of host memory, beside a device's.
  int64_t hostMemoryBudget = 0;

  /// Whether gradients travel once a micro-batch, as they are computed.
  /// Otherwise they are added up first, in f32, and travel once an update.
  bool reducesEveryMicroBatch() const {
    return stage >= 2 || deterministic || accumulation == 1;
  }

  /// Ranks of a group of these axes of the mesh.
  int64_t ranksOf(const std::vector<std::string> &axes) const {
    int64_t product = 1;
    for (const MeshAxisConfig &axis : mesh)
      for (const std::string &name : axes)
        product *= axis.name == name ? axis.size : 1;
    return product;
  }

  /// Ranks over which states are cut.
  int64_t slices() const { return mesh.empty() ? ranks : ranksOf(shardAxes); }
  /// Whether anything travels or is stored quantized.
  bool quantizes() const {
    return quantizedWeightBits || quantizedFrozenBits || quantizedGradientBits;
  }
};

/// What replaces the file's keys of `offload_optimizer`, `offload_param` and
/// files. Absent: the file decides.
struct OffloadOverrides {
  /// "none", "cpu" or "nvme".
  std::optional<std::string> states, parameters;
  std::optional<double> ratio;
  std::optional<int64_t> subGroupSize;
  std::optional<bool> pipeline; ///< reads and writes
  std::optional<int64_t> uploadBuffers;
  std::optional<std::string> folder;
  std::optional<int64_t> leastBytes;
  std::optional<int64_t> inHost, bufferSize; ///< of parameters in files
};

/// What replaces the file's own values before anything is derived from them or
/// compared with them. Absent: the file decides.
struct ConfigOverrides {
  /// ZeRO stage.
  std::optional<int64_t> stage;
  /// Micro-batches of one update on one rank.
  std::optional<int64_t> accumulation;
  /// Compute type.
  std::optional<Precision> precision;
  /// Update rule.
  std::optional<std::string> optimizer;
  /// Static loss scale; 0: dynamic.
  std::optional<double> lossScale;
  /// Whether every stage reduces every micro-batch.
  std::optional<bool> deterministic;
  /// Axes of the ranks, as in `TrainConfig::mesh`.
  std::optional<std::vector<MeshAxisConfig>> mesh;
  /// Names of axes, separated by commas.
  std::optional<std::string> shardAxes;
  /// Ranks of a node, of the secondary partition of stage 3; 1: there is none.
  std::optional<int64_t> hpzPartitionSize;
  /// Bits of gathered weights; 0: those of their type.
  std::optional<int64_t> quantizedWeightBits, quantizedFrozenBits;
  /// The same of reduced gradients, and the ranks within which they are added
  /// up first.
  std::optional<int64_t> quantizedGradientBits, quantizedGradientsWithin;
  std::optional<int64_t> quantizationBlock;
  /// `FeedbackConfig::beta`, or 1: what quantized gradients lose is lost.
  std::optional<double> errorBeta;
  std::optional<int64_t> errorReset;
  OffloadOverrides offload;
};

/// What the caller knows and the file need not say.
struct ConfigContext {
  /// Data-parallel ranks; at least 1. Absent: as many as the mesh has, or 1.
  std::optional<int64_t> ranks;
  /// Samples that one call of the model's step takes; 0: not known. Where
  /// known it is the micro-batch, and the file must not say otherwise.
  int64_t modelMicroBatch = 0;
  /// What the caller insists on.
  ConfigOverrides overrides;
};

/// How much a message matters.
enum class ConfigSeverity { Error, Remark };

/// A message about one key of a file.
struct ConfigDiagnostic {
  ConfigSeverity severity;
  /// Path of the key, `zero_optimization.stage`; empty for the whole file.
  std::string key;
  /// Line of the key, from 1; 0 where the key is not in the file.
  unsigned line;
  /// Lower case, without place: what was found, wanted, and what to do.
  std::string message;
  /// Column of the key, from 1; 0 where the line is.
  unsigned column = 0;
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

/// The same for a file; one that cannot be read is an error.
std::optional<TrainConfig>
loadTrainConfig(llvm::StringRef path, const ConfigContext &context,
                llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics);

/// Reads "replica=2,shard=3". What cannot be read, names an axis twice, or has
/// an axis without ranks is nothing, and `error` says why.
std::optional<std::vector<MeshAxisConfig>> parseMesh(llvm::StringRef text,
                                                     std::string &error);

/// Writes a configuration that reads as `config` on as many ranks: a DeepSpeed
/// file with the block `zero`. The number of ranks and the memory budget are
/// not of the file.
void writeTrainConfig(llvm::raw_ostream &os, const TrainConfig &config);

/// Why the key at `path` changes nothing in a run of `config`, "changes nothing
/// at stage 1: ..."; empty where it may change something.
std::string describeIdleKey(llvm::StringRef path, const TrainConfig &config);

/// Checks every value of `config` by itself, wherever it came from: a range
/// that no pass or kernel could carry out is an error without key and line.
void verifyTrainConfig(const TrainConfig &config,
                       llvm::SmallVectorImpl<ConfigDiagnostic> &diagnostics);

/// Writes the table of all keys as a page of Markdown.
void writeConfigReference(llvm::raw_ostream &os);

} // namespace mlir::zero

#endif // ZERO_CONFIG_CONFIG_H
