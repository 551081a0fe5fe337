//===- OptimizerKeys.cpp - The rows of the optimizer ------------*- C++ -*-===//
#include "ConfigRows.h"

#include "zero/Config/Config.h"

using namespace mlir::zero;
using namespace mlir::zero::rows;

namespace {
constexpr const char *kAdam = "Adam|AdamW";
constexpr const char *kBetas = "Adam|AdamW|Lion";
constexpr const char *kEps = "Adam|AdamW|Adagrad";
constexpr const char *kSgd = "SGD";
constexpr const char *kWarmup = "WarmupLR|WarmupDecayLR";
constexpr const char *kTotal = "WarmupDecayLR|WarmupCosineLR";
constexpr const char *kCosine = "WarmupCosineLR";

constexpr ConfigKey kKeys[] = {
    // Optimizer.
    {"optimizer", T::Object, "null", yes,
     "the optimizer; when absent, AdamW with its defaults"},
    {"optimizer.type", T::Text, "\"AdamW\"", yes,
     "Adam, AdamW, SGD, Lion or Adagrad, in any case"},
    {"optimizer.legacy_fusion", T::Bool, "false", none,
     "use the legacy fused kernel", "updates are always fused"},
    {"optimizer.params", T::Object, "null", yes, "settings of the optimizer"},
    {"optimizer.params.lr", T::NonNegative, "0.001", yes,
     "learning rate; Adagrad: 0.01 when absent"},
    {"optimizer.params.betas", T::Betas, "[0.9, 0.999]", yes,
     "decay rates of the first and second moment", "", "", kBetas},
    {"optimizer.params.eps", T::NonNegative, "1e-08", yes,
     "added to the square root of the second moment; Adagrad: 1e-10 when "
     "absent",
     "", "", kEps},
    {"optimizer.params.weight_decay", T::NonNegative, "0", yes,
     "weight decay; the group \"no_decay\" has 0 unless zero.parameter_groups "
     "says otherwise"},
    {"optimizer.params.bias_correction", T::Bool, "true", yes,
     "bias correction of the moments", "", "", kAdam},
    {"optimizer.params.adam_w_mode", T::Bool, "true", yes,
     "decoupled weight decay; false makes \"Adam\" add it to the gradient", "",
     "", kAdam},
    {"optimizer.params.torch_adam", T::Bool, "false", none,
     "use PyTorch's implementation", "the arithmetic is the same", "", kAdam},
    {"optimizer.params.fused", T::Bool, "false", none,
     "use PyTorch's fused implementation", "updates are always fused"},
    {"optimizer.params.foreach", T::Bool, "false", none,
     "use PyTorch's multi-tensor implementation", "updates are always fused"},
    {"optimizer.params.fp32_optimizer_states", T::Bool, "true", no,
     "keep moments in f32", "moments are always f32; leave it out", "", kAdam},
    {"optimizer.params.amsgrad", T::Bool, "false", no,
     "keep the maximum of second moments",
     "there is no such kernel; leave it out", "", kAdam},
    {"optimizer.params.momentum", T::Fraction, "0", yes, "momentum factor", "",
     "", kSgd},
    {"optimizer.params.nesterov", T::Bool, "false", yes, "Nesterov momentum",
     "", "", kSgd},
    {"optimizer.params.dampening", T::NonNegative, "0", no,
     "dampening of momentum", "there is no such kernel; leave it out", "",
     kSgd},
    {"optimizer.params.maximize", T::Bool, "false", no,
     "maximize the loss instead of minimizing it",
     "negate the loss in the model"},
    {"optimizer.params.max_grad_norm", T::Any, "null", no,
     "bound on the gradient norm",
     "it is not a setting of the optimizer; use gradient_clipping"},
    {"zero_allow_untested_optimizer", T::Bool, "false", none,
     "let ZeRO run with any optimizer", "every optimizer here is tested"},
    {"zero_force_ds_cpu_optimizer", T::Bool, "true", none,
     "require DeepSpeed's own optimizer when offloading",
     "the optimizer is always the compiled one"},

    // Learning rate.
    {"scheduler", T::Object, "null", yes,
     "the learning-rate schedule; when absent, constant"},
    {"scheduler.type", T::Text, "null", yes,
     "WarmupLR, WarmupDecayLR or WarmupCosineLR"},
    {"scheduler.params", T::Object, "null", yes, "settings of the schedule"},
    {"scheduler.params.warmup_min_lr", T::NonNegative, "0", yes,
     "learning rate at the first update", "", "", kWarmup},
    {"scheduler.params.warmup_max_lr", T::NonNegative, "null", yes,
     "learning rate after the warm-up; when absent, each group's own for "
     "WarmupLR and 0.001 for WarmupDecayLR",
     "", "", kWarmup},
    {"scheduler.params.warmup_num_steps", T::Count, "1000", yes,
     "updates of the warm-up"},
    {"scheduler.params.warmup_type", T::Choice, "\"log\"", yes,
     "shape of the warm-up", "", "log|linear"},
    {"scheduler.params.total_num_steps", T::Count, "null", yes,
     "updates until the end of the decay; required", "", "", kTotal},
    {"scheduler.params.warmup_min_ratio", T::NonNegative, "0", yes,
     "fraction of the learning rate at the first update", "", "", kCosine},
    {"scheduler.params.cos_min_ratio", T::NonNegative, "0.0001", yes,
     "fraction of the learning rate at the end", "", "", kCosine},
    {"scheduler.params.last_batch_iteration", T::Integer, "-1", no,
     "update to start from", "a run starts at update 0; leave it out"},
};

/// In the column `only` above, a rule's settings.
constexpr OptimizerRule kOptimizers[] = {
    {"AdamW", "adamw"},
    {"Adam", "adam"},
    {"SGD", "sgd"},
    {"Lion", "lion"},
    {"Adagrad", "adagrad", {{"lr", 0.01}, {"eps", 1e-10}}}};
} // namespace

llvm::ArrayRef<ConfigKey> mlir::zero::getOptimizerKeys() { return kKeys; }

llvm::ArrayRef<OptimizerRule> mlir::zero::getOptimizerRules() {
  return kOptimizers;
}
