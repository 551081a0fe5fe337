//===- ZeroOptimizationKeys.cpp - The rows of ZeRO's keys -------*- C++ -*-===//
#include "ConfigRows.h"

using namespace mlir::zero;
using namespace mlir::zero::rows;

namespace {
constexpr const char *kPinned =
    "host memory is pinned wherever a device copies it";
constexpr const char *kPlannedBuffers =
    "the plan gives each copy in flight a buffer";
constexpr const char *kNoAsyncUpdate =
    "the update on the host ends with the step; leave it out";
constexpr const char *kNoGroups =
    "each gather is one collective over its group; leave it out";
constexpr const char *kWholeWeights =
    "--save-weights always writes whole weights, and zero-checkpoint export "
    "--type bf16 those of a checkpoint in 16 bits";
constexpr const char *kStaticOrder =
    "the order of gathers is fixed at compile time; no trace is recorded";

constexpr ConfigKey kKeys[] = {
    {"zero_optimization", T::Object, "null", yes, "what is partitioned"},
    {"zero_optimization.stage", T::Size, "0", yes,
     "0: nothing is partitioned, 1: optimizer states, 2: also gradients, 3: "
     "also parameters"},
    {"zero_optimization.reduce_bucket_size", T::Count, "500000000", yes,
     "largest gradient bucket or communication interval, in elements"},
    {"zero_optimization.allgather_bucket_size", T::Count, "500000000", yes,
     "largest all-gather of updated parameters, in elements; it is in place "
     "and needs no memory. A larger segment is not split, and the layout "
     "contiguous is a single segment"},
    {"zero_optimization.overlap_comm", T::Bool, "null", yes,
     "overlap reductions with the backward pass, which takes a second bucket, "
     "and with the update; overlap gathers of updated parameters with the next "
     "forward pass. Where it is not given, true at stage 3"},
    {"zero_optimization.ignore_unused_parameters", T::Bool, "true", yes,
     "leave a parameter without a gradient alone; false makes it an error"},
    {"zero_optimization.stage3_prefetch_bucket_size", T::Size, "50000000", yes,
     "parameters are prefetched while fewer elements than this are; the last "
     "one may exceed it"},
    {"zero_optimization.stage3_param_persistence_threshold", T::Size, "100000",
     yes, "parameters of at most this many elements are not partitioned"},
    {"zero_optimization.stage3_model_persistence_threshold", T::Size,
     "9223372036854775807", yes,
     "most elements that are not partitioned, over all parameters"},
    {"zero_optimization.stage3_max_live_parameters", T::Size, "1000000000", yes,
     "most elements of gathered parameters that are live; limits prefetching "
     "only"},
    {"zero_optimization.stage3_max_reuse_distance", T::Size, "1000000000", yes,
     "keep a gathered parameter that is used again within this many elements"},
    {"zero_optimization.contiguous_gradients", T::Bool, "true", none,
     "copy gradients into one buffer",
     "gradients are computed in place in the bucket"},
    {"zero_optimization.reduce_scatter", T::Bool, "true", none,
     "reduce-scatter instead of all-reduce",
     "gradients are always reduced to their owners; the result is the same"},
    {"zero_optimization.use_multi_rank_bucket_allreduce", T::Bool, "true", none,
     "reduce the slices of several owners at once",
     "a bucket is one reduce-scatter"},
    {"zero_optimization.allgather_partitions", T::Bool, "true", none,
     "gather updated parameters instead of broadcasting them",
     "parameters are always gathered; the result is the same"},
    {"zero_optimization.sub_group_size", T::Count, "1000000000", yes,
     "most elements of one rank that the host updates together, unless a "
     "segment has more (offload_optimizer)"},
    {"zero_optimization.round_robin_gradients", T::Bool, "false", none,
     "distribute gradients round-robin for offloading",
     "the bucketed layout already gives every rank a part of each bucket"},
    {"zero_optimization.elastic_checkpoint", T::Bool, "false", none,
     "write checkpoints for any rank count",
     "every checkpoint can be resumed with any rank count and stage"},
    {"zero_optimization.load_from_fp32_weights", T::Bool, "true", no,
     "restore master weights from f32",
     "a checkpoint always restores master weights as they were; to start from "
     "16-bit weights, use zero-checkpoint export and --weights"},
    {"zero_optimization.stage3_gather_16bit_weights_on_model_save", T::Bool,
     "false", none, "gather whole weights when saving", kWholeWeights},
    {"zero_optimization.stage3_gather_fp16_weights_on_model_save", T::Bool,
     "false", none, "old name of stage3_gather_16bit_weights_on_model_save",
     kWholeWeights},
    {"zero_optimization.stage3_module_granularity_threshold", T::Size, "0",
     none, "gather small modules together", kStaticOrder},
    {"zero_optimization.stage3_use_all_reduce_for_fetch_params", T::Bool,
     "false", none, "gather by all-reduce",
     "gathers are in place; the result is the same"},
    {"zero_optimization.stage3_allgather_sequential", T::Bool, "false", none,
     "gather parameter by parameter",
     "gathers are in place, without staging buffers"},
    {"zero_optimization.leaf_module", T::Block, "null", none,
     "modules that are gathered together", kStaticOrder},
    {"zero_optimization.memory_efficient_linear", T::Bool, "true", none,
     "gather weights again in the backward pass", kPlanned},
    {"zero_optimization.pipeline_loading_checkpoint", T::Bool, "false", none,
     "overlap reading and partitioning",
     "each rank reads the bytes that it owns"},
    {"zero_optimization.override_module_apply", T::Bool, "true", none,
     "gather parameters in Module.apply", "there are no modules at run time"},
    {"zero_optimization.log_trace_cache_warnings", T::Bool, "false", none,
     "warn when the trace changes", kStaticOrder},
    {"zero_optimization.enable_sanity_checks", T::Bool, "false", none,
     "check more at run time", "every schedule is verified when compiled"},
    {"zero_optimization.offload_param", T::Object, "null", yes,
     "where parameters are kept"},
    {"zero_optimization.offload_param.device", T::Choice, "\"none\"", yes,
     "where sharded parameters are kept, at stage 3 with offload_optimizer: "
     "the device, host memory (cpu) or, with its device nvme, files (nvme)",
     "", "none|cpu|nvme"},
    {"zero_optimization.offload_param.nvme_path", T::Text, "null", yes,
     "directory for parameters: that of offload_optimizer, or left out"},
    {"zero_optimization.offload_param.buffer_count", T::Count, "5", yes,
     "how many gathers ahead uploads of slices, or their reads from files, "
     "start, plus one; 1: each is copied where its gather starts"},
    {"zero_optimization.offload_param.buffer_size", T::Count, "100000000", yes,
     "most elements of a parameter's slice that is read from a file"},
    {"zero_optimization.offload_param.max_in_cpu", T::Size, "1000000000", yes,
     "elements of a rank's parameters that stay in host memory with the device "
     "nvme: of the first that fit"},
    {"zero_optimization.offload_param.pin_memory", T::Bool, "true", none,
     "pin memory", kPinned},
    {"zero_optimization.offload_optimizer", T::Object, "null", yes,
     "where optimizer states are kept"},
    {"zero_optimization.offload_optimizer.device", T::Choice, "\"none\"", yes,
     "where optimizer states are kept, at stages 1 to 3: the device, host "
     "memory (cpu) or files (nvme); the host updates what is not on the device",
     "", "none|cpu|nvme"},
    {"zero_optimization.offload_optimizer.nvme_path", T::Text, "null", yes,
     "existing directory for optimizer states, needed with the device nvme"},
    {"zero_optimization.offload_optimizer.buffer_count", T::Count, "4", none,
     "buffers in flight", kPlannedBuffers},
    {"zero_optimization.offload_optimizer.pin_memory", T::Bool, "true", none,
     "pin memory", kPinned},
    {"zero_optimization.offload_optimizer.pipeline", T::Bool, "false", yes,
     "both pipeline_read and pipeline_write"},
    {"zero_optimization.offload_optimizer.pipeline_read", T::Bool, "false", yes,
     "copy the next sub-group's gradients while one is updated"},
    {"zero_optimization.offload_optimizer.pipeline_write", T::Bool, "false",
     yes, "copy a sub-group's parameters back while the next is updated"},
    {"zero_optimization.offload_optimizer.fast_init", T::Bool, "false", none,
     "faster initialization", "states are initialized where they are kept"},
    {"zero_optimization.offload_optimizer.ratio", T::NonNegative, "1.0", yes,
     "least part of each partition that is offloaded, from 0 to 1; it ends "
     "at a segment"},
    {"zero_optimization.offload_optimizer.super_offload", T::Bool, "false", no,
     "asynchronous updates on the CPU", kNoAsyncUpdate},
    {"zero_optimization.offload_optimizer.cpuadam_cores_perc", T::NonNegative,
     "0.8", none, "fraction of cores for the update",
     "--threads says how many cores a rank uses"},
    {"zero_optimization.cpu_offload", T::Bool, "false", yes,
     "old name of offload_optimizer with the device cpu"},
    {"zero_optimization.cpu_offload_param", T::Bool, "false", yes,
     "old name of offload_param with the device cpu"},
    {"zero_optimization.cpu_offload_use_pin_memory", T::Bool, "false", none,
     "pin offloaded state", kPinned},
    {"zero_optimization.zenflow", T::Block, "null", no,
     "asynchronous updates on the CPU", kNoAsyncUpdate},
    {"zero_optimization.legacy_stage1", T::Bool, "false", no,
     "the old implementation of stage 1",
     "stage 1 reduces to owners; leave it out"},
    {"zero_optimization.zero_hpz_partition_size", T::Count, "1", yes,
     "stage 3: ranks of a node, which keep a secondary partition of the "
     "parameters from the forward to the backward and gather from it; 1: none"},
    {"zero_optimization.mics_shard_size", T::Integer, "-1", yes,
     "ranks that hold one copy of the states; -1: all"},
    {"zero_optimization.mics_hierarchical_params_gather", T::Bool, "false", no,
     "gather in two levels", kNoGroups},
    {"zero_optimization.zero_quantized_weights", T::Bool, "false", yes,
     "stage 3: gather weights as integers of 8 bits, or of "
     "zero.quantized_weights_bits, with a scale for each block"},
    {"zero_optimization.zero_quantized_nontrainable_weights", T::Bool, "false",
     yes,
     "stage 3: store weights that are not trained as integers of 8 bits, "
     "or of zero.quantized_nontrainable_weights_bits, with a scale for "
     "each block"},
    {"zero_optimization.zero_quantized_gradients", T::Bool, "false", yes,
     "stage 3: reduce gradients as integers of 4 bits, or of "
     "zero.quantized_gradients_bits, with a scale for each block"},
    {"zero_optimization.zeropp_loco_param", T::Object, "null", yes,
     "error feedback of quantized gradients (LoCo): what they lose is kept in "
     "16 bits an element, and added to later ones"},
    {"zero_optimization.zeropp_loco_param.err_beta", T::Fraction, "0.8", yes,
     "how much of an error an update keeps"},
    {"zero_optimization.zeropp_loco_param.reset_T", T::Count, "1024", yes,
     "updates until all errors are zero again"},
    {"zero_optimization.save_muon_momentum_buffer_in_memory", T::Bool, "false",
     no, "keep Muon's momentum buffer in memory",
     "there is no such optimizer; leave it out"},
};
} // namespace

llvm::ArrayRef<ConfigKey> mlir::zero::getZeroOptimizationKeys() {
  return kKeys;
}
