//===- ZeroAttrs.td - initial values, optimizers, layouts, placements -----===//
#ifndef ZERO_DIALECT_ZERO_ZEROATTRS_TD
#define ZERO_DIALECT_ZERO_ZEROATTRS_TD

include "zero/Dialect/Zero/OptimizerAttrInterface.td"
include "zero/Config/Settings.td"
include "zero/Dialect/Zero/ZeroBase.td"
include "zero/Dialect/Zero/SharedEnums.td"
include "mlir/IR/EnumAttr.td"

class Zero_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Zero_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

/// A double, printed in the shortest form that reads back to the same bits.
class F64Param<string default = ""> : AttrOrTypeParameter<"::mlir::zero::Real", ""> {
  let cppAccessorType = "double";
  let parser = "::mlir::zero::parseDouble($_parser)";
  let printer = "::mlir::zero::printDouble($_printer, $_self)";
  let defaultValue = default;
}
class I64Param<string default = ""> : AttrOrTypeParameter<"int64_t", ""> {
  let defaultValue = default;
}
class BoolParam<string default = "false"> : AttrOrTypeParameter<"bool", ""> {
  let parser = "::mlir::zero::parseBool($_parser)";
  let printer = "$_printer << ($_self ? \"true\" : \"false\")";
  let defaultValue = default;
}

