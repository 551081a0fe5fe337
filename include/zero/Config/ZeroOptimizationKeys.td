//===- ZeroOptimizationKeys.td - the keys of zero_optimization -----*- tablegen -*-===//

defvar kPinned = "host memory is pinned wherever a device copies it";
defvar kPlannedBuffers = "the plan gives each copy in flight a buffer";
defvar kNoAsyncUpdate = "the update on the host ends with the step; leave it out";
defvar kNoGroups = "each gather is one collective over its group; leave it out";
defvar kWholeWeights =
    "--save-weights always writes whole weights, and zero-checkpoint export --type "
    "bf16 those of a checkpoint in 16 bits";
defvar kStaticOrder =
    "the order of gathers is fixed at compile time; no trace is recorded";

def : Key<"zero_optimization", Object, "null", "what is partitioned">;
def : Key<"zero_optimization.stage", Size, "0",
    "0: nothing is partitioned, 1: optimizer states, 2: also gradients, 3: also "
    "parameters">, AtMost<3>, Field<Run, "stage">, Option<"stage">, Searched;
def : Key<"zero_optimization.reduce_bucket_size", Count, "500000000",
    "largest gradient bucket or communication interval, in elements">,
    WithoutFile<"4194304">, Field<Run, "reduceBucketSize">,
    Option<"reduce-bucket-size">, Planned<"reduce_bucket_size">, Searched;
def : Key<"zero_optimization.allgather_bucket_size", Count, "500000000",
    "largest all-gather of updated parameters, in elements; it is in place and needs "
    "no memory. A larger segment is not split, and the layout contiguous is a single "
    "segment">, WithoutFile<"4194304">, Field<Run, "allgatherBucketSize">,
    Option<"allgather-bucket-size">, Planned<"allgather_bucket_size">, Searched,
    Idle<[NotInBuckets]>;
def : Key<"zero_optimization.overlap_comm", Bool, "null",
    "overlap reductions with the backward pass, which takes a second bucket, and "
    "with the update; overlap gathers of updated parameters with the next forward "
    "pass. Where it is not given, true at stage 3">, WithoutFile<"false">,
    Field<Run, "overlapCommunication">, Option<"overlap">, Searched,
    Idle<[ReducedLast]>;
def : Key<"zero_optimization.ignore_unused_parameters", Bool, "true",
    "leave a parameter without a gradient alone; false makes it an error">,
    Field<Run, "ignoreUnusedParameters">, Option<"ignore-unused-parameters">;
def : Key<"zero_optimization.stage3_prefetch_bucket_size", Size, "50000000",
    "parameters are prefetched while fewer elements than this are; the last one may "
    "exceed it">, Field<Run, "prefetchBucketSize">, Option<"prefetch-bucket-size">,
    Planned<"prefetch_bucket_size">, Searched, Idle<[NotGathered]>;
def : Key<"zero_optimization.stage3_param_persistence_threshold", Size, "100000",
    "parameters of at most this many elements are not partitioned">, WithoutFile<"0">,
    Field<Run, "parameterPersistenceThreshold">, Option<"param-persistence-threshold">,
    Planned<"param_persistence_threshold">, Searched, Idle<[NotGathered]>;
def : Key<"zero_optimization.stage3_model_persistence_threshold", Size,
    "9223372036854775807",
    "most elements that are not partitioned, over all parameters">,
    Field<Run, "modelPersistenceThreshold">, Option<"model-persistence-threshold">,
    Planned<"model_persistence_threshold">, Idle<[NotGathered]>;
def : Key<"zero_optimization.stage3_max_live_parameters", Size, "1000000000",
    "most elements of gathered parameters that are live; limits prefetching only">,
    Field<Run, "maxLiveParameters">, Option<"max-live-parameters">,
    Planned<"max_live_parameters">, Searched, Idle<[NotGathered]>;
def : Key<"zero_optimization.stage3_max_reuse_distance", Size, "1000000000",
    "keep a gathered parameter that is used again within this many elements">,
    WithoutFile<"0">, Field<Run, "maxReuseDistance">, Option<"max-reuse-distance">,
    Planned<"max_reuse_distance">, Searched, Idle<[NotGathered]>;
