//===- OtherKeys.td - the keys of reports, checkpoints and files ---*- tablegen -*-===//

defvar kInFlight =
    "as many reads and writes are in flight as aio.queue_depth says: queued in the kernel "
    "by io_uring, or where that is refused on as many threads, up to 16";
defvar kOwnMetrics =
    "the executable reports for itself: --metrics writes every update to a file";

// Reports.
def : Key<"steps_per_print", Any, "null", "updates between log messages">,
    NoEffect<kOwnMetrics>;
def : Key<"wall_clock_breakdown", Bool, "false", "print times">, NoEffect<kOwnMetrics>;
def : Key<"memory_breakdown", Bool, "false", "print memory">,
    NoEffect<"--memory prints the plan, which is exact">;
def : Key<"dump_state", Bool, "false", "print the engine's state">,
    NoEffect<"--schedule prints every command">;
def : Key<"log_level", Any, "null", "lowest level of log messages">,
    NoEffect<kOwnMetrics>;
def : Key<"vocabulary_size", Any, "null", "size for reports">,
    NoEffect<"it follows from the model">;
def : Key<"flops_profiler", Block, "null", "count floating-point operations">,
    NoEffect<"the plan counts the operations of every kernel">;
def : Key<"comms_logger", Block, "null", "log collectives">,
    NoEffect<"--schedule prints every collective with its size">;
def : Key<"tensorboard", Block, "null", "write TensorBoard files">,
    NoEffect<"give --tensorboard DIR to the executable">;
def : Key<"wandb", Block, "null", "send metrics to a service">, NoEffect<kOwnMetrics>;
def : Key<"csv_monitor", Block, "null", "write metrics as CSV">, NoEffect<kOwnMetrics>;
def : Key<"comet", Block, "null", "send metrics to a service">, NoEffect<kOwnMetrics>;
def : Key<"timers", Block, "null", "measure throughput">, NoEffect<kOwnMetrics>;

// Checkpoints.
def : Key<"checkpoint", Object, "null", "how checkpoints are written">;
def : Key<"checkpoint.tag_validation", Text, "\"Warn\"",
    "compare the tags of the ranks">, NoEffect<"all ranks run one program">;
def : Key<"checkpoint.load_universal", Bool, "false",
    "read universal checkpoints, which other ranks may have written">,
    NoEffect<"--resume reads a checkpoint of any ranks, mesh and stage, and "
      "zero-convert-checkpoint makes one of DeepSpeed's, universal or not">;
def : Key<"checkpoint.use_node_local_storage", Bool, "false",
    "write to node-local disks">,
    Refused<"all ranks write checkpoints to one file system; leave it out">;
def : Key<"checkpoint.parallel_write", Block, "null", "write from several ranks">,
    NoEffect<"every rank always writes a file of its own">;
def : Key<"checkpoint.writer", Block, "null", "settings of the writer">,
    NoEffect<"every rank streams into a file of its own">;
def : Key<"checkpoint.checkpoint_serialization", Bool, "true",
    "use PyTorch's serialization">,
    NoEffect<"checkpoints and weights are safetensors files">;
def : Key<"nebula", Block, "null", "checkpoints to a service">,
    Refused<"use --checkpoint; leave it out">;
def : Key<"aio", Object, "null", "settings of asynchronous file I/O">;
def : Key<"aio.block_size", Size, "1048576",
    "bytes of one read or write, a multiple of 4096">, Field<Files, "blockBytes">,
    Idle<[NoFiles]>;
def : Key<"aio.queue_depth", Count, "8",
    "reads and writes of a rank in flight together">, AtMost<4096>,
    Field<Files, "queueDepth">, Idle<[NoFiles]>;
def : Key<"aio.intra_op_parallelism", Count, "1", "threads of a read">,
    NoEffect<kInFlight, [NoFiles]>;
def : Key<"aio.thread_count", Count, "1", "threads of a read">,
    NoEffect<kInFlight, [NoFiles]>;
def : Key<"aio.single_submit", Bool, "false", "submit reads one by one">,
    NoEffect<kInFlight, [NoFiles]>;
def : Key<"aio.overlap_events", Bool, "true", "submit reads while others complete">,
    NoEffect<kInFlight, [NoFiles]>;
def : Key<"aio.use_gds", Bool, "false", "GPUDirect Storage">,
    Refused<"states are updated on the host, and are read to its memory; leave it out">;

// Settings that are decided elsewhere, or not at all.
def : Key<"compile", Block, "null", "DeepCompile">,
    NoEffect<"the whole step is compiled ahead of time">;
def : Key<"graph_harvesting", Bool, "false", "capture CUDA graphs">,
    NoEffect<"the schedule is fixed at compile time">;
def : Key<"disable_python_gc", Bool, "false",
    "keep Python's cyclic garbage collector from running on its own">,
    NoEffect<"the compiled step runs no Python">;
def : Key<"activation_checkpointing", Object, "null",
    "recompute activations instead of keeping them">;
def : Key<"activation_checkpointing.partition_activations", Bool, "false",
    "partition activations over model-parallel ranks">,
    Refused<"what is kept is not divided over `tensor`; leave it out">;
def : Key<"activation_checkpointing.cpu_checkpointing", Bool, "false",
    "keep the inputs of spans in host memory until the backward pass: "
    "zero.checkpoint_activations.offload">,
    Written<[{only(config.checkpoint.number, config.checkpoint.offload)}]>;
