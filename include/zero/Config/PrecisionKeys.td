//===- PrecisionKeys.td - the keys of types and of gradients -------*- tablegen -*-===//

defvar kSameMean =
    "where the model computes in f16, sums over ranks are scaled by a power of two, so "
    "that they do not overflow; bf16 and f32 have room for them. The mean is the same";

// Precision.
def : Key<"fp16", Object, "null", "16-bit training with a scaled loss">;
def : Key<"fp16.enabled", Bool, "false", "compute in f16">,
    Written<[{only(config.precision == zrt::DataType::F16, true)}]>;
def : Key<"fp16.auto_cast", Bool, "false", "cast the inputs of the model">,
    Refused<"inputs have the type that the model declares; leave it out">;
def : Key<"fp16.loss_scale", NonNegative, "0", "a fixed scale; 0 means dynamic">,
    Written<[{
      only(config.lossScale.enabled, config.lossScale.dynamic ? 0.0 :
      config.lossScale.initial)}]>, Option<"loss-scale">;
def : Key<"fp16.initial_scale_power", Size, "16",
    "a dynamic scale starts at 2 to this power">,
    Written<[{only(config.lossScale.dynamic, std::ilogb(config.lossScale.initial))}]>;
def : Key<"fp16.loss_scale_window", Count, "1000",
    "updates without an overflow before the scale doubles">, Field<LossScale, "window">;
def : Key<"fp16.hysteresis", Count, "2", "overflows before the scale is halved">,
    Field<LossScale, "hysteresis">;
def : Key<"fp16.consecutive_hysteresis", Bool, "false",
    "an update without an overflow refills the hysteresis">,
    Field<LossScale, "consecutiveHysteresis">;
def : Key<"fp16.min_loss_scale", Positive, "1",
    "smallest scale; an overflow at this scale ends the run">,
    Field<LossScale, "minimum">;
def : Key<"fp16.fp16_master_weights_and_grads", Bool, "false",
    "keep master weights in f16">, Refused<"master weights are f32; leave it out">;
def : Key<"bf16", Object, "null", "16-bit training with the range of f32">;
def : Key<"bf16.enabled", Bool, "false", "compute in bf16">,
    Written<[{only(config.precision == zrt::DataType::BF16, true)}]>;
def : Key<"bf16.immediate_grad_update", Bool, "false",
    "accumulate gradients as soon as they are computed">,
    NoEffect<"each gradient is accumulated after its last contribution">;
def : Key<"bf16.check_grad_overflow", Bool, "true",
    "skip updates with a gradient that is not finite">,
    Refused<"the check shares a read with the norm and costs nothing; leave it out">;
def : Key<"bf16.bf16_master_weights_and_grads", Bool, "false",
    "keep master weights in bf16">, Refused<"master weights are f32; leave it out">;
def : Key<"bf16.bf16_optimizer_states", Bool, "false", "keep moments in bf16">,
    Refused<"moments are f32; leave it out">;
def : Key<"bfloat16", Object, "null", "old name of bf16">;
def : Key<"bfloat16.enabled", Bool, "false", "compute in bf16">;
def : Key<"data_types", Object, "null", "types of individual states">;
def : Key<"data_types.grad_accum_dtype", Choice, "null",
    "type of gradient accumulation; must be fp32 with several micro-batches">,
    OneOf<FloatTypes.words>;
def : Key<"data_types.param_dtype", Choice, "null", "type of parameters">,
    OneOf<FloatTypes.words>,
    Refused<"it follows from fp16 and bf16; leave it out">;
def : Key<"data_types.buffer_dtype", Choice, "null", "type of buffers">,
    OneOf<FloatTypes.words>, Refused<"it follows from the model; leave it out">;
def : Key<"amp", Block, "null", "NVIDIA apex">, Refused<"use bf16 or fp16">;
def : Key<"ddp_bf16", Any, "null", "gradients in bf16 without ZeRO">,
    Refused<"gradients are communicated in the compute type; use bf16">;
def : Key<"torch_autocast", Block, "null", "PyTorch's autocast">,
    Refused<"use bf16: statistics and the loss stay f32">;

// Gradients.
def : Key<"gradient_clipping", NonNegative, "1.0",
    "bound on the global gradient norm; 0 means none">, Field<Run, "gradientClipping">,
    Option<"clip">;
def : Key<"prescale_gradients", Bool, "false",
    "divide gradients before they are reduced, against overflow">, NoEffect<kSameMean>;
def : Key<"gradient_predivide_factor", Positive, "1.0",
    "divide by this before, and by the rest of the ranks after">, NoEffect<kSameMean>;
def : Key<"gradient_allreduce_op", Choice, "\"mean\"",
    "how gradients are combined over ranks">, OneOf<["mean", "sum"]>,
    Refused<"updates use the mean; scale the learning rate instead">;
def : Key<"communication_data_type", Choice, "null",
    "type that gradients travel in: the compute type, or fp32; where several "
    "micro-batches are added up before (stages 0 and 1 without zero.deterministic), "
    "always fp32">,
    OneOf<FloatTypes.words>, Written<[{writeType(config.communicationType)}]>;
def : Key<"seq_parallel_communication_data_type", Choice, "\"fp32\"",
    "type of sequence-parallel communication">, OneOf<FloatTypes.words>,
    Refused<"gradients are reduced over `sequence` as over other axes; give "
            "communication_data_type">;
def : Key<"sparse_gradients", Bool, "false", "send embedding gradients as sparse rows">,
    Refused<"gradients are slices of flat groups; leave it out">;
def : Key<"disable_allgather", Bool, "false",
    "distribute updated parameters by broadcasts">,
    NoEffect<kNoBroadcasts, [UpdatedEverywhere, GatheredForUses]>;
