//===- Settings.td - every key of a configuration -------------*- tablegen -*-===//
//
// In the order of docs/Configuration.md, each block before its keys. Names and defaults
// are DeepSpeed's (0.19), except in the block "zero".
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONFIG_SETTINGS_TD
#define ZERO_CONFIG_SETTINGS_TD

include "zero/Config/Key.td"

/// Ranks, micro-batches and samples travel in 32 bits.
defvar kMostCount = 2147483647;

//===----------------------------------------------------------------------===//
// Parts of a configuration
//===----------------------------------------------------------------------===//

def Run : Part<"TrainConfig", [{&config}]>;
def Optimizer : Part<"OptimizerConfig", [{&config.optimizer}]>;
def Schedule : Part<"SchedulerConfig", [{
    config.scheduler.type == SchedulerType::Constant ? nullptr : &config.scheduler}]>;
def LossScale : Part<"LossScaleConfig", [{
    config.lossScale.enabled ? &config.lossScale : nullptr}]>;
def Checkpoint : Part<"CheckpointConfig", [{
    config.checkpoint.every > 0 ? &config.checkpoint : nullptr}]>;
def Feedback : Part<"FeedbackConfig", [{
    config.errorFeedback ? &*config.errorFeedback : nullptr}]>;
def Offload : Part<"OffloadConfig", [{
    config.offloadOptimizer ? &*config.offloadOptimizer : nullptr}]>;
def OffloadedParameters : Part<"OffloadConfig", [{
    config.offloadOptimizer && config.offloadOptimizer->parameters
        ? &*config.offloadOptimizer : nullptr}]>;
def Files : Part<"FilesConfig", [{
    config.offloadOptimizer && config.offloadOptimizer->files
        ? &*config.offloadOptimizer->files : nullptr}]>;
def ParameterFiles : Part<"ParameterFilesConfig", [{
    config.offloadOptimizer && config.offloadOptimizer->parameterFiles
        ? &*config.offloadOptimizer->parameterFiles : nullptr}]>;

def Layouts : SharedWords<"Layout", Zero_Layout, ["Bucketed", "Contiguous"]>;
def FloatTypes : SharedWords<"FloatType", Zero_DataType, ["F32", "F16", "BF16"],
    ["fp32", "fp16", "bf16"]>;
def LossMeans : Words<"LossMeanKind", ["tokens", "micro_batches"]>;
def GivenGradients : Words<"GivenGradientKind", ["add", "instead"]>;
def DropOrders : SharedWords<"DropOrder", Zero_DropOrder, ["Position", "Probability"]>;
def PassOrders : SharedWords<"PassOrder", Zero_PassOrder,
    ["OneForwardOneBackward", "Gpipe", "Interleaved"]>;
def RecomputePolicies : Words<"RecomputePolicy", ["all", "cheap", "full"]>;

//===----------------------------------------------------------------------===//
// Why a key changes nothing
//===----------------------------------------------------------------------===//

def NotGathered : Reason<[{config.stage != 3}],
    "only stage 3 gathers parameters for their uses">;
def NotStored : Reason<[{config.stage != 3}],
    "only stage 3 stores slices of parameters">;
def NotReduced : Reason<[{config.stage != 3}],
    "only gradients of stage 3 are quantized">;
def NotInBuckets : Reason<[{config.stage != 1 && config.stage != 2}],
    "only stages 1 and 2 gather updated parameters in buckets">;
def NotCut : Reason<[{config.stage != 2 && config.layout != zrt::Layout::Bucketed}],
    "only stage 2 cuts groups in one way or the other">;
def PaddedToBytes : Reason<[{config.stage == 3}],
    "parameters that are gathered are padded to 16 bytes a rank">;
def NoPipeAxis : Reason<[{!config.hasAxis("pipe")}],
    "the mesh has no axis 'pipe' of more than one rank">;