/// A parameter that has a key's value, and its default without a file.
class Zero_KeyParam<Key key> {
  AttrOrTypeParameter param =
    !if(!eq(key.memberType, "int64_t"), I64Param<key.initial>,
    !if(!eq(key.memberType, "double"), F64Param<key.initial>,
    !if(!eq(key.memberType, "bool"), BoolParam<key.initial>,
        StringRefParameter<key.meaning, "std::string(" # key.initial # ")">)));
}
class Zero_ParamOf<string path> : Zero_KeyParam<KeyAt<path>.key>;

//===----------------------------------------------------------------------===//
// Initial values: functions of seed, parameter and element, so that any rank
// can make any slice.
//===----------------------------------------------------------------------===//

def Zero_ZerosAttr : Zero_Attr<"Zeros", "zeros"> { let summary = "All zeros"; }
def Zero_OnesAttr : Zero_Attr<"Ones", "ones"> { let summary = "All ones"; }
def Zero_ConstantAttr : Zero_Attr<"Constant", "constant"> {
  let summary = "One value everywhere";
  let parameters = (ins F64Param<>:$value);
  let assemblyFormat = "`<` $value `>`";
  let genVerifyDecl = 1;
}
def Zero_NormalAttr : Zero_Attr<"Normal", "normal"> {
  let summary = "Normal distribution; `std` is at least 0";
  let parameters = (ins F64Param<"0.0">:$mean, F64Param<"1.0">:$std);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Zero_UniformAttr : Zero_Attr<"Uniform", "uniform"> {
  let summary = "Uniform distribution over [low, high)";
  let parameters = (ins F64Param<>:$low, F64Param<>:$high);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Optimizers. Every one has the parameters `lr` and `weight_decay`.
//===----------------------------------------------------------------------===//

class Zero_OptimizerAttr<string name, string attrMnemonic, string answers = "">
    : Zero_Attr<name, attrMnemonic, [Zero_OptimizerAttrInterface]> {
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::llvm::StringRef getTitle() const;
    ::llvm::SmallVector<::mlir::zero::OptimizerState> getStates() const;
    ::llvm::StringRef getKernel() const;
    ::llvm::SmallVector<::mlir::zero::OptimizerSetting> getSettings() const;
    int64_t getOperations() const;
    bool keepsZeros() const;
  }] # answers;
}

def Zero_AdamAttr : Zero_OptimizerAttr<"Adam", "adam"> {
  let summary = "Adam; with `decoupled` weight decay it is AdamW";
  let description = [{
    `lr`, `eps` and `weight_decay` are at least 0 and finite in f32; `beta1` and
    `beta2` lie in [0, 1).
  }];
  let parameters = (ins F64Param<"0.001">:$lr, F64Param<"0.9">:$beta1,
      F64Param<"0.999">:$beta2, F64Param<"1.0e-8">:$eps,
      F64Param<"0.0">:$weight_decay, BoolParam<"true">:$decoupled,
      BoolParam<"true">:$bias_correction);
  let genVerifyDecl = 1;
}
def Zero_SgdAttr : Zero_OptimizerAttr<"Sgd", "sgd"> {
  let summary = "Stochastic gradient descent with momentum";
  let description = [{
    `lr` and `weight_decay` are at least 0 and finite in f32; `momentum` lies in
    [0, 1), above 0 with `nesterov`.
  }];
  let parameters = (ins F64Param<"0.001">:$lr, F64Param<"0.0">:$momentum,
      F64Param<"0.0">:$weight_decay, BoolParam<"false">:$nesterov);
  let genVerifyDecl = 1;
}

def Zero_LionAttr : Zero_OptimizerAttr<"Lion", "lion"> {
  let summary = "Lion: steps of the sign of an interpolated momentum";
  let description = [{
    With gradient g, parameter p and momentum m of an element:
    ```
    p = (1 - lr * weight_decay) * p - lr * sign(beta1 * m + (1 - beta1) * g)
    m = beta2 * m + (1 - beta2) * g
    ```
    `lr` and `weight_decay` are at least 0 and finite in f32; `beta1` and `beta2`
    lie in [0, 1).
  }];
  let parameters = (ins F64Param<"0.001">:$lr, F64Param<"0.9">:$beta1,
      F64Param<"0.999">:$beta2, F64Param<"0.0">:$weight_decay);
  let genVerifyDecl = 1;
}
def Zero_AdagradAttr : Zero_OptimizerAttr<"Adagrad", "adagrad"> {
  let summary = "Adagrad: the gradient over the root of all its squares";
  let description = [{
    With gradient g, parameter p and the sum s of an element:
    ```
    g = g + weight_decay * p
    s = s + g * g
    p = p - lr * g / (sqrt(s) + eps)
    ```
    `lr`, `eps` and `weight_decay` are at least 0 and finite in f32.
  }];
  let parameters = (ins F64Param<"0.01">:$lr, F64Param<"1.0e-10">:$eps,
      F64Param<"0.0">:$weight_decay);
  let genVerifyDecl = 1;
}
def Zero_MovingAverageAttr : Zero_OptimizerAttr<"MovingAverage", "moving_average", [{
    double getLr() const { return 0; }
    double getWeightDecay() const { return 0; }
    bool takesGradients() const { return false; }
  }]> {
  let summary = "An exponential moving average of what is tracked";
  let description = [{
    The update of parameters that are averages. With the tracked value v and the
    average a of an element:
    ```
    a = a + weight * (v - a)
    ```
    `weight` lies in (0, 1].
  }];
  let parameters = (ins F64Param<>:$weight);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Training: what the configuration decides for a step
//===----------------------------------------------------------------------===//

def Zero_LossScaleAttr : Zero_Attr<"LossScale", "loss_scale"> {
  let summary = "Static or dynamic loss scale, by DeepSpeed's rule";
  let description = [{
    Scales are above 0 and finite in f32, and a dynamic one starts at `minimum`
    or above; `window` and `hysteresis` are 1 or more.
  }];
  let parameters = (ins F64Param<"1.0">:$initial, BoolParam<"false">:$dynamic,
      Zero_ParamOf<"fp16.min_loss_scale">.param:$minimum,
      Zero_ParamOf<"fp16.loss_scale_window">.param:$window,
      Zero_ParamOf<"fp16.hysteresis">.param:$hysteresis,
      Zero_ParamOf<"fp16.consecutive_hysteresis">.param:$consecutive_hysteresis);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Zero_ScheduleAttr : Zero_Attr<"Schedule", "schedule"> {
  let summary = "Learning-rate schedule";
  let description = [{
    `type` is `constant`, `WarmupLR`, `WarmupDecayLR` or `WarmupCosineLR`; the
    parameters are DeepSpeed's. A `max` of -1 stands for the group's rate; other
    rates and ratios are at least 0. `warmup` and `total` count updates; the two
    schedules that decay need a `total` of 1 or more.
  }];
  defvar key = "scheduler.params.";
  let parameters = (ins EnumParameter<Zero_Schedule>:$type,
      Zero_ParamOf<key # "warmup_min_lr">.param:$min, F64Param<"-1.0">:$max,
      Zero_ParamOf<key # "warmup_num_steps">.param:$warmup, I64Param<"0">:$total,
      BoolParam<"true">:$log,
      Zero_ParamOf<key # "warmup_min_ratio">.param:$warmup_min_ratio,
      Zero_ParamOf<key # "cos_min_ratio">.param:$cos_min_ratio);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def Zero_FilesAttr : Zero_Attr<"Files", "files"> {
  let summary = "Where states in files are, and how they are read and written"
                " (`offload_optimizer.nvme_path`, `aio`)";
  let description = [{
    Each rank has one file in `folder`. A read or a write is cut into blocks of
    `block_bytes`, of which up to `queue_depth` are in flight together. A sub-group
    whose states have fewer than `least_bytes` each stays in host memory.

    `folder` is not empty, `block_bytes` is a multiple of 4,096 up to 2^30,
    `queue_depth` is 1 to 4,096, and `least_bytes` at least 0.
  }];
  let parameters = (ins StringRefParameter<"an existing folder">:$folder,
      Zero_ParamOf<"aio.block_size">.param:$block_bytes,
      Zero_ParamOf<"aio.queue_depth">.param:$queue_depth,
      Zero_ParamOf<"zero.offload_nvme_min_bytes">.param:$least_bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Zero_ParameterFilesAttr : Zero_Attr<"ParameterFiles", "parameter_files"> {
  let summary = "Which sharded parameters are in files"
                " (`offload_param.device` `nvme`)";
  let description = [{
    Of the parameters of a rank, in their order, those that fit into `in_host`
    elements stay in host memory, and so does a parameter whose slice has fewer bytes
    than the `least_bytes` of `#zero.files`, or more than `buffer_size` elements. The
    others are in the rank's file. Both numbers are at least 0.
  }];
  let parameters = (ins
      Zero_ParamOf<"zero_optimization.offload_param.max_in_cpu">.param:$in_host,
      Zero_ParamOf<"zero_optimization.offload_param.buffer_size">.param:$buffer_size);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Zero_OffloadAttr : Zero_Attr<"Offload", "offload"> {
  let summary = "What of the update is done on the host"
                " (`zero_optimization.offload_optimizer`)";
  let description = [{
    Of each partition, the first segments that hold at least the fraction `ratio`
    of its elements have their states in host memory, and are updated there, in
    sub-groups of neighbouring segments: as many as have at most
    `sub_group_size` elements on one rank, and at least one. With
    `pipeline_read`, the gradients of the next sub-group are copied while one is
    updated; with `pipeline_write`, the parameters of the one before. With
    `parameters`, which needs a ratio of 1, sharded parameters are in host memory,
    too, and are updated in place; copies of their slices start
    `upload_buffers` gathers ahead of their own, less one. With
    `files`, states of large sub-groups are
    there instead, and are read before and written after an update: with
    `pipeline_read` beside the update before, with `pipeline_write` beside the
    next one. With `parameter_files`, which needs both, parameters are in files, too:
    their slices are read `upload_buffers` gathers ahead, less one.

    `ratio` lies in (0, 1], `sub_group_size` and `upload_buffers` are at least 1.
  }];
  defvar key = "zero_optimization.offload_";
  let parameters = (ins Zero_ParamOf<key # "optimizer.ratio">.param:$ratio,
      Zero_ParamOf<"zero_optimization.sub_group_size">.param:$sub_group_size,
      Zero_ParamOf<key # "optimizer.pipeline_read">.param:$pipeline_read,
      Zero_ParamOf<key # "optimizer.pipeline_write">.param:$pipeline_write,
      BoolParam<"false">:$parameters,
      OptionalParameter<"::mlir::zero::FilesAttr">:$files,
      Zero_ParamOf<key # "param.buffer_count">.param:$upload_buffers,
      OptionalParameter<"::mlir::zero::ParameterFilesAttr">:$parameter_files);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Zero_QuantizationAttr : Zero_Attr<"Quantization", "quantization"> {
  let summary = "Elements as integers, a scale for each block"
                " (`zero_quantized_weights`, `zero_quantized_nontrainable_weights`,"
                " `zero_quantized_gradients`)";
  let description = [{
    `block` neighbours share a scale, their largest magnitude / (2^(bits-1) - 1), and
    each is an integer of `bits` bits times that: at most half a scale off, before it
    is rounded to its own type.

    `bits` is 8 or 4, `block` even and at least 2.
  }];
  let parameters = (ins I64Param<"8">:$bits, I64Param<"256">:$block);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of `elements` elements in packed form: `zrt::Quantization` lays it out.
    int64_t getPackedBytes(int64_t elements) const;
  }];
}

def Zero_FeedbackAttr : Zero_Attr<"Feedback", "feedback"> {
  let summary = "What quantized gradients lose is added to later ones"
                " (`zeropp_loco_param`)";
  let description = [{
    A rank keeps an error e of each element that it quantizes (LoCo,
    <https://arxiv.org/abs/2407.04480>). For a gradient g it quantizes x = g + e;
    if x dequantizes to x',
    ```
    e = beta * e + (1 - beta) * (x - x')
    ```
    An error is bf16, in units of the loss without its scale, and zero where that is
    not finite. All are zero at the begin of each update whose number, from 0 on, is a
    multiple of `reset`, and of one that follows a skipped one.

    `beta` lies in [0, 1), `reset` is at least 1.
  }];
  defvar key = "zero_optimization.zeropp_loco_param.";
  let parameters = (ins Zero_ParamOf<key # "err_beta">.param:$beta,
      Zero_ParamOf<key # "reset_T">.param:$reset);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Zero_PlanningAttr : Zero_Attr<"Planning", "planning"> {
  let summary = "What decides how states are cut, and when they travel";
  let description = [{
    Sizes, distances and thresholds are elements. `zero-configure` writes it; the
    passes of a schedule read it, and so does whoever reads a schedule back from
    text. Parameters that are keys of a configuration mean and default to what they
    do without a file: see `docs/Configuration.md`. `contiguous` is the key
    `zero.layout`. `state_tiers` says by name where states of optimizers are, such
    as `{exp_avg = "host"}`; all others are on the device. `offload` says that the
    host keeps and updates them. With `quantized_weights`, sharded parameters
    travel quantized where a rank has a block of them or more. With
    `quantized_frozen`, those that are not trained are stored so. With
    `quantized_gradients` the gradients of stage 3 travel quantized, and with
    `gradients_within` they are added up in two steps: within the groups of these
    axes, the last ones over which states are cut, and then between these groups.
    With `error_feedback`, the error of quantizing them is added to later
    gradients.

    Bucket sizes and `alignment` are at least 1, `alignment` at most 2^31 - 1;
    all other numbers are at least 0.
  }];
  // Parameters that are keys come first, then those that are none.
  let parameters = !con(
      !dag(ins, !foreach(key, PlannedKeys, Zero_KeyParam<key>.param),
           !foreach(key, PlannedKeys, key.planned)),
      (ins BoolParam<"false">:$contiguous,
      OptionalParameter<"::mlir::DictionaryAttr">:$state_tiers,
      OptionalParameter<"::mlir::zero::OffloadAttr">:$offload,
      OptionalParameter<"::mlir::zero::QuantizationAttr">:$quantized_weights,
      OptionalParameter<"::mlir::zero::QuantizationAttr">:$quantized_frozen,
      OptionalParameter<"::mlir::zero::QuantizationAttr">:$quantized_gradients,
      OptionalParameter<"::mlir::zero::AxesAttr">:$gradients_within,
      OptionalParameter<"::mlir::zero::FeedbackAttr">:$error_feedback));
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static PlanningAttr get(::mlir::MLIRContext *context,
                            const PlanningSettings &settings);
    /// The tier in which the state of that name is.
    MemoryTier getStateTier(::llvm::StringRef state) const;
  }];
}

def Zero_TrainingAttr : Zero_Attr<"Training", "training"> {
  let summary = "What holds for every update of a step";
  let description = [{
    `stage` is 0 to 3; `ranks` and `accumulation` are 1 to 2^31 - 1; `clip` is at
    least 0, which stands for none. One rank has nothing to communicate, and its
    step is that of stage 0 without collectives; with `keep_trivial` it has those
    of its stage all the same. `planning` has the settings that the passes of a
    schedule read.
  }];
  let parameters = (ins I64Param<>:$stage, I64Param<>:$ranks,
      I64Param<"1">:$accumulation, F64Param<"0.0">:$clip,
      BoolParam<"false">:$deterministic,
      OptionalParameter<"::mlir::zero::LossScaleAttr">:$loss_scale,
      OptionalParameter<"::mlir::zero::ScheduleAttr">:$schedule,
      BoolParam<"false">:$keep_trivial,
      DefaultValuedParameter<"::mlir::zero::PlanningAttr",
        "::mlir::zero::PlanningAttr::get($_ctxt, {})">:$planning);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether nothing travels in a group of `ranks`: it is one rank, and was
    /// not asked to keep its collectives.
    bool isSilent(int64_t ranks) const { return ranks == 1 && !getKeepTrivial(); }
    /// Whether the step has no collectives.
    bool isSilent() const { return isSilent(getRanks()); }
    /// Micro-batches of an update, of all ranks.
    int64_t getMicroBatches() const { return getRanks() * getAccumulation(); }
  }];
}

//===----------------------------------------------------------------------===//
// Layout and placement
//===----------------------------------------------------------------------===//

def Zero_AxesAttr : Zero_Attr<"Axes", "axes"> {
  let summary = "Axes of a mesh of ranks, with their sizes";
  let description = [{
    A set of axes stands for groups: the ranks that differ in these axes only are
    one group, and a rank's index in it is row-major in the axes.
    ```mlir
    #zero.axes<replica = 2, shard = 3>
    ```
    Constraints
    - (C1) there is an axis, each has another name and at least one rank.
    - (C2) the ranks are at most 2^31 - 1.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
      ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `<data = ranks>`: the axes of a module without a mesh.
    static AxesAttr getLine(::mlir::MLIRContext *context, int64_t ranks);
    bool isLine() const;
    /// Ranks of a group: the product of the sizes.
    int64_t getSize() const;
    /// Whether each axis of `inner` is here too, of the same size and in the
    /// same order.
    bool contains(AxesAttr inner) const;
    /// The axes that are not in `inner`, which may be null; null where none are
    /// left.
    AxesAttr without(AxesAttr inner) const;
    /// The axes whose ranks have samples of their own, and those whose ranks
    /// compute parts of one model; null if there are none.
    AxesAttr getBatchAxes() const;
    AxesAttr getModelAxes() const;
    /// The axes whose ranks have the same elements of parameters, over which
    /// gradients are reduced and states may be cut, and those whose ranks have
    /// parts of parameters; null if there are none.
    AxesAttr getStateAxes() const;
    AxesAttr getPartAxes() const;
    /// The axis whose ranks have different layers; null where there is none.
    AxesAttr getStageAxes() const;
    /// The index of `rank`, of the ranks of these axes, in its group of `group`.
    int64_t getIndexIn(AxesAttr group, int64_t rank) const;
  }];
}

def Zero_CutAttr : Zero_Attr<"Cut", "cut"> {
  let summary = "How a dimension of a tensor is cut among ranks";
  let description = [{
    The whole dimension is `repeats` times the pieces, one behind the other. Of each
    piece each of the ranks of a group has an equal part, rank r the r-th, so that
    what a rank has is its parts in the order of the pieces.

    Queries, keys and values of 4, 2 and 2 heads of 8 elements in one dimension of 64,
    of which each of two ranks has 2, 1 and 1 heads; and 4 heads of which each has a
    query, a key and a value, which are cut into 2 and 2 heads:
    ```mlir
    #zero.cut<dim 0 of [32, 16, 16] over <tensor = 2>>
    #zero.cut<dim 0 of [96] over <tensor = 2>>
    ```
    Constraints
    - (C1) `dim` is at least 0, and `repeats` at least 1.
    - (C2) there are pieces, and each is a multiple of the ranks of the group.
    - (C3) the sizes have 64 bits.
  }];
  let parameters = (ins I64Param<>:$dim,
      DefaultValuedParameter<"int64_t", "1">:$repeats,
      ArrayRefParameter<"int64_t">:$pieces, "::mlir::zero::AxesAttr":$over);
  let assemblyFormat = "`<` `dim` $dim `of` (` ` `repeated` $repeats^)? ` ` `[` $pieces `]` `over` $over `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of the dimension, whole and on one rank.
    int64_t getWholeSize() const;
    int64_t getPartSize() const { return getWholeSize() / getOver().getSize(); }
    /// The index in the whole dimension of index `at` in the part of rank `index`
    /// of the group.
    int64_t getWholeIndex(int64_t at, int64_t index) const;
    /// Whether `type` has the dimension, in this size.
    bool fitsWhole(::mlir::RankedTensorType type) const;
    bool fitsPart(::mlir::RankedTensorType type) const;
    /// `whole` with the dimension of one rank.
    ::mlir::RankedTensorType getPartType(::mlir::RankedTensorType whole) const;
    /// `part` with the whole dimension.
    ::mlir::RankedTensorType getWholeType(::mlir::RankedTensorType part) const;
  }];
}

def Zero_MemberAttr : Zero_Attr<"Member", "member"> {
  let summary = "A parameter's place in a flat group";
  let description = [{
    Elements [offset, offset + size) of the group are the parameter's. What lies
    between members, and behind the last one, is padding: zeros.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$parameter,
      I64Param<>:$offset, I64Param<>:$size);
  let assemblyFormat = "`<` $parameter `at` $offset `size` $size `>`";
  let genVerifyDecl = 1;
}

def Zero_BlockAttr : Zero_Attr<"Block", "block"> {
  let summary = "A block of a parameter";
  let description = [{
    Elements [begin, end) of the flattened parameter, at least one.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$parameter,
      I64Param<>:$begin, I64Param<>:$end);
  let assemblyFormat = "`<` $parameter `[` $begin `to` $end `]` `>`";
  let genVerifyDecl = 1;
}

class TierParam<string default = "::mlir::zero::MemoryTier::Device"> : EnumParameter<Zero_Tier> {
  let defaultValue = default;
}

def Zero_AtAttr : Zero_Attr<"At", "at"> {
  let summary = "A place in memory: arena, tier and byte offset";
  let description = [{
    The arena says which kind of data the place holds, the tier in which memory it
    is: in that of the `device`, where kernels run, in pinned memory of the
    `host`, or in a `file`. Each arena has a memory of its own in each tier, and
    offsets count from its begin: places in two tiers never share bytes. The
    address on a rank is `arena + offset + i * stride`, in bytes, where i is the
    rank's index in the group `over`, or without it in that over which states
    are cut.
    ```mlir
    #zero.at<optimizer[128], 64 bytes>
    #zero.at<gradients[0], 64 bytes stride 64 over <data = 2>>
    #zero.at<optimizer[128] on host, 64 bytes>
    ```
  }];
  let parameters = (ins EnumParameter<Zero_Arena>:$arena, I64Param<>:$offset,
      I64Param<>:$bytes, I64Param<"0">:$stride, TierParam<>:$tier,
      OptionalParameter<"::mlir::zero::AxesAttr">:$over);
  let assemblyFormat = "`<` $arena `[` $offset `]` (`on` $tier^)? `,` $bytes `bytes` (`stride` $stride^)? (`over` $over^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The memory that the place is in: one arena of one tier.
    MemorySpace getSpace() const { return {getArena(), getTier()}; }
    /// The place of `bytes` bytes from `first` on, on each rank.
    AtAttr getPart(int64_t first, int64_t bytes) const {
      return getPart(first, bytes, getStride(), getOver());
    }
    /// The place of `bytes` bytes from `first` on, `stride` bytes apart on the
    /// ranks of `over`.
    AtAttr getPart(int64_t first, int64_t bytes, int64_t stride, ::mlir::zero::AxesAttr over) const {
      return get(getContext(), getArena(), getOffset() + first, bytes, stride, getTier(),
                 stride ? over : nullptr);
    }
    /// The byte offset just behind the place, on the first rank of the group.
    int64_t getEnd() const { return getOffset() + getBytes(); }
    /// Whether both begin at the same byte on the first rank of the group.
    bool beginsWith(AtAttr other) const {
      return getSpace() == other.getSpace() && getOffset() == other.getOffset();
    }
  }];
}

def Zero_StateRangeAttr : Zero_Attr<"StateRange", "state_range"> {
  let summary = "Where elements of a state are";
  let description = [{
    Elements [begin, end) of the partition's flat space are in `tier`, and once
    memory is planned at `at`: all of them, or a rank's slices where the state is
    sharded. An `end` of -1 is the end of the space.
  }];
  let parameters = (ins I64Param<"0">:$begin, I64Param<"-1">:$end, TierParam<>:$tier,
      OptionalParameter<"::mlir::zero::AtAttr">:$at);
  let assemblyFormat = "`<` struct(params) `>`";
}
def Zero_StateAttr : Zero_Attr<"State", "state"> {
  let summary = "A state that an optimizer keeps of a partition";
  let description = [{
    Its name, its element type, and where it is: one range, or several that
    follow each other and are cut at segment boundaries.
    ```mlir
    exp_avg f32 at #zero.at<optimizer[0], 144 bytes>
    exp_avg f32 on host
    exp_avg f32 [0 to 64] [64 to 144] on host
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::Type":$type,
      ArrayRefParameter<"::mlir::zero::StateRangeAttr">:$ranges);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// All of it in one tier, without a place.
    static StateAttr get(::mlir::MLIRContext *context, ::llvm::StringRef name, ::mlir::Type type,
                         ::mlir::zero::MemoryTier tier);
    /// The form without `<` and `>`.
    static StateAttr parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
  }];
}

def Zero_AccumulateForm : I32EnumAttr<"AccumulateForm", "what part of a range a value holds", [
    I32EnumAttrCase<"Whole", 0, "whole">,
    I32EnumAttrCase<"Slice", 1, "slice">,
    I32EnumAttrCase<"Owned", 2, "owned">]> {
  let cppNamespace = "::mlir::zero";
}

def Zero_Exchange
    : I32EnumAttr<"ExchangeStep",
                  "a step in which quantized gradients are added up", [
    I32EnumAttrCase<"Whole", 0, "whole">,
    I32EnumAttrCase<"Within", 1, "within">,
    I32EnumAttrCase<"Between", 2, "between">]> {
  let cppNamespace = "::mlir::zero";
}

def Zero_Link
    : I32EnumAttr<
          "LinkKind",
          "what bytes move over", [I32EnumAttrCase<"Ranks", 0, "ranks">,
                                   I32EnumAttrCase<"Bus", 1, "bus">,
                                   I32EnumAttrCase<"HostMemory", 2, "host_memory">,
                                   I32EnumAttrCase<"File", 3, "file">]> {
  let cppNamespace = "::mlir::zero";
}

#endif // ZERO_DIALECT_ZERO_ZEROATTRS_TD
