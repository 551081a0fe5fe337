// What each block of a configuration means.
#include "ConfigTesting.h"

#include <limits>

using namespace mlir::zero;
using namespace mlir::zero::testing;

/// DeepSpeed makes PyTorch's optimizer, which has a default of its own.
TEST(Config, DecaysAsPyTorchWhereItIsAskedFor) {
  const auto decayOf = [](const std::string &type, const std::string &params) {
    return valid(R"("optimizer": {"type": ")" + type + R"(", "params": {)" +
                 params + "}}")
        .optimizer.weightDecay;
  };
  EXPECT_EQ(decayOf("AdamW", ""), 0);
  EXPECT_EQ(decayOf("AdamW", R"("torch_adam": true)"), 0.01);
  EXPECT_EQ(decayOf("Adam", R"("torch_adam": true)"), 0.01);
  EXPECT_EQ(decayOf("AdamW", R"("torch_adam": true, "weight_decay": 0.0)"), 0);
  EXPECT_EQ(decayOf("Adam", R"("torch_adam": true, "adam_w_mode": false)"), 0);
}

TEST(Config, DefaultsOfTheFileAreThoseOfTheStruct) {
  TrainConfig read = valid("");
  TrainConfig expected;
  EXPECT_EQ(read.stage, expected.stage);
  EXPECT_EQ(read.ranks, expected.ranks);
  EXPECT_EQ(read.precision, expected.precision);
  EXPECT_EQ(read.optimizer.type, expected.optimizer.type);
  EXPECT_EQ(read.optimizer.learningRate, expected.optimizer.learningRate);
  EXPECT_EQ(read.optimizer.beta1, expected.optimizer.beta1);
  EXPECT_EQ(read.optimizer.beta2, expected.optimizer.beta2);
  EXPECT_EQ(read.optimizer.epsilon, expected.optimizer.epsilon);
  EXPECT_EQ(read.optimizer.weightDecay, expected.optimizer.weightDecay);
  EXPECT_EQ(read.optimizer.biasCorrection, expected.optimizer.biasCorrection);
  EXPECT_EQ(read.scheduler.type, expected.scheduler.type);
  EXPECT_EQ(read.lossScale.enabled, expected.lossScale.enabled);
  EXPECT_EQ(read.gradientClipping, expected.gradientClipping);
  // Sizes that a schedule without a file has smaller: DeepSpeed's here.
  EXPECT_EQ(read.reduceBucketSize, 500000000);
  EXPECT_EQ(read.allgatherBucketSize, 500000000);
  EXPECT_EQ(read.parameterPersistenceThreshold, 100000);
  EXPECT_EQ(read.maxReuseDistance, 1000000000);
  EXPECT_EQ(read.ignoreUnusedParameters, expected.ignoreUnusedParameters);
  EXPECT_EQ(read.modelPersistenceThreshold, expected.modelPersistenceThreshold);
  EXPECT_EQ(read.deterministic, expected.deterministic);
  EXPECT_EQ(read.splitMaster, expected.splitMaster);
  EXPECT_EQ(read.layout, expected.layout);
  EXPECT_EQ(read.alignment, expected.alignment);
}

/// What DeepSpeed's documentation says; an empty file means it here, too.
TEST(Config, ZeroKeysHaveDeepSpeedsDefaults) {
  for (int64_t stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    TrainConfig config = valid(R"("zero_optimization": {"stage": )" +
                               std::to_string(stage) + "}");
    EXPECT_EQ(config.reduceBucketSize, int64_t(5e8));
    EXPECT_EQ(config.allgatherBucketSize, int64_t(5e8));
    EXPECT_EQ(config.prefetchBucketSize, int64_t(5e7));
    EXPECT_EQ(config.parameterPersistenceThreshold, int64_t(1e5));
    EXPECT_EQ(config.modelPersistenceThreshold,
              std::numeric_limits<int64_t>::max());
    EXPECT_EQ(config.maxLiveParameters, int64_t(1e9));
    EXPECT_EQ(config.maxReuseDistance, int64_t(1e9));
    EXPECT_EQ(config.overlapCommunication, stage == 3);
    EXPECT_TRUE(config.ignoreUnusedParameters);
  }
}