def NotInterleaved : Reason<[{config.pipelineOrder != zrt::PassOrder::Interleaved}],
    "only the schedule `interleaved` has several groups of layers in a stage",
    "give pipeline-schedule=interleaved">;
def ReducedLast : Reason<[{config.hasAxis("pipe") && config.overlapCommunication}],
    "beside the axis 'pipe' gradients are reduced after the last backward pass">;
def NoTensorAxis : Reason<[{!config.hasAxis("tensor")}],
    "no axis `tensor` has more than one rank", "give --mesh data=2,tensor=2">;
def NoExperts : Reason<[{!config.hasAxis("expert")}],
    "no axis `expert` has more than one rank",
    "give --mesh data=2,expert=2">;
def NotEnabled : Reason<[{!config.hasAxis("expert")}],
    "`expert_parallel.enabled` is not true", "give expert_parallel.enabled=true">;
def OrderedByMesh : Reason<[{llvm::is_contained(config.given, "zero.mesh")}],
    "`zero.mesh` gives the order of the axes", "give the axes in their order">;
def OneGroup : Reason<[{config.mesh.empty()}], "all ranks are one group">;
def OneNode : Reason<[{config.secondaryAxes.empty()}],
    "the ranks that states are partitioned over are one node">;
def OneSlice : Reason<[{config.slices() == 1}],
    "states are partitioned over one rank">;
def NoWeightsQuantized : Reason<[{!config.quantizedWeightBits}],
    "no weights are quantized">;
def NoFrozenQuantized : Reason<[{!config.quantizedFrozenBits}],
    "no weights that are not trained are quantized">;
def NoGradientsQuantized : Reason<[{!config.quantizedGradientBits}],
    "no gradients are quantized">;
def NothingQuantized : Reason<[{!config.quantizes()}], "nothing is quantized">;
def NotFused : Reason<[{!config.fuseCrossEntropy}],
    "no cross entropy is fused", "give fuse-cross-entropy=true">;
def NoForward : Reason<[{config.givenGradients == GivenGradientKind::Instead}],
    "gradients from outside are taken instead of those of the loss, and no forward pass "
    "is left to recompute">;
def NotLimited : Reason<[{config.expertCapacityFactor == 0}],
    "experts take all that choose them", "give expert-capacity-factor=1">;
def NotOffloaded : Reason<[{!findOffload(config)}],
    "nothing is offloaded", "give offload-optimizer=cpu">;
def NoStates : Reason<[{!findOffloadedParameters(config) && isStateless(config)}],
    "SGD without momentum keeps no states in f32">;
def NotCopiedBack : Reason<[{findOffloadedParameters(config) && !findFiles(config)}],
    "parameters are updated in host memory, and not copied back">;
def NotOnHost : Reason<[{!findOffloadedParameters(config)}],
    "parameters are not kept in host memory", "give offload-param=cpu">;
def NoFiles : Reason<[{!findFiles(config)}],
    "nothing is kept in files", "give offload-optimizer=nvme">;
def NoParameterFiles : Reason<[{!findParameterFiles(config)}],
    "parameters are not kept in files", "give offload-param=nvme">;

// Reasons that replace the note of a key that never changes anything.
def WholeEverywhere : Reason<[{config.stage == 0}],
    "stage 0 keeps gradients whole on every rank, and all-reduces them">;
def UpdatedEverywhere : Reason<[{config.stage == 0}],
    "at stage 0 every rank updates whole parameters, and none is sent">;
def GatheredForUses : Reason<[{config.stage == 3}],
    "stage 3 gathers parameters for their uses, and after the update only those that "
    "stay whole">;
def AddedUpInOneBuffer : Reason<[{!config.reducesEveryMicroBatch()}],
    "gradients of micro-batches are added up in the buffer that is reduced">;
def NormIsNeeded : Reason<[{config.gradientClipping > 0}],
    "gradient_clipping needs the norm">;
def AlreadyAligned : Reason<[{config.stage == 3}],
    "stage 3 begins each parameter at a multiple of 16 bytes">;
