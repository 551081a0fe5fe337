// What the caller insists on, and the ranges of a complete configuration.
#include "ConfigTesting.h"

#include <cmath>

using namespace mlir::zero;
using namespace mlir::zero::testing;

static Parsed parseOver(const std::string &keys,
                        const ConfigOverrides &overrides, int64_t ranks = 1) {
  ConfigContext context;
  context.ranks = ranks;
  context.modelMicroBatch = 4;
  context.overrides = overrides;
  return parse("{" + keys + "}", context);
}

TEST(Overrides, AccumulationMustAgreeWithTheBatch) {
  ConfigOverrides overrides;
  overrides.accumulation = 5;
  Parsed parsed = parseOver(R"("train_batch_size": 24)", overrides, 3);
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_NE(parsed.messages.find("found 24, but 4 samples x 5 accumulation "
                                 "steps x 3 ranks are 60"),
            std::string::npos)
      << parsed.messages;
  parsed = parseOver(R"("gradient_accumulation_steps": 2)", overrides, 3);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->accumulation, 5);
  EXPECT_EQ(parsed.config->trainBatch, 60);
}

TEST(Overrides, TheLossScaleFollowsThePrecision) {
  ConfigOverrides half, full;
  half.precision = Precision::F16;
  full.precision = Precision::F32;
  Parsed parsed = parseOver(R"("bf16": {"enabled": true})", half);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->precision, Precision::F16);
  EXPECT_TRUE(parsed.config->lossScale.enabled);
  EXPECT_TRUE(parsed.config->lossScale.dynamic);
  EXPECT_EQ(parsed.config->lossScale.initial, 65536);
  parsed = parseOver(R"("fp16": {"enabled": true})", full);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_FALSE(parsed.config->lossScale.enabled);
}

TEST(Overrides, AGivenLossScaleReplacesTheFileS) {
  const char *file = R"("fp16": {"enabled": true, "loss_scale": 128})";
  ConfigOverrides overrides;
  overrides.lossScale = 8;
  Parsed parsed = parseOver(file, overrides);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_FALSE(parsed.config->lossScale.dynamic);
  EXPECT_EQ(parsed.config->lossScale.initial, 8);
  overrides.lossScale = 0;
  parsed = parseOver(file, overrides);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_TRUE(parsed.config->lossScale.dynamic);
  overrides.precision = Precision::BF16;
  parsed = parseOver(file, overrides);
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_NE(parsed.messages.find("the compute type is bf16, which needs none"),
            std::string::npos)
      << parsed.messages;
}

TEST(Overrides, SettingsOfAnotherOptimizerAreRefused) {
  ConfigOverrides overrides;
  overrides.optimizer = "sgd";
  Parsed parsed = parseOver(
      R"("optimizer": {"type": "Adam", "params": {"eps": 1e-6}})", overrides);
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_NE(parsed.messages.find("SGD has no such setting"), std::string::npos)
      << parsed.messages;
  parsed = parseOver(R"("optimizer": {"type": "Adam", "params": {"lr": 0.5}})",
                     overrides);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->optimizer.type, "sgd");
  EXPECT_EQ(parsed.config->optimizer.learningRate, 0.5);
}

TEST(Overrides, NumbersMustBeFiniteInF32) {
  EXPECT_NE(invalid(R"("fp16": {"enabled": true, "loss_scale": 1e39})")
                .find("which f32 cannot hold; give at most 3.4e38"),
            std::string::npos);
  EXPECT_NE(invalid(R"("optimizer": {"type": "Adam", "params": {"lr": 1e99}})")
                .find("which f32 cannot hold"),
            std::string::npos);
}

/// What is said about a configuration that `change` makes of a right one.
template <typename Change> static std::string verify(Change change) {
  TrainConfig config;
  change(config);
  llvm::SmallVector<ConfigDiagnostic> diagnostics;
  verifyTrainConfig(config, diagnostics);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ConfigDiagnostic &diagnostic : diagnostics)
    os << diagnostic.message << "\n";
  return text;
}

TEST(VerifyConfig, EveryRangeIsChecked) {
  EXPECT_EQ(verify([](TrainConfig &) {}), "");
  EXPECT_EQ(verify([](TrainConfig &config) {
              config.optimizer.learningRate = std::nan("");
            }),
            "lr is nan, wanted a number from 0 to 3.4e38\n");
  EXPECT_EQ(verify([](TrainConfig &config) {
              config.stage = 4;
              config.accumulation = 0;
              config.optimizer.weightDecay = -1;
              config.gradientClipping = -1;
              config.parameterPersistenceThreshold = -3;
            }),
            "stage 4 is none of 0, 1, 2, 3\n"
            "accumulation is 0, wanted 1 to 2147483647\n"
            "param-persistence-threshold is -3, wanted 0 or more\n"
            "weight-decay is -1, wanted a number from 0 to 3.4e38\n"
            "clip is -1, wanted a number from 0 to 3.4e38\n");
  EXPECT_EQ(verify([](TrainConfig &config) { config.optimizer.momentum = 2; }),
            "momentum is 2, wanted a number from 0 to below 1\n");
  EXPECT_EQ(verify([](TrainConfig &config) {
              config.alignment = std::numeric_limits<int64_t>::max();
            }),
            "alignment is 9223372036854775807, wanted 1 to 2147483647\n");
  EXPECT_EQ(verify([](TrainConfig &config) {
              config.lossScale.enabled = true;
              config.lossScale.initial = 1e39;
            }),
            "loss-scale is 1e+39, wanted 0 for a dynamic scale, or a positive "
            "number that f32 can hold\n");
}
