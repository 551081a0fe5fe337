// What is written reads as what it was written from.
#include "ConfigTesting.h"

#include <cmath>
#include <tuple>

using namespace mlir::zero;
using namespace mlir::zero::testing;

// Each field by name, so that a new one has to be added here.

static auto fields(const OptimizerConfig &config) {
  const auto &[type, rate, beta1, beta2, epsilon, decay, correction, momentum,
               nesterov] = config;
  return std::tie(type, rate, beta1, beta2, epsilon, decay, correction,
                  momentum, nesterov);
}

static auto fields(const SchedulerConfig &config) {
  const auto &[type, least, most, warmup, isLog, total, ratio, cosine] = config;
  return std::tie(type, least, most, warmup, isLog, total, ratio, cosine);
}

static auto fields(const LossScaleConfig &config) {
  const auto &[enabled, dynamic, initial, minimum, window, hysteresis,
               consecutive] = config;
  return std::tie(enabled, dynamic, initial, minimum, window, hysteresis,
                  consecutive);
}

static auto fields(const CheckpointConfig &config) {
  const auto &[every, number, layers, policy, offload] = config;
  return std::tie(every, number, layers, policy, offload);
}

static auto fields(const FeedbackConfig &config) {
  const auto &[beta, reset] = config;
  return std::tie(beta, reset);
}

static auto fields(const OffloadConfig &config) {
  static const FilesConfig none;
  static const ParameterFilesConfig noParameters{-1, -1};
  const auto &[ratio, subGroup, reads, writes, parameters, given, buffers,
               parameterFiles] = config;
  const auto &[folder, block, depth, least] = given ? *given : none;
  const auto &[inHost, size] = parameterFiles ? *parameterFiles : noParameters;
  return std::tie(ratio, subGroup, reads, writes, parameters, folder, block,
                  depth, least, buffers, inHost, size);
}

static void expectEqual(const TrainConfig &a, const TrainConfig &b) {
  auto plain = [](const TrainConfig &config) {
    const auto &[stage, ranks, mesh, shardAxes, secondary, bits, frozenBits,
                 gradientBits, gradientAxes, block, feedback, micro,
                 accumulation, batch, precision, wire, optimizer, groups,
                 scheduler, scale, clip, reduce, gather, overlap, unused,
                 prefetch, live, inFlight, machine, parameter, model, reuse,
                 checkpoint, deterministic, split, tiers, offload, layout, mean,
                 alignment, fuses, rows, adds, losses, moves, given,
                 keepsTrivial, budget, hostBudget] = config;
    return std::tie(stage, ranks, mesh, shardAxes, secondary, bits, frozenBits,
                    gradientBits, gradientAxes, block, micro, accumulation,
                    batch, precision, wire, clip, reduce, gather, overlap,
                    unused, prefetch, live, inFlight, machine, parameter, model,
                    reuse, deterministic, split, tiers, layout, mean, alignment,
                    keepsTrivial, budget, hostBudget, fuses, rows, adds, losses,
                    moves);
  };
  EXPECT_TRUE(plain(a) == plain(b));
  EXPECT_TRUE(fields(a.optimizer) == fields(b.optimizer));
  EXPECT_TRUE(fields(a.scheduler) == fields(b.scheduler));
  EXPECT_TRUE(fields(a.lossScale) == fields(b.lossScale));
  EXPECT_TRUE(fields(a.checkpoint) == fields(b.checkpoint));
  ASSERT_EQ(a.errorFeedback.has_value(), b.errorFeedback.has_value());
  if (a.errorFeedback)
    EXPECT_TRUE(fields(*a.errorFeedback) == fields(*b.errorFeedback));
  ASSERT_EQ(a.offloadOptimizer.has_value(), b.offloadOptimizer.has_value());
  if (a.offloadOptimizer)
    EXPECT_TRUE(fields(*a.offloadOptimizer) == fields(*b.offloadOptimizer));
  ASSERT_EQ(a.parameterGroups.size(), b.parameterGroups.size());
  for (size_t i = 0; i < a.parameterGroups.size(); ++i) {
    EXPECT_EQ(a.parameterGroups[i].name, b.parameterGroups[i].name);
    EXPECT_EQ(a.parameterGroups[i].learningRate,
              b.parameterGroups[i].learningRate);
    EXPECT_EQ(a.parameterGroups[i].weightDecay,
              b.parameterGroups[i].weightDecay);
  }
}

class Written : public ::testing::TestWithParam<const char *> {};