def : Key<"activation_checkpointing.contiguous_memory_optimization", Bool, "false",
    "copy activations into one buffer">, NoEffect<kPlanned>;
def : Key<"activation_checkpointing.number_checkpoints", Count, "null",
    "number of spans of layers: the input of each is kept, the rest is recomputed in "
    "the backward pass; when absent, all activations are kept">,
    Written<[{orNull(config.checkpoint.number)}]>;
def : Key<"activation_checkpointing.synchronize_checkpoint_boundary", Bool, "false",
    "synchronize at each checkpoint">, NoEffect<kPlanned>;
def : Key<"activation_checkpointing.profile", Bool, "false", "print times">,
    NoEffect<kOwnMetrics>;
def : Key<"autotuning", Block, "null", "tune settings by running">,
    Refused<"compare plans with zero-plan; leave it out">;
def : Key<"elasticity", Block, "null", "batch sizes for many rank counts">,
    Refused<"the rank count is fixed when compiling; compile once for each">;
def : Key<"tensor_parallel", Object, "null", "ranks that compute one model together">;
def : Key<"tensor_parallel.autotp_size", Size, "0",
    "ranks of the axis `tensor`, neighbours, each of which computes a part of the model; "
    "0 or 1: each computes all of it">;
def : Key<"tensor_parallel.preset_model", Any, "null", "which layers are split, by name">,
    NoEffect<"what is cut follows from the model">;
def : Key<"tensor_parallel.tp_overlap_comm", Bool, "false",
    "overlap exchanges with computation">, NoEffect<kPlanned>;
def : Key<"tensor_parallel.partition_config", Block, "null",
    "how each layer is split">,
    Refused<"what is cut follows from the model; leave it out">;
def : Key<"expert_parallel", Object, "null", "ranks that have some of the experts each">;
def : Key<"expert_parallel.enabled", Bool, "false",
    "whether ranks have some of the experts, as `autoep_size` says">, Idle<[NoExperts]>;
def : Key<"expert_parallel.autoep_size", Size, "1",
    "ranks of the axis `expert`, neighbours, each of which has some of the experts and "
    "samples of its own; 0 or 1: each has all of them">, Idle<[NotEnabled]>;
def : Key<"expert_parallel.expert_tensor_parallel_size", Count, "1",
    "ranks that compute one expert together">,
    Refused<"an expert is on one rank; leave it out">;
foreach key = ["preset_model", "moe_layer_pattern", "expert_pattern", "router_pattern",
               "expert_w1", "expert_w2", "expert_w3", "num_experts_attr", "top_k_attr",
               "has_shared_experts", "shared_experts_pattern", "shared_experts_gate_pattern",
               "expert_activation", "route_norm", "route_scale", "score_apply", "score_func",
               "top_k", "num_expert_groups", "num_limited_groups", "routed_scaling_factor"] in
  def : Key<"expert_parallel." # key, Any, "null", "what layers of experts are and compute">,
      NoEffect<"the model says so">;
foreach key = ["use_grouped_mm", "disable_triton_grouped_mm", "combine_impl",
               "row_weighting_impl", "gate_up_impl", "async_split_plan", "comm_backend",
               "comm_num_sm", "comm_qp_margin", "comm_max_tokens_per_rank",
               "validate_folding_routing"] in
  def : Key<"expert_parallel." # key, Any, "null", "how experts are computed">,
      NoEffect<kPlanned>;
def : Key<"expert_parallel.load_balance_coeff", NonNegative, "0",
    "a loss for balanced experts">,
    Refused<"the model says which losses it has; leave it out">;
def : Key<"sequence_parallel_size", Count, "1",
    "ranks of the axis `sequence`, neighbours, each of which has a part of the positions; "
    "1: each has all of them">;
def : Key<"data_parallel_size", Any, "null", "ranks that split data">,
    Refused<"give the rank count to the compiler with --ranks">;
def : Key<"use_data_before_expert_parallelism", Bool, "false",
    "whether neighbouring ranks have the same experts, beside "
    "`expert_parallel.autoep_size`">, Idle<[NoExperts, OrderedByMesh]>;
def : Key<"pipeline", Block, "null", "pipeline parallelism">,
    Refused<"give the number of stages as an axis `pipe` of the mesh (zero.mesh, --mesh), "
            "and leave this block out">;
def : Key<"hybrid_engine", Block, "null", "alternate training and generation">,
    Refused<"the executable trains, and samples with --sample; leave it out">;
def : Key<"sparse_attention", Block, "null", "block-sparse attention">,
    Refused<"the model says which attention it has; give a mask there">;
def : Key<"progressive_layer_drop", Block, "null", "drop layers randomly">,
    Refused<"the model is fixed when compiling; leave it out">;
def : Key<"curriculum_learning", Block, "null", "increase sequence lengths over time">,
    Refused<"shapes are fixed when compiling; leave it out">;
def : Key<"data_efficiency", Block, "null", "choose samples and tokens">,
    Refused<"prepare the data file instead">;
def : Key<"compression_training", Block, "null", "quantize and prune">,
    Refused<"the model says what it computes; leave it out">;
def : Key<"quantize_training", Block, "null", "quantize weights">,
    Refused<"the model says what it computes; leave it out">;
def : Key<"eigenvalue", Block, "null", "estimate curvature">,
    Refused<"nothing uses it here; leave it out">;