/// Without a file buckets are small and nothing is kept whole, so that a
/// schedule shows what moves; the page of all keys lists these.
TEST(Config, WithoutAFileSizesAreForReaders) {
  ConfigContext context;
  context.hasNoFile = true;
  context.options = {{"stage", "3"}};
  Parsed parsed = parse(R"({"train_micro_batch_size_per_gpu": 1})", context);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->reduceBucketSize, 4194304);
  EXPECT_EQ(parsed.config->allgatherBucketSize, 4194304);
  EXPECT_EQ(parsed.config->prefetchBucketSize, int64_t(5e7));
  EXPECT_EQ(parsed.config->parameterPersistenceThreshold, 0);
  EXPECT_EQ(parsed.config->maxLiveParameters, int64_t(1e9));
  EXPECT_EQ(parsed.config->maxReuseDistance, 0);
  EXPECT_FALSE(parsed.config->overlapCommunication);
}

TEST(Config, ZeroKeysTakeScientificNumbers) {
  TrainConfig config = valid(R"("zero_optimization": {
    "stage": 3, "reduce_bucket_size": 5e6, "allgather_bucket_size": 2e8,
    "stage3_max_reuse_distance": 3e9,
    "stage3_param_persistence_threshold": 1e4,
    "stage3_model_persistence_threshold": 1e6,
    "ignore_unused_parameters": false})");
  EXPECT_EQ(config.stage, 3);
  EXPECT_EQ(config.reduceBucketSize, 5000000);
  EXPECT_EQ(config.allgatherBucketSize, 200000000);
  EXPECT_EQ(config.maxReuseDistance, 3000000000);
  EXPECT_EQ(config.parameterPersistenceThreshold, 10000);
  EXPECT_EQ(config.modelPersistenceThreshold, 1000000);
  EXPECT_FALSE(config.ignoreUnusedParameters);
}

TEST(Config, ActivationsAreKeptUnlessAFileSaysOtherwise) {
  EXPECT_FALSE(valid("").checkpoint.isEnabled());
  CheckpointConfig own = valid(R"("zero": {"checkpoint_activations": {
    "every": 2, "layers": [0, 3], "policy": "cheap"}})")
                             .checkpoint;
  EXPECT_EQ(own.every, 2);
  EXPECT_EQ(own.layers, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(own.policy, RecomputePolicy::Cheap);
  CheckpointConfig plain =
      valid(R"("zero": {"checkpoint_activations": {}})").checkpoint;
  EXPECT_EQ(plain.every, 1);
  EXPECT_TRUE(plain.layers.empty());
  EXPECT_EQ(plain.policy, RecomputePolicy::All);
  CheckpointConfig number =
      valid(R"("activation_checkpointing": {"number_checkpoints": 4})")
          .checkpoint;
  EXPECT_EQ(number.number, 4);
  EXPECT_TRUE(number.isEnabled());
}

TEST(Config, AdamIsAdamWUnlessToldOtherwise) {
  EXPECT_EQ(valid(R"("optimizer": {"type": "Adam"})").optimizer.type, "adamw");
  EXPECT_EQ(valid(R"("optimizer": {"type": "adam",
                     "params": {"adam_w_mode": false}})")
                .optimizer.type,
            "adam");
  // As in DeepSpeed, AdamW stays what its name says.
  EXPECT_EQ(valid(R"("optimizer": {"type": "AdamW",
                     "params": {"adam_w_mode": false}})")
                .optimizer.type,
            "adamw");
}

TEST(Config, OptimizerSettings) {
  OptimizerConfig adam = valid(R"("optimizer": {"type": "AdamW", "params": {
    "lr": 3e-4, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.1,
    "bias_correction": false}})")
                             .optimizer;
  EXPECT_EQ(adam.learningRate, 3e-4);
  EXPECT_EQ(adam.beta1, 0.8);
  EXPECT_EQ(adam.beta2, 0.95);
  EXPECT_EQ(adam.epsilon, 1e-6);
  EXPECT_EQ(adam.weightDecay, 0.1);
  EXPECT_FALSE(adam.biasCorrection);

  OptimizerConfig sgd = valid(R"("optimizer": {"type": "SGD", "params": {
    "lr": 0.1, "momentum": 0.9, "nesterov": true, "weight_decay": 1e-4}})")
                            .optimizer;
  EXPECT_EQ(sgd.type, "sgd");
  EXPECT_EQ(sgd.learningRate, 0.1);
  EXPECT_EQ(sgd.momentum, 0.9);
  EXPECT_TRUE(sgd.nesterov);
  EXPECT_EQ(sgd.weightDecay, 1e-4);
}