def : Key<"zero_optimization.contiguous_gradients", Bool, "true",
    "copy gradients into one buffer">,
    NoEffect<"gradients are computed in the buffer that is reduced, or added up there",
             [AddedUpInOneBuffer]>;
def : Key<"zero_optimization.reduce_scatter", Bool, "true",
    "reduce-scatter instead of all-reduce">,
    NoEffect<"each rank receives the sums of its own slices; an all-reduce would send "
      "all to all, with the same result", [WholeEverywhere]>;
def : Key<"zero_optimization.use_multi_rank_bucket_allreduce", Bool, "true",
    "reduce the slices of several owners at once">,
    NoEffect<"a bucket is reduced to all of its owners at once", [WholeEverywhere]>;
def : Key<"zero_optimization.allgather_partitions", Bool, "true",
    "gather updated parameters instead of broadcasting them">,
    NoEffect<kNoBroadcasts, [UpdatedEverywhere, GatheredForUses]>;
def : Key<"zero_optimization.compute_grad_norm", Bool, "true",
    "compute the global norm of gradients where nothing is clipped">,
    NoEffect<"the read of gradients that finds values that are not finite gives the norm "
      "as well", [NormIsNeeded]>;
def : Key<"zero_optimization.parameter_alignment", Bool, "false",
    "begin each parameter at a multiple of 16 bytes at stages 1 and 2, for kernels that "
    "need it">,
    NoEffect<"kernels take a parameter wherever it begins; stage 3 has each at a multiple "
      "of 16 bytes", [AlreadyAligned]>;
def : Key<"zero_optimization.sub_group_size", Size, "1000000000",
    "most elements of one rank that the host updates together, unless a segment has "
    "more (offload_optimizer); 0: a segment each">, Field<Offload, "subGroupSize">,
    Option<"sub-group-size">, Searched, Idle<[NotOffloaded]>;
def : Key<"zero_optimization.round_robin_gradients", Bool, "false",
    "distribute gradients round-robin for offloading">,
    NoEffect<"each bucket is divided among all ranks, which copy their slices at the "
      "same time", [WholeEverywhere, OneRangeEach]>;
def : Key<"zero_optimization.elastic_checkpoint", Bool, "false",
    "write checkpoints for any rank count">,
    NoEffect<"every checkpoint can be resumed with any rank count and stage">;
def : Key<"zero_optimization.load_from_fp32_weights", Bool, "true",
    "restore master weights from f32; false: from those of 16 bits">,
    NoEffect<"--resume restores master weights as they were, and 16-bit ones are rounded "
      "from them; to begin with 16-bit weights give their file with --weights",
      [NotRounded]>;
def : Key<"zero_optimization.stage3_gather_16bit_weights_on_model_save", Bool, "false",
    "gather whole weights when saving">, NoEffect<kWholeWeights>;
def : Key<"zero_optimization.stage3_gather_fp16_weights_on_model_save", Bool, "false",
    "old name of stage3_gather_16bit_weights_on_model_save">, NoEffect<kWholeWeights>;
def : Key<"zero_optimization.stage3_module_granularity_threshold", Size, "0",
    "gather small modules together">, NoEffect<kStaticOrder, [NotGathered]>;
def : Key<"zero_optimization.stage3_use_all_reduce_for_fetch_params", Bool, "false",
    "gather by all-reduce">,
    NoEffect<"gathers are in place; the result is the same", [NotGathered]>;
def : Key<"zero_optimization.stage3_allgather_sequential", Bool, "false",
    "gather parameter by parameter">,
    NoEffect<"gathers are in place, without staging buffers", [NotGathered]>;
def : Key<"zero_optimization.leaf_module", Block, "null",
    "modules that are gathered together">, NoEffect<kStaticOrder, [NotGathered]>;
def : Key<"zero_optimization.memory_efficient_linear", Bool, "true",
    "gather weights again in the backward pass">,
    NoEffect<"stage3_max_reuse_distance says which weights are kept for it",
             [NotGathered]>;
