//===- ZeroKeys.td - the keys of the block zero --------------------*- tablegen -*-===//

// Our own block.
def : Key<"zero", Object, "null", "what DeepSpeed has no key for">;
def : Key<"zero.deterministic", Bool, "false",
    "results are bitwise equal at every stage and bucket size, on one kind of CPU">,
    Field<Run, "deterministic">, Option<"deterministic">;
def : Key<"zero.split_master", Bool, "false",
    "bf16: keep only the lower 16 bits of master weights, whose upper half is the "
    "parameter itself; bitwise equal, with 2 bytes less per element">,
    Field<Run, "splitMaster">, Option<"split-master">, Planned<"split_master">;
def : Key<"zero.state_tiers", Object, "null",
    "where states of the optimizer are, by name; all others are on the device">;
def : Key<"zero.state_tiers.*", Choice, "\"device\"",
    "where one state is, such as exp_avg: in memory of the device, in pinned memory "
    "of the host, or in a file (plans only: what runs reads files of all states, "
    "with offload_optimizer and the device nvme)">, OneOf<["device", "host", "file"]>;
def : Key<"zero.offload_nvme_min_bytes", Size, "1048576",
    "bytes of a state below which those of a sub-group stay in host memory, where "
    "others are in files">, Field<Files, "leastBytes">, Option<"nvme-min-bytes">,
    Idle<[NoFiles]>;
def : Key<"zero.mesh", Object, "null",
    "ranks as a mesh of named axes, in row-major order, instead of one group">;
def : Key<"zero.mesh.*", Count, "null", "ranks along one axis">;
def : Key<"zero.sharding", Object, "null",
    "which dimensions of parameters the axis `tensor` cuts, where the choice is not left "
    "to the compiler">, Idle<[NoTensorAxis]>;
def : Key<"zero.sharding.*", Integer, "-1",
    "the dimension of a parameter, by its name, or of several by a pattern with `*`; "
    "-1: none is cut">;
def : Key<"zero.cut_rows", Bool, "false",
    "give each rank of the axis `tensor` some of the rows, samples or positions, between "
    "what is cut otherwise: norms, dropout and the residual stream take a part of the memory, "
    "and a quarter more is sent; Megatron's `sequence_parallel`">,
    Field<Run, "cutRows">, Option<"cut-rows">, Idle<[NoTensorAxis]>;
def : Key<"zero.pipeline_schedule", Choice, "\"1f1b\"",
    "in which order the stages of an axis `pipe` make the passes of micro-batches: "
    "`1f1b`, a backward pass as soon as it can be, `gpipe`, all forward passes first, "
    "which keeps the activations of all of them, or `interleaved`, as `1f1b` where each "
    "stage has several groups of layers">,
    WordField<Run, "pipelineOrder", PassOrders>, Option<"pipeline-schedule">, Idle<[NoPipeAxis]>;
def : Key<"zero.pipeline_chunks", Count, "2",
    "groups of layers of each stage with the schedule `interleaved`: stages wait less for "
    "each other, send more, and keep more activations">,
    Field<Run, "pipelineChunks">, Option<"pipeline-chunks">, AtMost<kMostCount>,
    Idle<[NoPipeAxis, NotInterleaved]>;
def : Key<"zero.pipeline_boundaries", Text, "\"\"",
    "where each stage of an axis `pipe` but the first begins, and with the schedule "
    "`interleaved` each group of layers: before the first use of a parameter of that "
    "name, or of the layer of that name, such as `model.layers.8`, separated by commas; "
    "empty: where the model says, or evenly">,
    Field<Run, "pipelineBoundaries">, Option<"pipeline-boundaries">, Idle<[NoPipeAxis]>;
def : Key<"zero.experts", Object, "null",
    "places of experts, which drop what finds none: settings of DeepSpeed's layer `MoE`, "
    "for models whose experts take every token that chooses them">;
def : Key<"zero.experts.capacity_factor", NonNegative, "0",
    "places of each expert for the tokens of a micro-batch of one rank: its share of the "
    "choices, times this, rounded up, in training and in evaluation; 0: as many as choose "
    "it, and nothing is dropped">,
    Field<Run, "expertCapacityFactor">, Option<"expert-capacity-factor">;
