// What the caller insists on, and the ranges of a complete configuration.
#include "ConfigTesting.h"

#include <cmath>

using namespace mlir::zero;
using namespace mlir::zero::testing;

using Options = std::vector<std::pair<std::string, std::string>>;

static Parsed parseOver(const std::string &keys, const Options &options,
                        int64_t ranks = 1) {
  ConfigContext context;
  context.ranks = ranks;
  context.modelMicroBatch = 4;
  context.options = options;
  return parse("{" + keys + "}", context);
}

static void expectMessage(const Parsed &parsed, const std::string &text) {
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_NE(parsed.messages.find(text), std::string::npos) << parsed.messages;
}

TEST(Options, AccumulationMustAgreeWithTheBatch) {
  const Options options = {{"accumulation", "5"}};
  expectMessage(parseOver(R"("train_batch_size": 24)", options, 3),
                "found 24, but 4 samples x 5 accumulation steps x 3 ranks are "
                "60");
  Parsed parsed = parseOver(R"("gradient_accumulation_steps": 2)", options, 3);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->accumulation, 5);
  EXPECT_EQ(parsed.config->trainBatch, 60);
}

TEST(Options, TheLossScaleFollowsThePrecision) {
  Parsed parsed =
      parseOver(R"("bf16": {"enabled": true})", {{"precision", "f16"}});
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->precision, zrt::DataType::F16);
  EXPECT_TRUE(parsed.config->lossScale.enabled);
  EXPECT_TRUE(parsed.config->lossScale.dynamic);
  EXPECT_EQ(parsed.config->lossScale.initial, 65536);
  parsed = parseOver(R"("fp16": {"enabled": true})", {{"precision", "f32"}});
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_FALSE(parsed.config->lossScale.enabled);
}

TEST(Options, AGivenLossScaleReplacesTheFileS) {
  const char *file = R"("fp16": {"enabled": true, "loss_scale": 128})";
  Parsed parsed = parseOver(file, {{"loss-scale", "8"}});
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_FALSE(parsed.config->lossScale.dynamic);
  EXPECT_EQ(parsed.config->lossScale.initial, 8);
  parsed = parseOver(file, {{"loss-scale", "0"}});
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_TRUE(parsed.config->lossScale.dynamic);
  expectMessage(parseOver(file, {{"loss-scale", "8"}, {"precision", "bf16"}}),
                "error: the option loss-scale: is given, but the compute type "
                "is bf16, which needs none");
}

TEST(Options, SettingsOfAnotherOptimizerAreRefused) {
  const Options options = {{"optimizer", "sgd"}};
  expectMessage(
      parseOver(R"("optimizer": {"type": "Adam", "params": {"eps": 1e-6}})",
                options),
      "SGD has no such setting");
  Parsed parsed = parseOver(
      R"("optimizer": {"type": "Adam", "params": {"lr": 0.5}})", options);
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->optimizer.type, "sgd");
  EXPECT_EQ(parsed.config->optimizer.learningRate, 0.5);
  expectMessage(parseOver("", {{"momentum", "0.9"}}),
                "the option momentum: AdamW has no such setting (SGD has it)");
}

TEST(Options, NumbersMustBeFiniteInF32) {
  EXPECT_NE(invalid(R"("fp16": {"enabled": true, "loss_scale": 1e39})")
                .find("which f32 cannot hold; give at most 3.4e38"),
            std::string::npos);
  EXPECT_NE(invalid(R"("optimizer": {"type": "Adam", "params": {"lr": 1e99}})")
                .find("which f32 cannot hold"),
            std::string::npos);
}

/// Each is named as it was given, with what it wants.
TEST(Options, EveryRangeIsChecked) {
  EXPECT_EQ(
      parseOver("", {{"lr", "nan"},
                     {"stage", "4"},
                     {"accumulation", "0"},
                     {"weight-decay", "-1"},
                     {"param-persistence-threshold", "-3"},
                     {"momentum", "2"},
                     {"loss-scale", "1e39"},
                     {"quantized-weights", "x"},
                     {"prefetch-bucket-size", "9.223372036854775808e18"},
                     {"alignment", "9223372036854775807"}})
          .messages,
      R"(c.json: error: the option quantized-weights: found "x", wanted an integer of 0 or more
c.json: error: the option loss-scale: found 9.9999999999999994e+38, which f32 cannot hold; give at most 3.4e38
c.json: error: the option accumulation: found 0, wanted an integer of 1 or more
c.json: error: the option lr: found "nan", wanted a number of 0 or more
c.json: error: the option momentum: found 2, wanted a number from 0 to below 1
c.json: error: the option weight-decay: found -1, wanted a number of 0 or more
c.json: error: the option alignment: found 9223372036854775807, wanted an integer from 1 to 2147483647
c.json: error: the option stage: found 4, wanted an integer from 0 to 3
c.json: error: the option param-persistence-threshold: found -3, wanted an integer of 0 or more
c.json: error: the option prefetch-bucket-size: found 9.2233720368547758e+18, wanted an integer of 0 or more
)");
}

/// Where there is no file, other defaults hold, and an option that changes
/// nothing is said to.
TEST(Options, WithoutAFile) {
  ConfigContext context;
  context.modelMicroBatch = 4;
  context.hasNoFile = true;
  EXPECT_EQ(parse("{}", context).config->reduceBucketSize, 4194304);
  EXPECT_FALSE(parse("{}", context).config->overlapCommunication);
  context.options = {{"gathers-in-flight", "3"}};
  EXPECT_EQ(parse("{}", context).messages,
            "c.json: remark: the option gathers-in-flight: changes nothing at "
            "stage 0: only stage 3 gathers parameters for their uses\n");
  context.options = {{"offload-ratio", "0.5"}};
  EXPECT_EQ(parse("{}", context).messages,
            "c.json: error: the option offload-ratio: changes nothing at stage "
            "0: nothing is offloaded; give offload-optimizer=cpu, or leave it "
            "out\n");
}