TEST(Config, SchedulersHaveDeepSpeedsDefaults) {
  SchedulerConfig warmup =
      valid(R"("scheduler": {"type": "WarmupLR", "params": {}})").scheduler;
  EXPECT_EQ(warmup.type, SchedulerType::WarmupLR);
  EXPECT_EQ(warmup.warmupMinLearningRate, 0);
  EXPECT_FALSE(warmup.warmupMaxLearningRate.has_value());
  EXPECT_EQ(warmup.warmupSteps, 1000);
  EXPECT_TRUE(warmup.logWarmup);

  SchedulerConfig decay = valid(R"("scheduler": {"type": "WarmupDecayLR",
    "params": {"total_num_steps": 500, "warmup_type": "linear",
               "warmup_num_steps": 20}})")
                              .scheduler;
  EXPECT_EQ(decay.type, SchedulerType::WarmupDecayLR);
  EXPECT_EQ(decay.warmupMaxLearningRate, 0.001);
  EXPECT_EQ(decay.totalSteps, 500);
  EXPECT_EQ(decay.warmupSteps, 20);
  EXPECT_FALSE(decay.logWarmup);
  // Null is not absent: DeepSpeed then takes each group's own.
  decay = valid(R"("scheduler": {"type": "WarmupDecayLR",
    "params": {"total_num_steps": 5000, "warmup_max_lr": null}})")
              .scheduler;
  EXPECT_FALSE(decay.warmupMaxLearningRate.has_value());

  SchedulerConfig cosine = valid(R"("scheduler": {"type": "WarmupCosineLR",
    "params": {"total_num_steps": 1000}})")
                               .scheduler;
  EXPECT_EQ(cosine.type, SchedulerType::WarmupCosineLR);
  EXPECT_EQ(cosine.warmupMinRatio, 0);
  EXPECT_EQ(cosine.cosineMinRatio, 1e-4);
}

TEST(Config, Fp16IsDynamicUnlessAScaleIsGiven) {
  TrainConfig config = valid(R"("fp16": {"enabled": true})");
  EXPECT_EQ(config.precision, zrt::DataType::F16);
  EXPECT_TRUE(config.lossScale.enabled);
  EXPECT_TRUE(config.lossScale.dynamic);
  EXPECT_EQ(config.lossScale.initial, 65536);
  EXPECT_EQ(config.lossScale.minimum, 1);
  EXPECT_EQ(config.lossScale.window, 1000);
  EXPECT_EQ(config.lossScale.hysteresis, 2);
  EXPECT_FALSE(config.lossScale.consecutiveHysteresis);

  config = valid(R"("fp16": {"enabled": true, "loss_scale": 128,
                             "min_loss_scale": 2, "hysteresis": 4,
                             "loss_scale_window": 50,
                             "consecutive_hysteresis": true})");
  EXPECT_FALSE(config.lossScale.dynamic);
  EXPECT_EQ(config.lossScale.initial, 128);
  EXPECT_EQ(config.lossScale.minimum, 2);
  EXPECT_EQ(config.lossScale.window, 50);
  EXPECT_EQ(config.lossScale.hysteresis, 4);
  EXPECT_TRUE(config.lossScale.consecutiveHysteresis);
}

TEST(Config, Fp16SettingsAreIdleWhenItIsOff) {
  TrainConfig config =
      valid(R"("fp16": {"enabled": false, "loss_scale": 128})");
  EXPECT_EQ(config.precision, zrt::DataType::F32);
  EXPECT_FALSE(config.lossScale.enabled);
}

TEST(Config, Bf16HasNoScale) {
  EXPECT_EQ(valid(R"("bf16": {"enabled": true})").precision,
            zrt::DataType::BF16);
  EXPECT_EQ(valid(R"("bfloat16": {"enabled": true})").precision,
            zrt::DataType::BF16);
  EXPECT_FALSE(valid(R"("bf16": {"enabled": true})").lossScale.enabled);
  const Parsed both = parseWithBatch(
      R"("bf16": {"enabled": false}, "bfloat16": {"enabled": true})");
  EXPECT_NE(both.messages.find("error: bfloat16.enabled: bfloat16 is the old "
                               "name of bf16, which says otherwise; leave it "
                               "out"),
            std::string::npos)
      << both.messages;
}