def : Key<"zero_optimization.pipeline_loading_checkpoint", Bool, "false",
    "overlap reading and partitioning">,
    NoEffect<"each rank reads the bytes that it owns">;
def : Key<"zero_optimization.override_module_apply", Bool, "true",
    "gather parameters in Module.apply">, NoEffect<"there are no modules at run time">;
def : Key<"zero_optimization.log_trace_cache_warnings", Bool, "false",
    "warn when the trace changes">, NoEffect<kStaticOrder, [NotGathered]>;
def : Key<"zero_optimization.enable_sanity_checks", Bool, "false",
    "check more at run time">, NoEffect<"every schedule is verified when compiled">;
def : Key<"zero_optimization.offload_param", Object, "null",
    "where parameters are kept">, Searched;
def : Key<"zero_optimization.offload_param.device", Choice, "\"none\"",
    "where sharded parameters are kept, at stage 3 with offload_optimizer: the "
    "device, host memory (cpu) or, with its device nvme, files (nvme)">,
    OneOf<["none", "cpu", "nvme"]>,
    Written<[{
      writeDevice(findOffloadedParameters(config), findParameterFiles(config))}]>,
    Option<"offload-param">;
def : Key<"zero_optimization.offload_param.nvme_path", Text, "null",
    "directory for parameters: that of offload_optimizer, or left out">,
    Idle<[NoParameterFiles]>;
def : Key<"zero_optimization.offload_param.buffer_count", Count, "5",
    "how many gathers ahead uploads of slices, or their reads from files, start, "
    "plus one; 1: each is copied where its gather starts">, WithoutFile<"2">,
    Field<OffloadedParameters, "uploadBuffers">, Option<"upload-buffers">,
    Idle<[NotOnHost]>;
def : Key<"zero_optimization.offload_param.buffer_size", Count, "100000000",
    "most elements of a parameter's slice that is read from a file; a larger one "
    "stays in host memory">,
    Field<ParameterFiles, "bufferSize">, Option<"read-buffer-size">,
    Idle<[NoParameterFiles]>;
def : Key<"zero_optimization.offload_param.max_in_cpu", Size, "1000000000",
    "elements of a rank's parameters that stay in host memory with the device nvme: "
    "of the first that fit">, WithoutFile<"0">, Field<ParameterFiles, "inHost">,
    Option<"max-in-cpu">, Idle<[NoParameterFiles]>;
def : Key<"zero_optimization.offload_param.pin_memory", Bool, "true", "pin memory">,
    NoEffect<kPinned>;
def : Key<"zero_optimization.offload_optimizer", Object, "null",
    "where optimizer states are kept">, Searched;
def : Key<"zero_optimization.offload_optimizer.device", Choice, "\"none\"",
    "where optimizer states are kept, at stages 1 to 3: the device, host memory "
    "(cpu) or files (nvme); the host updates what is not on the device">,
    OneOf<["none", "cpu", "nvme"]>,
    Written<[{writeDevice(findOffload(config), findFiles(config))}]>,
    Option<"offload-optimizer">, Idle<[NotOffloaded, NoStates]>;
def : Key<"zero_optimization.offload_optimizer.nvme_path", Text, "null",
    "existing directory for optimizer states, needed with the device nvme">,
    Field<Files, "folder">, Option<"nvme-path">, Idle<[NoFiles]>;
def : Key<"zero_optimization.offload_optimizer.buffer_count", Count, "4",
    "buffers in flight">, NoEffect<kPlannedBuffers>;
def : Key<"zero_optimization.offload_optimizer.pin_memory", Bool, "true", "pin memory">,
    NoEffect<kPinned>;
def : Key<"zero_optimization.offload_optimizer.pipeline", Bool, "false",
    "both pipeline_read and pipeline_write">, Idle<[NotOffloaded]>;
def : Key<"zero_optimization.offload_optimizer.pipeline_read", Bool, "false",
    "copy the next sub-group's gradients while one is updated">,
    Field<Offload, "pipelineRead">, Idle<[NotOffloaded]>;
def : Key<"zero_optimization.offload_optimizer.pipeline_write", Bool, "false",
    "copy a sub-group's parameters back while the next is updated">,
    Field<Offload, "pipelineWrite">, Idle<[NotCopiedBack, NotOffloaded]>;