/// The blame is the option's, although the key that is wrong is another one of
/// the block, or the file has the block.
TEST(Options, AnOptionIsBlamedForItsBlock) {
  const char *const file = R"("zero": {"mesh": {"tensor": 2}},
      "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "none"}})";
  const char *const wanted =
      "error: the option set zero_optimization.offload_optimizer";
  for (const char *set :
       {"zero_optimization.offload_optimizer.device=cpu",
        R"(zero_optimization.offload_optimizer={"device": "cpu"})"})
    for (const char *keys : {file, R"("zero": {"mesh": {"tensor": 2}},
      "zero_optimization": {"stage": 2})"})
      expectMessage(parseOver(keys, {{"set", set}}, 2), wanted);
  expectMessage(parseOver(R"("zero": {"mesh": {"expert": 2}})",
                          {{"precision", "f16"}}, 2),
                "error: the option precision: does not work beside");
  // A file's own fault stays the file's.
  expectMessage(
      parseOver(R"("zero_optimization": {"stage": 0,
      "offload_optimizer": {"device": "cpu"}})",
                {{"set", "zero_optimization.offload_optimizer.ratio=0.5"}}),
      "c.json:2: error: zero_optimization.offload_optimizer.device");
}

/// A block that is set gives the keys that it names, and no others.
TEST(Options, ABlockThatIsSetLeavesOtherKeys) {
  const Parsed parsed = parseOver(
      R"("zero": {"deterministic": true, "alignment": 32})",
      {{"stage", "3"},
       {"mesh", "data=2"},
       {"set", R"(zero={"alignment": 64};zero_optimization=)"
               R"({"reduce_bucket_size": 1000, "max_live_parameters": 7})"}},
      2);
  ASSERT_TRUE(parsed.config) << parsed.messages;
  EXPECT_TRUE(parsed.config->deterministic);
  EXPECT_EQ(parsed.config->alignment, 64);
  EXPECT_EQ(parsed.config->stage, 3);
  EXPECT_EQ(parsed.config->reduceBucketSize, 1000);
  EXPECT_EQ(parsed.config->mesh.size(), 1u);
}

/// Axes belong together, and so do an optimizer and its parameters.
TEST(Options, SomeBlocksAreSetAsAWhole) {
  const Parsed parsed = parseOver(
      R"("zero": {"mesh": {"replica": 2, "shard": 2}})",
      {{"set", R"(zero.mesh={"data": 2};optimizer={"type": "SGD"})"}}, 2);
  ASSERT_TRUE(parsed.config) << parsed.messages;
  EXPECT_EQ(parsed.config->mesh.size(), 1u);
}

TEST(Options, AKeyIsGivenOnce) {
  const char *const wanted =
      "error: the option set zero_optimization.stage: found 3, and 2 by the "
      "option stage; give one of them";
  expectMessage(
      parseOver("", {{"stage", "2"}, {"set", "zero_optimization.stage=3"}}),
      wanted);
  expectMessage(parseOver("", {{"stage", "2"},
                               {"set", R"(zero_optimization={"stage": 3})"}}),
                "found 3, and 2 by the option stage; give one of them");
  expectMessage(
      parseOver("", {{"mesh", "data=2"}, {"set", R"(zero.mesh={"tensor": 2})"}},
                2),
      "by the option mesh; give one of them");
  expectMessage(parseOver("", {{"set", "zero.alignment=32;zero.alignment=64"}}),
                "error: the option set zero.alignment: found 64, and 32 by the "
                "option set zero.alignment; give one of them");
  EXPECT_TRUE(
      parseOver("", {{"set", "zero.alignment=64;zero.alignment=64"}}).config);
  EXPECT_TRUE(
      parseOver("", {{"stage", "2"}, {"set", "zero_optimization.stage=2"}})
          .config);
}

/// Names of parameters hold dots.
TEST(Options, NamesWithDotsAreSet) {
  const Parsed parsed =
      parseOver(R"("zero": {"mesh": {"tensor": 2}, "sharding": {"h.0.b": 0}})",
                {{"set", "zero.sharding.h.0.w=1"}}, 2);
  ASSERT_TRUE(parsed.config) << parsed.messages;
  EXPECT_EQ(parsed.config->sharding.at("h.0.w"), 1);
  EXPECT_EQ(parsed.config->sharding.at("h.0.b"), 0);
}

/// A group has keys, by whatever block they are given.
TEST(Options, KeysOfNamesAreSet) {
  for (const char *set :
       {"zero.parameter_groups.no.decay.weight_decay=0.5",
        R"(zero.parameter_groups.no.decay={"weight_decay": 0.5})",
        R"(zero.parameter_groups={"no.decay": {"weight_decay": 0.5}})",
        R"(zero={"parameter_groups": {"no.decay": {"weight_decay": 0.5}}})"}) {
    const Parsed parsed = parseOver("", {{"set", set}});
    ASSERT_TRUE(parsed.config) << set << ": " << parsed.messages;
    ASSERT_EQ(parsed.config->parameterGroups.size(), 1u) << set;
    EXPECT_EQ(parsed.config->parameterGroups[0].name, "no.decay") << set;
    EXPECT_EQ(parsed.config->parameterGroups[0].weightDecay, 0.5) << set;
  }
}