TEST_P(Written, ReadsAsTheSame) {
  TrainConfig config = valid(GetParam(), /*ranks=*/3);
  std::string text;
  llvm::raw_string_ostream os(text);
  writeTrainConfig(os, config);
  ConfigContext context;
  context.ranks = 3;
  Parsed again = parse(text, context);
  ASSERT_TRUE(again.config.has_value()) << again.messages << text;
  expectEqual(config, *again.config);
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, Written,
    ::testing::Values(
        "", R"("gradient_accumulation_steps": 3, "gradient_clipping": 0.3,
               "optimizer": {"type": "AdamW", "params": {"lr": 1e-5,
                 "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1,
                 "bias_correction": false}}, "bf16": {"enabled": true})",
        R"("optimizer": {"type": "Adam", "params": {"adam_w_mode": false}},
           "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-6,
             "warmup_num_steps": 7, "warmup_type": "linear"}})",
        R"("optimizer": {"type": "SGD", "params": {"lr": 0.3, "momentum": 0.9,
             "nesterov": true, "weight_decay": 0.01}},
           "fp16": {"enabled": true, "initial_scale_power": 12, "hysteresis": 3,
             "loss_scale_window": 9, "min_loss_scale": 2,
             "consecutive_hysteresis": true})",
        R"("fp16": {"enabled": true, "loss_scale": 48.5},
           "scheduler": {"type": "WarmupDecayLR", "params": {
             "total_num_steps": 9000, "warmup_max_lr": "auto"}})",
        R"("scheduler": {"type": "WarmupDecayLR", "params": {
             "total_num_steps": 90, "warmup_num_steps": 90,
             "warmup_max_lr": 0.02}},
           "activation_checkpointing": {"number_checkpoints": 5,
             "cpu_checkpointing": true})",
        R"("scheduler": {"type": "WarmupCosineLR", "params": {
             "total_num_steps": 9000, "warmup_min_ratio": 0.1,
             "cos_min_ratio": 0.2}},
           "zero_optimization": {"stage": 3, "reduce_bucket_size": 11,
             "allgather_bucket_size": 12, "overlap_comm": false,
             "ignore_unused_parameters": false,
             "stage3_prefetch_bucket_size": 13,
             "stage3_max_live_parameters": 14, "stage3_max_reuse_distance": 15,
             "stage3_param_persistence_threshold": 16,
             "stage3_model_persistence_threshold": 17},
           "zero": {"deterministic": true, "split_master": true,
             "state_tiers": {"exp_avg": "host", "master": "device"},
             "layout": "contiguous", "alignment": 4, "gathers_in_flight": 5,
             "machine": "a100", "fuse_epilogues": true,
             "vocabulary_multiple": 64, "loss_mean": "tokens",
             "fuse_cross_entropy": true, "fuse_moves": false,
             "fuse_additions": false,
             "checkpoint_activations": {"every": 2,
               "layers": [1, 4], "policy": "cheap", "offload": true},
             "parameter_groups": {"z": {"lr": 0.5}, "a": {"weight_decay": 2},
               "empty": {}}})",
        R"("gradient_accumulation_steps": 2, "bf16": {"enabled": true},
           "communication_data_type": "fp32",
           "zero_optimization": {"stage": 1, "allgather_bucket_size": 12},
           "zero": {"alignment": 4})",
        R"("zero_optimization": {"stage": 2, "sub_group_size": 77,
             "offload_optimizer": {"device": "cpu", "ratio": 0.25,
               "pipeline_write": true}})",
        R"("zero_optimization": {"stage": 3, "offload_param": {"device": "cpu",
               "buffer_count": 3},
             "offload_optimizer": {"device": "cpu"}})",
        R"("zero_optimization": {"stage": 3, "offload_param": {"device": "nvme",
               "buffer_count": 3, "max_in_cpu": 70, "buffer_size": 90},
             "offload_optimizer": {"device": "nvme", "nvme_path": "/states"}})",
        R"("zero_optimization": {"stage": 1, "sub_group_size": 77,
             "offload_optimizer": {"device": "nvme", "nvme_path": "/states",
               "pipeline_read": true}},
           "aio": {"block_size": 8192, "queue_depth": 3},
           "zero": {"offload_nvme_min_bytes": 5})",
        R"("zero_optimization": {"stage": 3, "zero_hpz_partition_size": 3},
           "zero": {"mesh": {"one": 1, "local": 3}})",
        R"("zero_optimization": {"stage": 3, "zero_quantized_weights": true},
           "zero": {"quantized_weights_bits": 4, "quantization_block": 32})",
        R"("zero_optimization": {"stage": 3,
               "zero_quantized_nontrainable_weights": true},
           "zero": {"quantized_nontrainable_weights_bits": 4})",
        R"("zero_optimization": {"stage": 3, "zero_quantized_gradients": true,
                                 "zero_hpz_partition_size": 3},
           "zero": {"mesh": {"one": 1, "local": 3},
                    "quantized_gradients_bits": 8})",
        R"("zero_optimization": {"stage": 3, "zero_quantized_gradients": true,
             "zeropp_loco_param": {"err_beta": 0.25, "reset_T": 9}})"));

/// -0 is written as an integer, which has no sign: it is 0 from the start.
TEST(WriteConfig, ZeroHasNoSign) {
  const TrainConfig config = valid(R"("zero": {"parameter_groups": {
    "slow": {"lr": -0.0, "weight_decay": -0}}},
    "optimizer": {"type": "AdamW", "params": {"lr": -0.0, "betas": [-0.0, 0]}})");
  EXPECT_FALSE(std::signbit(config.optimizer.learningRate));
  EXPECT_FALSE(std::signbit(config.optimizer.beta1));
  ASSERT_EQ(config.parameterGroups.size(), 1u);
  EXPECT_FALSE(std::signbit(*config.parameterGroups[0].learningRate));
}
