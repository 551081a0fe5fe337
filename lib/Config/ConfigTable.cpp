//===- ConfigTable.cpp - The rows of the table of keys ----------*- C++ -*-===//
//
// Names and defaults are DeepSpeed's (0.19), except the block "zero".
//
//===----------------------------------------------------------------------===//
#include "ConfigRows.h"

#include "zero/Config/Config.h"

#include <vector>

using namespace mlir::zero;
using namespace mlir::zero::rows;

namespace {
constexpr const char *kKernelQueue =
    "reads and writes are queued in the kernel, each as soon as there is room";
constexpr const char *kOwnMetrics =
    "the executable reports for itself: --metrics writes every update to a "
    "file";
constexpr const char *kSameMean =
    "16-bit sums over ranks are scaled by a power of two, so that they do not "
    "overflow; the mean is the same";

constexpr ConfigKey kBatchKeys[] = {
    {"train_batch_size", T::Count, "null", yes,
     "samples per update, over all ranks; any two of the three batch keys "
     "determine the third"},
    {"train_micro_batch_size_per_gpu", T::Count, "null", yes,
     "samples per micro-batch and rank; when absent, the model's batch "
     "dimension"},
    {"gradient_accumulation_steps", T::Count, "null", yes,
     "micro-batches per update"},
    {"managed_gradient_accumulation", T::Bool, "true", no,
     "count micro-batches and update after the last one",
     "the update is part of the compiled step; leave it out"},
    {"dataloader_drop_last", T::Bool, "false", none,
     "drop the last incomplete batch",
     "every sample of an update is a function of the seed; there is no "
     "incomplete batch"},
};

/// After those of the optimizer.
constexpr ConfigKey kTypeKeys[] = {
    // Precision.
    {"fp16", T::Object, "null", yes, "16-bit training with a scaled loss"},
    {"fp16.enabled", T::Bool, "false", yes, "compute in f16"},
    {"fp16.auto_cast", T::Bool, "false", no, "cast the inputs of the model",
     "inputs have the type that the model declares; leave it out"},
    {"fp16.loss_scale", T::NonNegative, "0", yes,
     "a fixed scale; 0 means dynamic"},
    {"fp16.initial_scale_power", T::Size, "16", yes,
     "a dynamic scale starts at 2 to this power"},
    {"fp16.loss_scale_window", T::Count, "1000", yes,
     "updates without an overflow before the scale doubles"},
    {"fp16.hysteresis", T::Count, "2", yes,
     "overflows before the scale is halved"},
    {"fp16.consecutive_hysteresis", T::Bool, "false", yes,
     "an update without an overflow refills the hysteresis"},
    {"fp16.min_loss_scale", T::Positive, "1", yes,
     "smallest scale; an overflow at this scale ends the run"},
    {"fp16.fp16_master_weights_and_grads", T::Bool, "false", no,
     "keep master weights in f16", "master weights are f32; leave it out"},
    {"bf16", T::Object, "null", yes, "16-bit training with the range of f32"},
    {"bf16.enabled", T::Bool, "false", yes, "compute in bf16"},
    {"bf16.immediate_grad_update", T::Bool, "false", none,
     "accumulate gradients as soon as they are computed",
     "each gradient is accumulated after its last contribution"},
    {"bf16.check_grad_overflow", T::Bool, "true", no,
     "skip updates with a gradient that is not finite",
     "the check shares a read with the norm and costs nothing; leave it out"},
    {"bf16.bf16_master_weights_and_grads", T::Bool, "false", no,
     "keep master weights in bf16", "master weights are f32; leave it out"},
    {"bf16.bf16_optimizer_states", T::Bool, "false", no, "keep moments in bf16",
     "moments are f32; leave it out"},
    {"bfloat16", T::Object, "null", yes, "old name of bf16"},
    {"bfloat16.enabled", T::Bool, "false", yes, "compute in bf16"},
    {"data_types", T::Object, "null", yes, "types of individual states"},
    {"data_types.grad_accum_dtype", T::Choice, "null", yes,
     "type of gradient accumulation; must be fp32 with several micro-batches",
     "", "fp32|fp16|bf16"},
    {"data_types.param_dtype", T::Choice, "null", no, "type of parameters",
     "it follows from fp16 and bf16; leave it out", "fp32|fp16|bf16"},
    {"data_types.buffer_dtype", T::Choice, "null", no, "type of buffers",
     "it follows from the model; leave it out", "fp32|fp16|bf16"},
    {"amp", T::Block, "null", no, "NVIDIA apex", "use bf16 or fp16"},
    {"ddp_bf16", T::Any, "null", no, "gradients in bf16 without ZeRO",
     "gradients are communicated in the compute type; use bf16"},
    {"torch_autocast", T::Block, "null", no, "PyTorch's autocast",
     "use bf16: statistics and the loss stay f32"},

    // Gradients.
    {"gradient_clipping", T::NonNegative, "1.0", yes,
     "bound on the global gradient norm; 0 means none"},
    {"prescale_gradients", T::Bool, "false", none,
     "divide gradients before they are reduced, against overflow", kSameMean},
    {"gradient_predivide_factor", T::Positive, "1.0", none,
     "divide by this before, and by the rest of the ranks after", kSameMean},
    {"gradient_allreduce_op", T::Choice, "\"mean\"", no,
     "how gradients are combined over ranks",
     "updates use the mean; scale the learning rate instead", "mean|sum"},
    {"communication_data_type", T::Choice, "null", yes,
     "type that gradients travel in; must be the one that they have: the "
     "compute type, or fp32 where micro-batches are added up before (stages 0 "
     "and 1)",
     "", "fp32|fp16|bf16"},
    {"seq_parallel_communication_data_type", T::Choice, "\"fp32\"", no,
     "type of sequence-parallel communication",
     "sequences are not split over ranks; leave it out", "fp32|fp16|bf16"},
    {"sparse_gradients", T::Bool, "false", no,
     "send embedding gradients as sparse rows",
     "gradients are slices of flat groups; leave it out"},
    {"disable_allgather", T::Bool, "false", no,
     "distribute updated parameters by broadcasts",
     "gathers send the same bytes in one collective; leave it out"},
};

/// After those of `zero_optimization`.
constexpr ConfigKey kLastKeys[] = {
    // Our own block.
    {"zero", T::Object, "null", yes, "what DeepSpeed has no key for"},
    {"zero.deterministic", T::Bool, "false", yes,
     "results are bitwise equal at every stage and bucket size, on one kind of "
     "CPU"},
    {"zero.split_master", T::Bool, "false", yes,
     "bf16: keep only the lower 16 bits of master weights, whose upper half is "
     "the parameter itself; bitwise equal, with 2 bytes less per element"},
    {"zero.state_tiers", T::Object, "null", yes,
     "where states of the optimizer are, by name; all others are on the "
     "device"},
    {"zero.state_tiers.*", T::Choice, "\"device\"", yes,
     "where one state is, such as exp_avg: in memory of the device, in pinned "
     "memory of the host, or in a file (plans only: what runs reads files of "
     "all states, with offload_optimizer and the device nvme)",
     "", "device|host|file"},
    {"zero.offload_nvme_min_bytes", T::Size, "1048576", yes,
     "bytes of a state below which those of a sub-group stay in host memory, "
     "where others are in files"},
    {"zero.mesh", T::Object, "null", yes,
     "ranks as a mesh of named axes, in row-major order, instead of one group"},
    {"zero.mesh.*", T::Count, "null", yes, "ranks along one axis"},
    {"zero.quantized_weights_bits", T::Count, "8", yes,
     "bits of quantized weights: 8 or 4"},
    {"zero.quantized_nontrainable_weights_bits", T::Count, "8", yes,
     "bits of weights that are not trained and stored quantized: 8 or 4"},
    {"zero.quantized_gradients_bits", T::Count, "4", yes,
     "bits of quantized gradients: 8 or 4"},
    {"zero.quantized_gradients_within", T::Count, "1", yes,
     "ranks of a node, within which quantized gradients are added up before "
     "the sums travel between nodes; 1: all ranks exchange at once; where it "
     "is left out, zero_hpz_partition_size"},
    {"zero.quantization_block", T::Count, "256", yes,
     "neighbouring elements that share a scale where something is quantized: "
     "an even number"},
    {"zero.shard_axes", T::Text, "\"\"", yes,
     "axes of the mesh over which states are cut, separated by commas; empty: "
     "`shard` if there is such an axis, else all"},
    {"zero.layout", T::Choice, "\"bucketed\"", yes,
     "how stage 2 partitions a group: each bucket into one slice per rank, or "
     "the whole group into one contiguous range per rank",
     "", "bucketed|contiguous"},
    {"zero.loss_mean", T::Choice, "\"micro_batches\"", yes,
     "what weighs the same in the loss of an update and its gradient: each "
     "micro-batch, as in DeepSpeed with a loss that the model computes, or "
     "each token that counts in any of them, on any rank",
     "", "tokens|micro_batches"},
    {"zero.alignment", T::Count, "128", yes,
     "each rank's part of a bucket is padded to a multiple of this many "
     "elements"},
    {"zero.gathers_in_flight", T::Size, "0", yes,
     "stage 3: number of gathers in flight, started as early as the other "
     "limits allow; 0: as few and as late as possible at a cost of at most 0.5 "
     "% of a micro-batch's time on `machine`"},
    {"zero.machine", T::Text, "null", yes,
     "what choices of time are made for: `host`, `a100`, `h100`, `h200`, "
     "`a100-eager`, `h100-eager`, or a "
     "file of `zero-plan --calibrate`; when absent, `host` where the target "
     "is named host, else `h100`"},
    {"zero.fuse_epilogues", T::Bool, "null", yes,
     "fuse the tanh form of GELU, its gradient and the gradients of biases "
     "into "
     "16-bit matrix products, and with `fuse_additions` what is added to a "
     "product's result; results differ in their last bits; where it is not "
     "given, true on GPUs"},
    {"zero.vocabulary_multiple", T::Count, "null", yes,
     "pad output projections, and token embeddings that are the same "
     "parameter, with rows of zeros to a multiple of this; files keep their "
     "shape. Where it is not given, 64 on GPUs, else 1"},
    {"zero.fuse_additions", T::Bool, "true", yes,
     "fuse residual additions into the norms that read them, and additions of "
     "gradients into the gradients of norms; results are the same, bit for "
     "bit, but for what `fuse_epilogues` lets products add"},
    {"zero.fuse_cross_entropy", T::Bool, "false", yes,
     "compute the cross entropy of a linear operation, and its gradient, some "
     "rows of logits at a time, so that the logits of a micro-batch never "
     "exist"},
    {"zero.fuse_moves", T::Bool, "true", yes,
     "let kernels that can, such as attention's, read and write parts of "
     "tensors where they are, instead of splitting and joining them"},
    {"zero.checkpoint_activations", T::Object, "null", yes,
     "recompute activations in the backward pass instead of keeping them; when "
     "absent, all are kept"},
    {"zero.checkpoint_activations.every", T::Count, "1", yes,
     "layers per span; the activations between spans are kept"},
    {"zero.checkpoint_activations.layers", T::Sizes, "[]", yes,
     "layers that are recomputed, from 0 on; empty: all"},
    {"zero.checkpoint_activations.policy", T::Choice, "\"all\"", yes,
     "recompute what the backward pass needs; of that only what is "
     "memory-bound, "
     "which keeps products and attention; or the whole forward pass, as "
     "frameworks do",
     "", "all|cheap|full"},
    {"zero.checkpoint_activations.offload", T::Bool, "false", yes,
     "copy what is kept to host memory, and back before the backward pass "
     "needs it"},
    {"zero.parameter_groups", T::Object, "null", yes,
     "settings of the parameter groups that the model declares"},
    {"zero.parameter_groups.*", T::Object, "null", yes,
     "settings of one group; absent ones are the optimizer's"},
    {"zero.parameter_groups.*.lr", T::NonNegative, "null", yes,
     "learning rate of the group"},
    {"zero.parameter_groups.*.weight_decay", T::NonNegative, "null", yes,
     "weight decay of the group"},

    // Reports.
    {"steps_per_print", T::Any, "null", none, "updates between log messages",
     kOwnMetrics},
    {"wall_clock_breakdown", T::Bool, "false", none, "print times",
     kOwnMetrics},
    {"memory_breakdown", T::Bool, "false", none, "print memory",
     "--memory prints the plan, which is exact"},
    {"dump_state", T::Bool, "false", none, "print the engine's state",
     "--schedule prints every command"},
    {"log_level", T::Any, "null", none, "lowest level of log messages",
     kOwnMetrics},
    {"vocabulary_size", T::Any, "null", none, "size for reports",
     "it follows from the model"},
    {"flops_profiler", T::Block, "null", none,
     "count floating-point operations",
     "the plan counts the operations of every kernel"},
    {"comms_logger", T::Block, "null", none, "log collectives",
     "--schedule prints every collective with its size"},
    {"tensorboard", T::Block, "null", none, "write TensorBoard files",
     "give --tensorboard DIR to the executable"},
    {"wandb", T::Block, "null", none, "send metrics to a service", kOwnMetrics},
    {"csv_monitor", T::Block, "null", none, "write metrics as CSV",
     kOwnMetrics},
    {"comet", T::Block, "null", none, "send metrics to a service", kOwnMetrics},
    {"timers", T::Block, "null", none, "measure throughput", kOwnMetrics},

    // Checkpoints.
    {"checkpoint", T::Object, "null", yes, "how checkpoints are written"},
    {"checkpoint.tag_validation", T::Text, "\"Warn\"", none,
     "compare the tags of the ranks", "all ranks run one program"},
    {"checkpoint.load_universal", T::Bool, "false", no,
     "read DeepSpeed's universal checkpoints",
     "give weights by parameter name with --weights"},
    {"checkpoint.use_node_local_storage", T::Bool, "false", no,
     "write to node-local disks",
     "all ranks write checkpoints to one file system; leave it out"},
    {"checkpoint.parallel_write", T::Block, "null", none,
     "write from several ranks", "every rank always writes a file of its own"},
    {"checkpoint.writer", T::Block, "null", none, "settings of the writer",
     "every rank streams into a file of its own"},
    {"checkpoint.checkpoint_serialization", T::Bool, "true", none,
     "use PyTorch's serialization",
     "checkpoints and weights are safetensors files"},
    {"nebula", T::Block, "null", no, "checkpoints to a service",
     "use --checkpoint; leave it out"},
    {"aio", T::Object, "null", yes, "settings of asynchronous file I/O"},
    {"aio.block_size", T::Size, "1048576", yes,
     "bytes of one read or write, a multiple of 4096"},
    {"aio.queue_depth", T::Count, "8", yes,
     "reads and writes of a rank in flight together"},
    {"aio.intra_op_parallelism", T::Count, "1", none, "threads of a read",
     kKernelQueue},
    {"aio.thread_count", T::Count, "1", none, "threads of a read",
     kKernelQueue},
    {"aio.single_submit", T::Bool, "false", none, "submit reads one by one",
     kKernelQueue},
    {"aio.overlap_events", T::Bool, "true", none,
     "submit reads while others complete", kKernelQueue},
    {"aio.use_gds", T::Bool, "false", no, "GPUDirect Storage",
     "states are updated on the host, and are read to its memory; leave it "
     "out"},

    // What is decided elsewhere, or not at all.
    {"compile", T::Block, "null", none, "DeepCompile",
     "the whole step is compiled ahead of time"},
    {"graph_harvesting", T::Bool, "false", none, "capture CUDA graphs",
     "the schedule is fixed at compile time"},
    {"activation_checkpointing", T::Object, "null", yes,
     "recompute activations instead of keeping them"},
    {"activation_checkpointing.partition_activations", T::Bool, "false", no,
     "partition activations over model-parallel ranks",
     "there is no model parallelism; leave it out"},
    {"activation_checkpointing.cpu_checkpointing", T::Bool, "false", yes,
     "keep the inputs of spans in host memory until the backward pass: "
     "zero.checkpoint_activations.offload"},
    {"activation_checkpointing.contiguous_memory_optimization", T::Bool,
     "false", none, "copy activations into one buffer", kPlanned},
    {"activation_checkpointing.number_checkpoints", T::Count, "null", yes,
     "number of spans of layers: the input of each is kept, the rest is "
     "recomputed in the backward pass; when absent, all activations are kept"},
    {"activation_checkpointing.synchronize_checkpoint_boundary", T::Bool,
     "false", none, "synchronize at each checkpoint", kPlanned},
    {"activation_checkpointing.profile", T::Bool, "false", none, "print times",
     kOwnMetrics},
    {"autotuning", T::Block, "null", no, "tune settings by running",
     "compare plans with zero-plan; leave it out"},
    {"elasticity", T::Block, "null", no, "batch sizes for many rank counts",
     "the rank count is fixed when compiling; compile once for each"},
    {"tensor_parallel", T::Block, "null", no, "split layers over ranks",
     "only data parallelism is supported; leave it out"},
    {"expert_parallel", T::Block, "null", no, "split experts over ranks",
     "only data parallelism is supported; leave it out"},
    {"sequence_parallel_size", T::Count, "1", no, "ranks that share a sequence",
     "only data parallelism is supported; leave it out"},
    {"data_parallel_size", T::Any, "null", no, "ranks that split data",
     "give the rank count to the compiler with --ranks"},
    {"use_data_before_expert_parallelism", T::Bool, "false", none,
     "order of process groups", "there is one group"},
    {"pipeline", T::Block, "null", no, "pipeline parallelism",
     "only data parallelism is supported; leave it out"},
    {"hybrid_engine", T::Block, "null", no, "alternate training and generation",
     "the executable trains, and samples with --sample; leave it out"},
    {"sparse_attention", T::Block, "null", no, "block-sparse attention",
     "the model says which attention it has; give a mask there"},
    {"progressive_layer_drop", T::Block, "null", no, "drop layers randomly",
     "the model is fixed when compiling; leave it out"},
    {"curriculum_learning", T::Block, "null", no,
     "increase sequence lengths over time",
     "shapes are fixed when compiling; leave it out"},
    {"data_efficiency", T::Block, "null", no, "choose samples and tokens",
     "prepare the data file instead"},
    {"compression_training", T::Block, "null", no, "quantize and prune",
     "the model says what it computes; leave it out"},
    {"quantize_training", T::Block, "null", no, "quantize weights",
     "the model says what it computes; leave it out"},
    {"eigenvalue", T::Block, "null", no, "estimate curvature",
     "nothing uses it here; leave it out"},
};
} // namespace

llvm::ArrayRef<ConfigKey> mlir::zero::getConfigKeys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (llvm::ArrayRef<ConfigKey> part :
         {llvm::ArrayRef(kBatchKeys), getOptimizerKeys(),
          llvm::ArrayRef(kTypeKeys), getZeroOptimizationKeys(),
          llvm::ArrayRef(kLastKeys)})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return keys;
}
