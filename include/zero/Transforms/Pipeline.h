//===- Pipeline.h - from a model to a planned schedule --------------------===//
//
// One pipeline for all stages: stage 0 is the same code with nothing cut.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TRANSFORMS_PIPELINE_H
#define ZERO_TRANSFORMS_PIPELINE_H

#include "zero/Config/Config.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::zero {

/// The textual options of `zero-pipeline` and `zero-configure`. What is not
/// given is taken from `config`, or from the defaults below.
struct ZeroPipelineOptions : public PassPipelineOptions<ZeroPipelineOptions> {
  Option<std::string> config{
      *this, "config",
      llvm::cl::desc("DeepSpeed JSON file; the other options override it")};
  Option<int64_t> stage{*this, "stage", llvm::cl::desc("ZeRO stage, 0 to 3"),
                        llvm::cl::init(0)};
  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("Data-parallel ranks"),
                        llvm::cl::init(1)};
  Option<std::string> mesh{
      *this, "mesh",
      llvm::cl::desc("Axes of the ranks with their sizes, instead of 'ranks': "
                     "replica=2,shard=4")};
  Option<std::string> shardAxes{
      *this, "shard-axes",
      llvm::cl::desc("Axes of the mesh over which states are cut, separated by "
                     "commas; if empty, 'shard', or all where there is none")};
  Option<int64_t> hpzPartitionSize{
      *this, "hpz-partition-size",
      llvm::cl::desc("Stage 3: ranks of a node, within which parameters are "
                     "gathered again; 1: gathers are over all ranks"),
      llvm::cl::init(1)};
  Option<int64_t> quantizedWeights{
      *this, "quantized-weights",
      llvm::cl::desc("Stage 3: bits of gathered weights, 8 or 4; 0: those of "
                     "their type"),
      llvm::cl::init(0)};
  Option<int64_t> quantizedFrozenWeights{
      *this, "quantized-frozen-weights",
      llvm::cl::desc("Stage 3: bits in which weights that are not trained are "
                     "stored, 8 or 4; 0: those of their type"),
      llvm::cl::init(0)};
  Option<int64_t> quantizedGradients{
      *this, "quantized-gradients",
      llvm::cl::desc("Stage 3: bits of reduced gradients, 8 or 4; 0: those of "
                     "their type"),
      llvm::cl::init(0)};
  Option<int64_t> quantizedGradientsWithin{
      *this, "quantized-gradients-within",
      llvm::cl::desc("Ranks of a node, within which quantized gradients are "
                     "added up first; 1: all ranks exchange at once"),
      llvm::cl::init(1)};
  Option<int64_t> quantizationBlock{
      *this, "quantization-block",
      llvm::cl::desc("Elements that share a scale where something is "
                     "quantized"),
      llvm::cl::init(256)};
  Option<double> errorFeedback{
      *this, "error-feedback",
      llvm::cl::desc("How much of what quantized gradients lose stays to be "
                     "fed back, from 0 to below 1; 1: it is lost"),
      llvm::cl::init(1)};
  Option<int64_t> errorReset{
      *this, "error-reset",
      llvm::cl::desc("Updates until all errors that are fed back are zero"),
      llvm::cl::init(1024)};
  Option<int64_t> accumulation{*this, "accumulation",
                               llvm::cl::desc("Micro-batches of an update"),
                               llvm::cl::init(1)};
  Option<std::string> precision{
      *this, "precision", llvm::cl::desc("Compute type: f32, bf16 or f16"),
      llvm::cl::init("f32")};
  Option<std::string> optimizer{
      *this, "optimizer",
      llvm::cl::desc("Optimizer, such as adamw, adam or sgd"),
      llvm::cl::init("adamw")};
  Option<double> lr{*this, "lr", llvm::cl::desc("Learning rate"),
                    llvm::cl::init(1e-3)};
  Option<double> weightDecay{*this, "weight-decay",
                             llvm::cl::desc("Weight decay"), llvm::cl::init(0)};
  Option<double> momentum{*this, "momentum", llvm::cl::desc("Momentum (sgd)"),
                          llvm::cl::init(0)};
  Option<double> clip{
      *this, "clip", llvm::cl::desc("Gradient norm to clip at; 0: no clipping"),
      llvm::cl::init(1.0)};
  Option<double> lossScale{
      *this, "loss-scale",
      llvm::cl::desc("Static loss scale (f16); 0: dynamic"), llvm::cl::init(0)};
  Option<bool> deterministic{
      *this, "deterministic",
      llvm::cl::desc("Bitwise reproducible, and equal at every stage"),
      llvm::cl::init(false)};
  Option<int64_t> reduceBucketSize{
      *this, "reduce-bucket-size",
      llvm::cl::desc("Maximum elements of a gradient bucket or interval"),
      llvm::cl::init(PlanningDefaults::reduceBucketSize)};
  Option<int64_t> allgatherBucketSize{
      *this, "allgather-bucket-size",
      llvm::cl::desc(
          "Most elements of a gather of updated parameters; a larger "
          "segment is not cut"),
      llvm::cl::init(PlanningDefaults::allgatherBucketSize)};
  Option<int64_t> alignment{
      *this, "alignment",
      llvm::cl::desc("A rank's part is a multiple of this many elements"),
      llvm::cl::init(PlanningDefaults::alignment)};
  Option<std::string> layout{*this, "layout",
                             llvm::cl::desc("Stage 2: bucketed or contiguous"),
                             llvm::cl::init("bucketed")};
  Option<std::string> lossMean{
      *this, "loss-mean",
      llvm::cl::desc("What weighs the same in an update: tokens, or "
                     "micro_batches"),
      llvm::cl::init("micro_batches")};
  Option<bool> splitMaster{
      *this, "split-master",
      llvm::cl::desc("bf16: keep the lower half of master weights only; the "
                     "upper one is the parameter"),
      llvm::cl::init(false)};
  ListOption<std::string> stateTiers{
      *this, "state-tiers",
      llvm::cl::desc("Where optimizer states are: exp_avg=host")};
  Option<std::string> offloadOptimizer{
      *this, "offload-optimizer",
      llvm::cl::desc("Where optimizer states are kept: none, cpu, or nvme; the "
                     "host updates what is not on the device"),
      llvm::cl::init("none")};
  Option<std::string> nvmePath{
      *this, "nvme-path",
      llvm::cl::desc("Existing folder for files of optimizer states"),
      llvm::cl::init("")};
  Option<int64_t> nvmeMinBytes{
      *this, "nvme-min-bytes",
      llvm::cl::desc("Bytes of a state below which those of a sub-group stay "
                     "in host memory, and of a parameter's slice below which "
                     "it does"),
      llvm::cl::init(1 << 20)};
  Option<std::string> offloadParameters{
      *this, "offload-param",
      llvm::cl::desc("Stage 3: where sharded parameters are kept: none, cpu, "
                     "which needs offload-optimizer, or nvme, which needs "
                     "offload-optimizer=nvme"),
      llvm::cl::init("none")};
  Option<int64_t> maxInCpu{
      *this, "max-in-cpu",
      llvm::cl::desc("With offload-param=nvme, elements of a rank's parameters "
                     "that stay in host memory: of the first that fit"),
      llvm::cl::init(0)};
  Option<int64_t> readBufferSize{
      *this, "read-buffer-size",
      llvm::cl::desc("With offload-param=nvme, the most elements of a slice "
                     "that is read from a file"),
      llvm::cl::init(100000000)};
  Option<int64_t> uploadBuffers{
      *this, "upload-buffers",
      llvm::cl::desc(
          "With offload-param, uploads of slices, or reads from files, start "
          "as many gathers ahead, less one"),
      llvm::cl::init(2)};
  Option<double> offloadRatio{
      *this, "offload-ratio",
      llvm::cl::desc("The least part of each partition that is offloaded"),
      llvm::cl::init(1)};
  Option<int64_t> subGroupSize{
      *this, "sub-group-size",
      llvm::cl::desc("Maximum elements of one rank that the host updates "
                     "together"),
      llvm::cl::init(1000000000)};
  Option<bool> pipelineUpdates{
      *this, "pipeline-updates",
      llvm::cl::desc("Copy gradients and parameters of other sub-groups while "
                     "the host updates one"),
      llvm::cl::init(false)};
  Option<int64_t> maxReuseDistance{
      *this, "max-reuse-distance",
      llvm::cl::desc(
          "Stage 3: keep a parameter used again within fewer elements"),
      llvm::cl::init(PlanningDefaults::maxReuseDistance)};
  Option<int64_t> persistenceThreshold{
      *this, "param-persistence-threshold",
      llvm::cl::desc(
          "Stage 3: parameters of at most this many elements stay whole"),
      llvm::cl::init(PlanningDefaults::parameterPersistenceThreshold)};
  Option<int64_t> modelPersistenceThreshold{
      *this, "model-persistence-threshold",
      llvm::cl::desc("Stage 3: maximum total elements that stay whole"),
      llvm::cl::init(PlanningDefaults::modelPersistenceThreshold)};
  Option<int64_t> prefetchBucketSize{
      *this, "prefetch-bucket-size",
      llvm::cl::desc("Stage 3: maximum elements gathered ahead of their use"),
      llvm::cl::init(PlanningDefaults::prefetchBucketSize)};
  Option<int64_t> maxLiveParameters{
      *this, "max-live-parameters",
      llvm::cl::desc("Stage 3: maximum elements of gathered parameters"),
      llvm::cl::init(PlanningDefaults::maxLiveParameters)};
  Option<int64_t> gathersInFlight{
      *this, "gathers-in-flight",
      llvm::cl::desc("Stage 3: maximum gathers in flight; 0: the cost model "
                     "decides"),
      llvm::cl::init(PlanningDefaults::gathersInFlight)};
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc("The machine to optimize for: host, a100, h100, h200, "
                     "or a file from zero-plan --calibrate; default: host "
                     "with target=host, else h100")};
  Option<bool> overlap{
      *this, "overlap",
      llvm::cl::desc("Reduce a bucket while the next one is filled"),
      llvm::cl::init(false)};
  Option<int64_t> checkpointActivations{
      *this, "checkpoint-activations",
      llvm::cl::desc("Recompute activations, keeping those between every so "
                     "many layers; 0: keep all"),
      llvm::cl::init(0)};
  ListOption<int64_t> checkpointLayers{
      *this, "checkpoint-layers",
      llvm::cl::desc("Layers to recompute, counted from 0; default: all")};
  Option<std::string> checkpointPolicy{
      *this, "checkpoint-policy",
      llvm::cl::desc("What to recompute: all that the backward needs; cheap, "
                     "which keeps products and attention; or full, the whole "
                     "forward"),
      llvm::cl::init("all")};
  Option<bool> checkpointOffload{
      *this, "checkpoint-offload",
      llvm::cl::desc("Keep the activations between spans in host memory until "
                     "the backward pass"),
      llvm::cl::init(false)};
  Option<bool> fuseEpilogues{
      *this, "fuse-epilogues",
      llvm::cl::desc("Fuse gelu, its gradient, gradients of biases and "
                     "additions into matrix products; default: with "
                     "target=cuda"),
      llvm::cl::init(false)};
  Option<int64_t> vocabularyMultiple{
      *this, "vocabulary-multiple",
      llvm::cl::desc("Pad the vocabulary to a multiple of this; default: 64 "
                     "with target=cuda, else 1"),
      llvm::cl::init(1)};
  Option<bool> fuseMoves{
      *this, "fuse-moves",
      llvm::cl::desc("Let kernels that can read and write parts of tensors "
                     "where they are"),
      llvm::cl::init(true)};
  Option<bool> fuseAdditions{
      *this, "fuse-additions",
      llvm::cl::desc("Fuse residual additions into norms, and those of "
                     "gradients into the gradients of norms"),
      llvm::cl::init(true)};
  Option<bool> fuseCrossEntropy{
      *this, "fuse-cross-entropy",
      llvm::cl::desc("Compute the loss and its gradient some rows of logits at "
                     "a time"),
      llvm::cl::init(false)};
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Kernels to plan for: host or cuda; default: those of "
                     "the host, with the times of an h100")};
  Option<bool> ignoreUnused{
      *this, "ignore-unused-parameters",
      llvm::cl::desc("Leave parameters without a gradient unchanged; if false, "
                     "they are an error"),
      llvm::cl::init(true)};
  Option<bool> keepTrivialCollectives{
      *this, "keep-trivial-collectives",
      llvm::cl::desc("Keep the collectives of a single rank, which move "
                     "nothing, to test what runs them"),
      llvm::cl::init(false)};
  Option<std::string> memoryBudget{
      *this, "memory-budget",
      llvm::cl::desc("Limit of a rank's device memory, such as 80GiB; empty: "
                     "none")};
  Option<std::string> hostMemoryBudget{
      *this, "host-memory-budget",
      llvm::cl::desc("Limit of what a rank offloads to host memory; empty: "
                     "none")};

  /// Reads options in the form `key=value key=value`; null, with an error that
  /// names the first one that cannot be read.
  static std::unique_ptr<ZeroPipelineOptions> read(StringRef text,
                                                   std::string &error);

  /// The configuration that the options mean for `module`, whose micro-batch
  /// decides about accumulation. Complete and in range, or an error was
  /// reported: at the line of `config`, or at the module's place. `offload`
  /// stands for all options about what is offloaded.
  FailureOr<TrainConfig>
  resolve(ModuleOp module,
          const std::optional<OffloadOverrides> &offload = std::nullopt) const;
};

/// A `zero-configure` that takes its configuration from the caller.
std::unique_ptr<Pass> createConfigurePass(const TrainConfig &config);

/// Ends a pipeline: fails where gradients travel in another type than
/// `config.communicationType`, and remarks where stage 3 saves little memory
/// and `config` is why.
std::unique_ptr<Pass> createCheckPlanPass(const TrainConfig &config);

/// Adds the passes from a model to kernels on one device, the same for every
/// stage: a part of the whole.
void buildModelPipeline(OpPassManager &manager, const TrainConfig &config);

/// Adds all passes from a model to a planned schedule.
void buildZeroPipeline(OpPassManager &manager, const TrainConfig &config);

/// Registers `zero-pipeline`.
void registerZeroPipelines();

} // namespace mlir::zero

#endif // ZERO_TRANSFORMS_PIPELINE_H