TEST(Config, GradientSettings) {
  TrainConfig config = valid(R"("gradient_clipping": 0,
    "communication_data_type": "bf16", "bf16": {"enabled": true},
    "data_types": {"grad_accum_dtype": "fp32"})");
  EXPECT_EQ(config.gradientClipping, 0);
}

TEST(Config, OurBlock) {
  TrainConfig config = valid(R"("bf16": {"enabled": true}, "zero": {
    "deterministic": true, "split_master": true, "layout": "contiguous", "alignment": 64,
    "parameter_groups": {
      "no_decay": {"weight_decay": 0},
      "head.slow": {"lr": 1e-5, "parameters": ["head.*", "norm.w"]},
      "a": {}
    }})");
  EXPECT_TRUE(config.deterministic);
  EXPECT_TRUE(config.splitMaster);
  EXPECT_EQ(config.layout, zrt::Layout::Contiguous);
  EXPECT_EQ(config.alignment, 64);
  ASSERT_EQ(config.parameterGroups.size(), 3u);
  // In the order of the file.
  EXPECT_EQ(config.parameterGroups[0].name, "no_decay");
  EXPECT_EQ(config.parameterGroups[0].weightDecay, 0);
  EXPECT_FALSE(config.parameterGroups[0].learningRate.has_value());
  EXPECT_EQ(config.parameterGroups[1].name, "head.slow");
  EXPECT_EQ(config.parameterGroups[1].learningRate, 1e-5);
  EXPECT_EQ(config.parameterGroups[1].parameters,
            (std::vector<std::string>{"head.*", "norm.w"}));
  EXPECT_EQ(config.parameterGroups[2].name, "a");
  EXPECT_TRUE(config.parameterGroups[2].parameters.empty());
}

TEST(Config, AutoReadsAsAbsent) {
  Parsed parsed = parse(R"({
    "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "train_batch_size": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {
      "warmup_max_lr": "auto", "total_num_steps": 1000}},
    "fp16": {"enabled": "auto"}})");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->accumulation, 1);
  EXPECT_EQ(parsed.config->gradientClipping, 1);
  EXPECT_EQ(parsed.config->optimizer.learningRate, 1e-3);
  EXPECT_FALSE(parsed.config->scheduler.warmupMaxLearningRate.has_value());
  parsed = parseWithBatch(R"("gradient_clipping": "auto")");
  EXPECT_NE(parsed.messages.find("c.json:2: remark: gradient_clipping: \"auto\""
                                 " reads as if the key were absent: 1.0"),
            std::string::npos)
      << parsed.messages;
}

TEST(Config, AFileOfEveryDay) {
  Parsed parsed = parse(R"({
  "train_batch_size": 8,
  "steps_per_print": 2000,
  "optimizer": {
    "type": "Adam",
    "params": {"lr": 0.001, "betas": [0.8, 0.999], "eps": 1e-8,
               "weight_decay": 3e-7}
  },
  "scheduler": {
    "type": "WarmupLR",
    "params": {"warmup_min_lr": 0, "warmup_max_lr": 0.001,
               "warmup_num_steps": 1000}
  },
  "gradient_clipping": 1.0,
  "prescale_gradients": false,
  "bf16": {"enabled": false},
  "fp16": {"enabled": true, "fp16_master_weights_and_grads": false,
           "loss_scale": 0, "loss_scale_window": 500, "hysteresis": 2,
           "min_loss_scale": 1, "initial_scale_power": 15},
  "wall_clock_breakdown": false,
  "zero_optimization": {
    "stage": 2, "allgather_partitions": true, "reduce_scatter": true,
    "allgather_bucket_size": 50000000, "reduce_bucket_size": 50000000,
    "overlap_comm": true, "contiguous_gradients": true,
    "cpu_offload": false
  }
})",
                        ConfigContext{2, 0, {}, false});
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.messages,
            "c.json:3: remark: steps_per_print: changes nothing here: the "
            "executable reports for itself: --metrics writes every update to "
            "a file\n");
  EXPECT_TRUE(parsed.config->overlapCommunication);
  EXPECT_EQ(parsed.config->microBatch, 4);
  EXPECT_EQ(parsed.config->lossScale.initial, 32768);
  EXPECT_EQ(parsed.config->scheduler.warmupMaxLearningRate, 0.001);
}
