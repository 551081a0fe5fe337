// What is written reads as what it was written from.
#include "../../lib/Config/ConfigKeys.h"
#include "ConfigTesting.h"

#include <cmath>
#include <tuple>

using namespace mlir::zero;
using namespace mlir::zero::testing;

/// Each field of a key by itself, and what follows from several.
static void expectEqual(const TrainConfig &a, const TrainConfig &b) {
  for (const ConfigKey &key : getConfigKeys())
    if (key.write)
      EXPECT_EQ(key.write(a), key.write(b)) << key.path;
  auto others = [](const TrainConfig &config) {
    const SchedulerConfig &schedule = config.scheduler;
    const LossScaleConfig &scale = config.lossScale;
    return std::tie(
        config.ranks, config.mesh, config.shardAxes, config.secondaryAxes,
        config.gradientAxes, config.trainBatch, config.precision,
        config.communicationType, config.stateTiers, schedule.type,
        schedule.warmupMaxLearningRate, schedule.logWarmup, schedule.totalSteps,
        scale.enabled, scale.dynamic, scale.initial, config.checkpoint.number,
        config.checkpoint.offload, config.optimizer.type);
  };
  EXPECT_TRUE(others(a) == others(b));
  ASSERT_EQ(a.parameterGroups.size(), b.parameterGroups.size());
  for (size_t i = 0; i < a.parameterGroups.size(); ++i) {
    EXPECT_EQ(a.parameterGroups[i].name, b.parameterGroups[i].name);
    EXPECT_EQ(a.parameterGroups[i].learningRate,
              b.parameterGroups[i].learningRate);
    EXPECT_EQ(a.parameterGroups[i].weightDecay,
              b.parameterGroups[i].weightDecay);
  }
}

/// Another value of the key's type than the one that a configuration has.
static llvm::json::Value getOther(const ConfigKey &key,
                                  const llvm::json::Value &value) {
  if (key.type == KeyType::Bool)
    return !*value.getAsBoolean();
  if (key.type == KeyType::Choice)
    return llvm::StringRef(key.choices).rsplit('|').second;
  if (key.type == KeyType::Sizes)
    return llvm::json::Array({3, 1});
  if (key.type == KeyType::Text)
    return "other";
  if (std::optional<int64_t> integer = value.getAsInteger();
      integer && *integer > 1)
    return *integer - 1;
  return key.type == KeyType::Size    ? llvm::json::Value(1)
         : key.type == KeyType::Count ? llvm::json::Value(2)
                                      : llvm::json::Value(0.25);
}

/// A configuration that has all parts.
static TrainConfig makeWhole() {
  TrainConfig config;
  config.scheduler.type = SchedulerType::WarmupLR;
  config.lossScale.enabled = true;
  config.checkpoint.every = 1;
  config.errorFeedback.emplace();
  OffloadConfig &offload = config.offloadOptimizer.emplace();
  offload.parameters = true;
  offload.files.emplace();
  offload.parameterFiles.emplace();
  return config;
}

/// What a key puts into its field it takes from there, and no other key does.
TEST(Fields, EachIsOfOneKey) {
  unsigned fields = 0;
  for (const ConfigKey &key : getConfigKeys()) {
    if (!key.read)
      continue;
    ++fields;
    const TrainConfig before = makeWhole();
    TrainConfig after = before;
    const llvm::json::Value value = getOther(key, key.write(before));
    ASSERT_NE(value, key.write(before)) << key.path;
    key.read(value, after);
    for (const ConfigKey &other : getConfigKeys())
      if (other.read)
        EXPECT_EQ(other.write(after),
                  key.path == other.path ? value : other.write(before))
            << key.path << " is in the field of " << other.path;
  }
  EXPECT_GT(fields, 50u);
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
        R"("bf16": {"enabled": true},
           "scheduler": {"type": "WarmupCosineLR", "params": {
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
             "given_gradients": "add",
             "experts": {"capacity_factor": 1.5, "min_capacity": 2,
               "drop_policy": "probs", "renormalize": true},
             "fuse_cross_entropy": true, "fuse_moves": false,
             "fuse_additions": false,
             "checkpoint_activations": {"every": 2,
               "layers": [1, 4], "policy": "cheap", "offload": true},
             "parameter_groups": {"z": {"lr": 0.5}, "a": {"weight_decay": 2},
               "named": {"parameters": ["a.*", "b"]}, "empty": {}}})",
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