def : Key<"zero.experts.min_capacity", Size, "4", "the fewest places of an expert">,
    Field<Run, "expertMinCapacity">, Option<"expert-min-capacity">, AtMost<kMostCount>,
    Idle<[NotLimited]>;
def : Key<"zero.experts.drop_policy", Choice, "null",
    "which choices find no place: by `position` the last ones, second choices before first "
    "ones; by `probs` those of the least weight; where it is not given, by position where a "
    "token has at most 2 choices">,
    OptionalWordField<Run, "expertDropPolicy", DropOrders>,
    Option<"expert-drop-policy">, Idle<[NotLimited]>;
def : Key<"zero.experts.renormalize", Bool, "false",
    "divide the weights of a token's choices that have a place by their sum, as DeepSpeed "
    "does for 2 choices and more">,
    Field<Run, "expertRenormalize">, Option<"expert-renormalize">, Idle<[NotLimited]>;
def : Key<"zero.quantized_weights_bits", Count, "8",
    "bits of quantized weights: 8 or 4">,
    Written<[{orNull(config.quantizedWeightBits)}]>, Idle<[NoWeightsQuantized]>;
def : Key<"zero.quantized_nontrainable_weights_bits", Count, "8",
    "bits of weights that are not trained and stored quantized: 8 or 4">,
    Written<[{orNull(config.quantizedFrozenBits)}]>, Idle<[NoFrozenQuantized]>;
def : Key<"zero.quantized_gradients_bits", Count, "4",
    "bits of quantized gradients: 8 or 4">,
    Written<[{orNull(config.quantizedGradientBits)}]>, Idle<[NoGradientsQuantized]>;
def : Key<"zero.quantized_gradients_within", Count, "1",
    "ranks of a node, within which quantized gradients are added up before the sums "
    "travel between nodes; 1: all ranks exchange at once; where it is left out, "
    "zero_hpz_partition_size">,
    Written<[{only(config.quantizedGradientBits, config.ranksOf(config.gradientAxes))}]>,
    Option<"quantized-gradients-within">, Idle<[NoGradientsQuantized]>;
def : Key<"zero.quantization_block", Count, "256",
    "neighbouring elements that share a scale where something is quantized: an even "
    "number">, Field<Run, "quantizationBlock">, Option<"quantization-block">,
    Idle<[NothingQuantized]>;
def : Key<"zero.shard_axes", Text, "\"\"",
    "axes of the mesh over which states are cut, separated by commas; empty: `shard` "
    "if there is such an axis, else all">,
    Written<[{only(!config.mesh.empty(), llvm::join(config.shardAxes, ","))}]>,
    Option<"shard-axes">;
def : Key<"zero.layout", Choice, "\"bucketed\"",
    "how stage 2 partitions a group: each bucket into one slice per rank, or the "
    "whole group into one contiguous range per rank">,
    WordField<Run, "layout", Layouts>,
    Option<"layout">, Idle<[NotCut]>;
def : Key<"zero.loss_mean", Choice, "\"micro_batches\"",
    "what weighs the same in the loss of an update and its gradient: each "
    "micro-batch, as in DeepSpeed with a loss that the model computes, or each token "
    "that counts in any of them, on any rank">,
    OptionalWordField<Run, "lossMean", LossMeans>, Option<"loss-mean">;
def : Key<"zero.given_gradients", Choice, "null",
    "gradients of each micro-batch that the program which runs the library gives: `add` "
    "to those of the loss, or `instead` of them, without a forward or a backward pass; "
    "where it is not given, gradients are those of the loss">,
    OptionalWordField<Run, "givenGradients", GivenGradients>, Option<"given-gradients">;
def : Key<"zero.alignment", Count, "128",
    "each rank's part of a bucket is padded to a multiple of this many elements">,
    AtMost<kMostCount>, Field<Run, "alignment">, Option<"alignment">,
    Planned<"alignment">, Idle<[PaddedToBytes]>;
def : Key<"zero.gathers_in_flight", Size, "0",
    "stage 3: number of gathers in flight, started as early as the other limits "
    "allow; 0: as few and as late as possible at a cost of at most 0.5 % of a "
    "micro-batch's time on `machine`">, Field<Run, "gathersInFlight">,
    Option<"gathers-in-flight">, Planned<"gathers_in_flight">, Idle<[NotGathered]>;