def : Key<"zero_optimization.offload_optimizer.fast_init", Bool, "false",
    "faster initialization">, NoEffect<"states are initialized where they are kept">;
def : Key<"zero_optimization.offload_optimizer.ratio", NonNegative, "1.0",
    "least part of each partition that is offloaded, from 0 to 1; it ends at a "
    "segment">, AtMost<1>, Field<Offload, "ratio">, Option<"offload-ratio">,
    Idle<[NotOffloaded]>;
def : Key<"zero_optimization.offload_optimizer.super_offload", Bool, "false",
    "asynchronous updates on the CPU">, Refused<kNoAsyncUpdate>;
def : Key<"zero_optimization.offload_optimizer.cpuadam_cores_perc", NonNegative, "0.8",
    "fraction of cores for the update">,
    NoEffect<"--threads says how many cores a rank uses">;
def : Key<"zero_optimization.cpu_offload", Bool, "false",
    "old name of offload_optimizer with the device cpu">;
def : Key<"zero_optimization.cpu_offload_param", Bool, "false",
    "old name of offload_param with the device cpu">;
def : Key<"zero_optimization.cpu_offload_use_pin_memory", Bool, "false",
    "pin offloaded state">, NoEffect<kPinned>;
def : Key<"zero_optimization.zenflow", Block, "null",
    "asynchronous updates on the CPU">, Refused<kNoAsyncUpdate>;
def : Key<"zero_optimization.legacy_stage1", Bool, "false",
    "the old implementation of stage 1">,
    Refused<"stage 1 reduces to owners; leave it out">;
def : Key<"zero_optimization.zero_hpz_partition_size", Count, "1",
    "stage 3: ranks of a node, which keep a secondary partition of the parameters "
    "from the forward to the backward and gather from it; 1: none">,
    Written<[{
      only(!config.secondaryAxes.empty(), config.ranksOf(config.secondaryAxes))}]>,
    Option<"hpz-partition-size">, Idle<[NotGathered, OneNode]>;
def : Key<"zero_optimization.mics_shard_size", Integer, "-1",
    "ranks that hold one copy of the states; -1: all">, Idle<[OneGroup]>;
def : Key<"zero_optimization.mics_hierarchical_params_gather", Bool, "false",
    "gather in two levels">, Refused<kNoGroups>;
def : Key<"zero_optimization.zero_quantized_weights", Bool, "false",
    "stage 3: gather weights as integers of 8 bits, or of "
    "zero.quantized_weights_bits, with a scale for each block">,
    Written<[{only(config.quantizedWeightBits, true)}]>, Idle<[NotGathered, OneSlice]>;
def : Key<"zero_optimization.zero_quantized_nontrainable_weights", Bool, "false",
    "stage 3: store weights that are not trained as integers of 8 bits, or of "
    "zero.quantized_nontrainable_weights_bits, with a scale for each block">,
    Written<[{only(config.quantizedFrozenBits, true)}]>, Idle<[NotStored]>;
def : Key<"zero_optimization.zero_quantized_gradients", Bool, "false",
    "stage 3: reduce gradients as integers of 4 bits, or of "
    "zero.quantized_gradients_bits, with a scale for each block">,
    Written<[{only(config.quantizedGradientBits, true)}]>, Idle<[NotReduced, OneSlice]>;
def : Key<"zero_optimization.zeropp_loco_param", Object, "null",
    "error feedback of quantized gradients (LoCo): what they lose is kept in 16 bits "
    "an element, and added to later ones">, Idle<[NotReduced, OneSlice]>;
def : Key<"zero_optimization.zeropp_loco_param.err_beta", Fraction, "0.8",
    "how much of an error an update keeps">, Field<Feedback, "beta">;
def : Key<"zero_optimization.zeropp_loco_param.reset_T", Count, "1024",
    "updates until all errors are zero again">, Field<Feedback, "reset">;
def : Key<"zero_optimization.save_muon_momentum_buffer_in_memory", Bool, "false",
    "keep Muon's momentum buffer in memory">,
    Refused<"there is no such optimizer; leave it out">;
