//===- OptimizerKeys.td - the keys of the optimizer and of its rate *- tablegen -*-===//

defvar kAdam = ["Adam", "AdamW"];
defvar kBetas = ["Adam", "AdamW", "Lion"];
defvar kEps = ["Adam", "AdamW", "Adagrad"];
defvar kSgd = ["SGD"];
defvar kWarmup = ["WarmupLR", "WarmupDecayLR"];
defvar kTotal = ["WarmupDecayLR", "WarmupCosineLR"];
defvar kCosine = ["WarmupCosineLR"];

// Optimizer.
def : Key<"optimizer", Object, "null",
    "the optimizer; when absent, AdamW with its defaults">;
def : Key<"optimizer.type", Text, "\"AdamW\"",
    "Adam, AdamW, SGD, Lion or Adagrad, in any case">,
    Written<[{findOptimizerRule(config.optimizer.type)->type}]>;
def : Key<"optimizer.legacy_fusion", Bool, "false", "use the legacy fused kernel">,
    NoEffect<"updates are always fused">;
def : Key<"optimizer.params", Object, "null", "settings of the optimizer">;
def : Key<"optimizer.params.lr", NonNegative, "0.001",
    "learning rate; Adagrad: 0.01 when absent">, Field<Optimizer, "learningRate">,
    Option<"lr">;
def : Key<"optimizer.params.betas", Betas, "[0.9, 0.999]",
    "decay rates of the first and second moment">, Of<kBetas>,
    Written<[{json::Array({config.optimizer.beta1, config.optimizer.beta2})}]>;
def : Key<"optimizer.params.eps", NonNegative, "1e-08",
    "added to the square root of the second moment; Adagrad: 1e-10 when absent">,
    Of<kEps>, Field<Optimizer, "epsilon">;
def : Key<"optimizer.params.weight_decay", NonNegative, "0",
    "weight decay; the group \"no_decay\" has 0 unless zero.parameter_groups says "
    "otherwise">, Field<Optimizer, "weightDecay">, Option<"weight-decay">;
def : Key<"optimizer.params.bias_correction", Bool, "true",
    "bias correction of the moments">, Of<kAdam>, Field<Optimizer, "biasCorrection">;
def : Key<"optimizer.params.adam_w_mode", Bool, "true",
    "decoupled weight decay, as \"AdamW\" has it always; false makes \"Adam\" add it to "
    "the gradient">, Of<kAdam>,
    Written<[{only(config.optimizer.type == "adam", false)}]>;
def : Key<"optimizer.params.torch_adam", Bool, "false",
    "use PyTorch's defaults: AdamW's weight_decay is 0.01 when absent">, Of<kAdam>;
def : Key<"optimizer.params.fused", Bool, "false",
    "use PyTorch's fused implementation">, NoEffect<"updates are always fused">;
def : Key<"optimizer.params.foreach", Bool, "false",
    "use PyTorch's multi-tensor implementation">, NoEffect<"updates are always fused">;
def : Key<"optimizer.params.fp32_optimizer_states", Bool, "true",
    "keep moments in f32">, Of<kAdam>, Refused<"moments are always f32; leave it out">;
def : Key<"optimizer.params.amsgrad", Bool, "false",
    "keep the maximum of second moments">, Of<kAdam>,
    Refused<"there is no such kernel; leave it out">;
def : Key<"optimizer.params.momentum", Fraction, "0", "momentum factor">, Of<kSgd>,
    Field<Optimizer, "momentum">, Option<"momentum">;
def : Key<"optimizer.params.nesterov", Bool, "false", "Nesterov momentum">, Of<kSgd>,
    Field<Optimizer, "nesterov">;
def : Key<"optimizer.params.dampening", NonNegative, "0", "dampening of momentum">,
    Of<kSgd>, Refused<"there is no such kernel; leave it out">;
def : Key<"optimizer.params.maximize", Bool, "false",
    "maximize the loss instead of minimizing it">,
    Refused<"negate the loss in the model">;
def : Key<"optimizer.params.max_grad_norm", Any, "null", "bound on the gradient norm">,
    Refused<"it is not a setting of the optimizer; use gradient_clipping">;
def : Key<"zero_allow_untested_optimizer", Bool, "false",
    "let ZeRO run with any optimizer">, NoEffect<"every optimizer here is tested">;
def : Key<"zero_force_ds_cpu_optimizer", Bool, "true",
    "require DeepSpeed's own optimizer when offloading">,
    NoEffect<"the optimizer is always the compiled one">;

// Learning rate.
def : Key<"scheduler", Object, "null",
    "the learning-rate schedule; when absent, constant">;
def : Key<"scheduler.type", Text, "null", "WarmupLR, WarmupDecayLR or WarmupCosineLR">,
    Written<[{
      only(config.scheduler.type != SchedulerType::Constant,
      nameOf(config.scheduler.type))}]>;
def : Key<"scheduler.params", Object, "null", "settings of the schedule">;
def : Key<"scheduler.params.warmup_min_lr", NonNegative, "0",
    "learning rate at the first update">, Of<kWarmup>,
    Field<Schedule, "warmupMinLearningRate">;
def : Key<"scheduler.params.warmup_max_lr", NonNegative, "null",
    "learning rate after the warm-up; \"auto\" and null: each group's own, and so when "
    "absent for WarmupLR; when absent for WarmupDecayLR: 0.001">, Of<kWarmup>,
    Written<[{writeLargestRate(config.scheduler)}]>;
def : Key<"scheduler.params.warmup_num_steps", Count, "1000", "updates of the warm-up">,
    Field<Schedule, "warmupSteps">;
def : Key<"scheduler.params.warmup_type", Choice, "\"log\"", "shape of the warm-up">,
    OneOf<["log", "linear"]>,
    Written<[{only(findSchedule(config), config.scheduler.logWarmup ? "log" : "linear")}]>;
def : Key<"scheduler.params.total_num_steps", Count, "null",
    "updates until the end of the decay; required">, Of<kTotal>,
    Written<[{config.scheduler.totalSteps}]>;
def : Key<"scheduler.params.warmup_min_ratio", NonNegative, "0",
    "fraction of the learning rate that the warm-up begins with; the first update has 0">,
    Of<kCosine>, Field<Schedule, "warmupMinRatio">;
def : Key<"scheduler.params.cos_min_ratio", NonNegative, "0.0001",
    "fraction of the learning rate at the end">, Of<kCosine>,
    Field<Schedule, "cosineMinRatio">;
def : Key<"scheduler.params.last_batch_iteration", Integer, "-1",
    "update to start from">, Refused<"a run starts at update 0; leave it out">;