def NotRounded : Reason<[{config.precision == zrt::DataType::F32}],
    "the model computes in f32, with the weights that a checkpoint has">;
def OneRangeEach : Reason<[{
    config.stage == 2 && config.layout == zrt::Layout::Contiguous}],
    "with the layout `contiguous` each rank owns one range of a group; `bucketed` "
    "divides each bucket among all ranks">;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

defvar kPlanned = "buffers are planned at compile time";
defvar kNoBroadcasts =
    "updated parameters are gathered, and nothing is broadcast; the result is the same";

defset list<Key> AllKeys = {
include "zero/Config/BatchKeys.td"
include "zero/Config/OptimizerKeys.td"
include "zero/Config/PrecisionKeys.td"
include "zero/Config/ZeroOptimizationKeys.td"
include "zero/Config/ZeroKeys.td"
include "zero/Config/OtherKeys.td"
}

/// The key at that path.
class KeyAt<string path> {
  Key key = !head(!filter(one, AllKeys, !eq(one.path, path)));
}

/// The keys that `#zero.planning` has a parameter for.
defvar PlannedKeys = !filter(key, AllKeys, !ne(key.planned, ""));

//===----------------------------------------------------------------------===//
// Options that stand for several keys
//===----------------------------------------------------------------------===//

defvar kOff = "; 0: those of their type";
def : CompoundOption<"precision", Choice, "compute type",
    ["f32", "bf16", "f16", "fp16"]>, Sets<"setPrecision">;
def : CompoundOption<"optimizer", Text, "optimizer, such as adamw, adam or sgd">,
    Sets<"setOptimizer">;
def : CompoundOption<"mesh", Text,
    "axes of the ranks with their sizes, instead of 'ranks': replica=2,shard=4">,
    Sets<"setMesh">;
def : CompoundOption<"state-tiers", Text,
    "where states of the optimizer are: exp_avg=host,exp_avg_sq=host">,
    Sets<"setTiers">;
def : CompoundOption<"quantized-weights", Size,
    "stage 3: bits of gathered weights, 8 or 4" # kOff>,
    Sets<"setBits", ["zero_optimization.zero_quantized_weights",
                     "zero.quantized_weights_bits"]>;
def : CompoundOption<"quantized-frozen-weights", Size,
    "stage 3: bits in which weights that are not trained are stored, 8 or 4" # kOff>,
    Sets<"setBits", ["zero_optimization.zero_quantized_nontrainable_weights",
                     "zero.quantized_nontrainable_weights_bits"]>;
def : CompoundOption<"quantized-gradients", Size,
    "stage 3: bits of reduced gradients, 8 or 4" # kOff>,
    Sets<"setBits", ["zero_optimization.zero_quantized_gradients",
                     "zero.quantized_gradients_bits"]>;
def : CompoundOption<"error-feedback", NonNegative,
    "how much of what quantized gradients lose stays to be fed back, from 0 to below "
    "1; 1: it is lost">, Sets<"setFeedback">;
def : CompoundOption<"error-reset", Count,
    "updates until all errors that are fed back are zero">, Sets<"setReset">;
def : CompoundOption<"pipeline-updates", Bool,
    "copy gradients and parameters of other sub-groups while the host updates one">,
    Sets<"setPipelined">;
def : CompoundOption<"checkpoint-activations", Size,
    "recompute activations, keeping those between every so many layers; 0: keep all">;
def : CompoundOption<"checkpoint-layers", Sizes,
    "layers to recompute, counted from 0; all, where it is not given">;
def : CompoundOption<"checkpoint-policy", Choice,
    "what to recompute: all that the backward needs; cheap, which keeps products and "
    "attention; or full, the whole forward", RecomputePolicies.words>;
def : CompoundOption<"checkpoint-offload", Bool,
    "keep the activations between spans in host memory until the backward pass">;

#endif // ZERO_CONFIG_SETTINGS_TD