def : Key<"zero.machine", Text, "null",
    "what choices of time are made for: a machine by name, such as `h100`, or a "
    "file of `zero-plan calibrate`; when absent, `host` where the target is named host, else `h100`">, Initially<"\"h100\"">,
    Field<Run, "machine">, Option<"machine">, Planned<"machine">;
def : Key<"zero.fuse_epilogues", Bool, "null",
    "fuse the tanh form of GELU, its gradient and the gradients of biases into "
    "16-bit matrix products, and with `fuse_additions` what is added to a product's "
    "result; results differ in their last bits; where it is not given, true on GPUs">,
    Field<Run, "fuseEpilogues">, Option<"fuse-epilogues">;
def : Key<"zero.vocabulary_multiple", Count, "null",
    "pad output projections, and token embeddings that are the same parameter, with "
    "rows of zeros to a multiple of this; files keep their shape. Where it is not "
    "given, 64 on GPUs, else 1">, AtMost<kMostCount>, Field<Run, "vocabularyMultiple">,
    Option<"vocabulary-multiple">;
def : Key<"zero.fuse_additions", Bool, "true",
    "fuse residual additions into the norms that read them, and additions of "
    "gradients into the gradients of norms; results are bitwise equal, but for what "
    "`fuse_epilogues` lets products add">, Field<Run, "fuseAdditions">,
    Option<"fuse-additions">;
def : Key<"zero.fuse_cross_entropy", Bool, "false",
    "compute the cross entropy of a linear operation, and its gradient, some rows of "
    "logits at a time, so that the logits of a micro-batch never exist">,
    Field<Run, "fuseCrossEntropy">, Option<"fuse-cross-entropy">;
def : Key<"zero.cross_entropy_chunk_bytes", Count, "67108864",
    "bytes within which the logits stay that `fuse_cross_entropy` computes at a time; "
    "fewer take less memory and more time. Results differ in their last bits">,
    Field<Run, "crossEntropyChunkBytes">, Option<"cross-entropy-chunk-bytes">,
    Idle<[NotFused]>;
def : Key<"zero.fuse_moves", Bool, "true",
    "let kernels that can, such as attention's, read and write parts of tensors "
    "where they are, instead of splitting and joining them">, Field<Run, "fuseMoves">,
    Option<"fuse-moves">;
def : Key<"zero.checkpoint_activations", Object, "null",
    "recompute activations in the backward pass instead of keeping them; when "
    "absent, all are kept">, Searched, Idle<[NoForward]>;
def : Key<"zero.checkpoint_activations.every", Count, "1",
    "layers per span; the activations between spans are kept">,
    Initially<"0">, Field<Checkpoint, "every">;
def : Key<"zero.checkpoint_activations.layers", Sizes, "[]",
    "layers that are recomputed, from 0 on; empty: all">, Field<Checkpoint, "layers">;
def : Key<"zero.checkpoint_activations.policy", Choice, "\"all\"",
    "recompute what the backward pass needs; of that only what is memory-bound, "
    "which keeps products and attention; or the whole forward pass, as frameworks do">,
    WordField<Checkpoint, "policy", RecomputePolicies>;
def : Key<"zero.checkpoint_activations.offload", Bool, "false",
    "copy what is kept to host memory, and back before the backward pass needs it">,
    Field<Checkpoint, "offload">, Searched;
def : Key<"zero.parameter_groups", Object, "null",
    "parameter groups: those that the model declares, and those of which `parameters` "
    "names the members">;
def : Key<"zero.parameter_groups.*", Object, "null",
    "settings of one group; absent ones are the optimizer's">;
def : Key<"zero.parameter_groups.*.lr", NonNegative, "null",
    "learning rate of the group">;
def : Key<"zero.parameter_groups.*.weight_decay", NonNegative, "null",
    "weight decay of the group">;
def : Key<"zero.parameter_groups.*.parameters", Texts, "[]",
    "patterns of the names of the parameters that are in the group, such as `head.*`, in "
    "the place of the group that the model says">;
