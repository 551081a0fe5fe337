// Files as DeepSpeed reads them: comments, commas, names of fields, and `auto`.
#include "ConfigTesting.h"

using namespace mlir::zero;
using namespace mlir::zero::testing;

TEST(Spellings, CommentsCommasAndKeysAsInHjson) {
  Parsed parsed = parse("{\n"
                        "  // one line, \"with\" quotes {\n"
                        "  \"gradient_accumulation_steps\": 2, # another\n"
                        "  /* a block,\n"
                        "     of two lines */\n"
                        "  \"train_micro_batch_size_per_gpu\": 3\n"
                        "  zero_optimization: {\"stage\": 2,},\n"
                        "  \"optimizer\": {\"type\": \"AdamW\",\n"
                        "    \"params\": {\"betas\": [0.8, 0.9,]}}\n"
                        "}\n");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->accumulation, 2);
  EXPECT_EQ(parsed.config->microBatch, 3);
  EXPECT_EQ(parsed.config->stage, 2);
  EXPECT_EQ(parsed.config->optimizer.beta2, 0.9);
}

/// As hjson has them: a string without quotes has all of its line.
TEST(Spellings, StringsInSingleQuotesAndInNone) {
  Parsed parsed = parse("{\n"
                        "  'train_micro_batch_size_per_gpu': 3,\n"
                        "  optimizer: {\n"
                        "    type: AdamW\n"
                        "    params: {'lr': 3e-4, betas: [0.8, 0.9]}\n"
                        "  }\n"
                        "  bf16: {enabled: true}\n"
                        "  zero_optimization: {\n"
                        "    stage: 3 # two would do\n"
                        "    offload_param: {\n"
                        "      device: 'nvme'}\n"
                        "    offload_optimizer: {\n"
                        "      nvme_path: /a//b c:d \"e\"\\f, # g\t\r\n"
                        "      device: nvme\n"
                        "  }}\n"
                        "  gradient_clipping: auto\n"
                        "}\n");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->microBatch, 3);
  EXPECT_EQ(parsed.config->optimizer.learningRate, 3e-4);
  EXPECT_EQ(parsed.config->precision, zrt::DataType::BF16);
  EXPECT_EQ(parsed.config->stage, 3);
  ASSERT_TRUE(parsed.config->offloadOptimizer &&
              parsed.config->offloadOptimizer->files);
  EXPECT_EQ(parsed.config->offloadOptimizer->files->folder,
            "/a//b c:d \"e\"\\f, # g");
}

TEST(Spellings, TheBracesOfTheFileMayBeLeftOut) {
  for (const char *keys :
       {"# a file\ntrain_batch_size: 8\nzero_optimization: {stage: 2}\n# end",
        "'train_batch_size': 8, \"zero_optimization\":\n{stage: 2},",
        "\"train_batch_size\" : 8\nzero_optimization: {\nstage: 2\n}"}) {
    Parsed parsed = parse(keys);
    ASSERT_TRUE(parsed.config.has_value()) << keys << parsed.messages;
    EXPECT_EQ(parsed.config->trainBatch, 8);
    EXPECT_EQ(parsed.config->stage, 2);
  }
  EXPECT_EQ(parse("train_batch_size: 8\nfoo: 1").messages,
            "c.json:2: error: foo: unknown key, like none of those that "
            "docs/Configuration.md lists\n");
}

TEST(Spellings, EscapesInSingleQuotes) {
  TrainConfig config =
      valid(R"("zero_optimization": {"stage": 2, "offload_optimizer": {
        "device": 'nvme', "nvme_path": '/\'a"b\"c\\\u0064'}})");
  ASSERT_TRUE(config.offloadOptimizer && config.offloadOptimizer->files);
  EXPECT_EQ(config.offloadOptimizer->files->folder, "/'a\"b\"c\\d");
}

TEST(Spellings, WhatIsWrongWithoutQuotes) {
  EXPECT_EQ(parse("{\"optimizer\":\n{\"type\": AdamW}}").messages,
            "c.json:2: error: is not JSON: the string 'AdamW}}' has no quotes, "
            "so that it goes to the end of its line; write \"AdamW\"\n");
  EXPECT_EQ(parse("{\"optimizer\": {\n'type: 1}}").messages,
            "c.json:2: error: is not JSON: a string that begins with ' ends in "
            "its line with another one\n");
  EXPECT_EQ(parse("{\"wandb\": {\"a\":\n'''b\nc'''}}").messages,
            "c.json:2: error: is not JSON: strings of several lines, between "
            "''', are not read; write one line in quotes\n");
  // A comma at the end of the line is a part of it.
  EXPECT_EQ(invalid("zero: {\nlayout: flat,\n}"),
            "c.json:3: error: zero.layout: found \"flat,\", wanted one of "
            "\"bucketed\", \"contiguous\"\n");
  EXPECT_EQ(invalid("zero_optimization: {\nstage: two\n}"),
            "c.json:3: error: zero_optimization.stage: found \"two\", wanted "
            "an integer from 0 to 3\n");
}

TEST(Spellings, SignsOfCommentsInStringsAreText) {
  TrainConfig config =
      valid(R"("zero_optimization": {"stage": 2, "offload_optimizer": {
        "device": "nvme", "nvme_path": "/a//b#c/*d,]\""}})");
  ASSERT_TRUE(config.offloadOptimizer && config.offloadOptimizer->files);
  EXPECT_EQ(config.offloadOptimizer->files->folder, "/a//b#c/*d,]\"");
}

TEST(Spellings, MessagesKeepTheirLines) {
  const std::string messages = invalid("/* two\n lines */ \"zero_allow\": 1");
  EXPECT_NE(messages.find("c.json:3: error: zero_allow: unknown key"),
            std::string::npos)
      << messages;
}

TEST(Spellings, WhatIsNoJsonStaysOne) {
  for (const char *text : {"{\"a\": 1 \"b\": 2}", "{\"a\": /* no end", "{,}",
                           "{\"a\": 1,, \"b\": 2}", "{\"a\": word}", "{\"a"}) {
    Parsed parsed = parse(text);
    EXPECT_FALSE(parsed.config.has_value()) << text;
    EXPECT_NE(parsed.messages.find("is not JSON"), std::string::npos)
        << parsed.messages;
  }
}

TEST(Spellings, NamesOfFieldsAreKeys) {
  TrainConfig config = valid(R"("zero_optimization": {"stage": 3,
      "prefetch_bucket_size": 1, "param_persistence_threshold": 2,
      "model_persistence_threshold": 3, "max_live_parameters": 4,
      "max_reuse_distance": 5, "gather_16bit_weights_on_model_save": true,
      "module_granularity_threshold": 1, "allgather_sequential": true,
      "use_all_reduce_for_fetch_params": true})");
  EXPECT_EQ(config.prefetchBucketSize, 1);
  EXPECT_EQ(config.parameterPersistenceThreshold, 2);
  EXPECT_EQ(config.modelPersistenceThreshold, 3);
  EXPECT_EQ(config.maxLiveParameters, 4);
  EXPECT_EQ(config.maxReuseDistance, 5);
}

TEST(Spellings, AFieldIsGivenOnce) {
  const std::string messages = invalid(R"("zero_optimization": {"stage": 3,
      "max_live_parameters": 4,
      "stage3_max_live_parameters": 5})");
  EXPECT_EQ(messages, "c.json:4: error: "
                      "zero_optimization.stage3_max_live_parameters: is in the "
                      "file twice, again in line 3; keep one\n");
}

TEST(Spellings, AFaultOfAFieldHasItsLine) {
  const std::string messages = invalid(R"("zero_optimization": {"stage": 3,
      "max_live_parameters": "many"})");
  EXPECT_NE(messages.find("c.json:3: error: "), std::string::npos) << messages;
}

TEST(Spellings, ASubGroupOfNothingIsASegment) {
  TrainConfig config = valid(R"("zero_optimization": {"stage": 2,
      "sub_group_size": 0, "offload_optimizer": {"device": "cpu"}})");
  EXPECT_EQ(config.offloadOptimizer->subGroupSize, 1);
  EXPECT_EQ(valid(R"("zero_optimization": {"sub_group_size": 0})").stage, 0);
}

TEST(Spellings, SeveralAutosAreOneRemark) {
  Parsed parsed = parseWithBatch(R"("gradient_clipping": "auto",
      "optimizer": {"type": "AdamW", "params": {"lr": "auto"}},
      "train_batch_size": "auto")");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.messages,
            "c.json: remark: \"auto\" reads as if the key were absent: "
            "gradient_clipping (1.0), optimizer.params.lr (0.001), "
            "train_batch_size; --set KEY=VALUE gives one a value\n");
}

static Parsed parseSet(const std::string &keys, const std::string &set) {
  ConfigContext context;
  context.options = {{"set", set}};
  return parse("{\"train_micro_batch_size_per_gpu\": 1, \"optimizer\": {}, " +
                   keys + "}",
               context);
}

TEST(Spellings, AnyKeyMayBeSet) {
  Parsed parsed = parseSet(
      R"("zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
         "gradient_clipping": "auto")",
      "zero_optimization.reduce_bucket_size=5e7;gradient_clipping=0.5;"
      "optimizer.type=SGD;zero_optimization.max_live_parameters=7");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.messages, "");
  EXPECT_EQ(parsed.config->reduceBucketSize, 50000000);
  EXPECT_EQ(parsed.config->gradientClipping, 0.5);
  EXPECT_EQ(parsed.config->optimizer.type, "sgd");
  EXPECT_EQ(parsed.config->maxLiveParameters, 7);
}

/// A semicolon in a string of a value is no end of it, and the last of several
/// values counts.
TEST(Spellings, SetTakesAnyValueOfJson) {
  Parsed parsed =
      parseSet(R"("zero_optimization": {"stage": 3})",
               R"(zero_optimization.offload_optimizer={"device": "nvme", )"
               R"("nvme_path": "/a;b=\";c"};gradient_clipping=0.5)");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->gradientClipping, 0.5);
  EXPECT_EQ(
      parseSet("\"gradient_clipping\": 1", "gradient_clipping=2;").messages,
      "c.json: error: the option set: found '', wanted a key and its "
      "value, such as zero_optimization.reduce_bucket_size=5e7\n");
}

TEST(Spellings, ACommentMayFollowAValueWithoutASpace) {
  Parsed parsed = parse("{\"train_micro_batch_size_per_gpu\": 2// two\n"
                        "\"zero_optimization\": {stage: 1/* one */}, "
                        "\"gradient_clipping\": 0.5# half\n}");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->gradientClipping, 0.5);
  EXPECT_EQ(parsed.config->stage, 1);
}

TEST(Spellings, WhatIsSetIsChecked) {
  EXPECT_EQ(parseSet("\"gradient_clipping\": 1", "gradient_cliping=1").messages,
            "c.json: error: the option set gradient_cliping: unknown key; the "
            "nearest known one is 'gradient_clipping'\n");
  EXPECT_EQ(
      parseSet("\"gradient_clipping\": 1", "gradient_clipping=x").messages,
      "c.json: error: the option set gradient_clipping: found \"x\", "
      "wanted a number of 0 or more\n");
  EXPECT_EQ(
      parseSet("\"gradient_clipping\": 1", "gradient_clipping").messages,
      "c.json: error: the option set: found 'gradient_clipping', wanted a "
      "key and its value, such as "
      "zero_optimization.reduce_bucket_size=5e7\n");
}

TEST(Spellings, KeysThatAreIdleForOneReasonAreOneRemark) {
  Parsed parsed = parseWithBatch(R"("optimizer": {},
      "zero_optimization": {"stage": 2, "stage3_max_live_parameters": 1,
        "stage3_max_reuse_distance": 2, "stage3_prefetch_bucket_size": 3})");
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.messages,
            "c.json:3: remark: zero_optimization.stage3_max_live_parameters: "
            "changes nothing at stage 2: only stage 3 gathers parameters for "
            "their uses; the same holds for "
            "zero_optimization.stage3_max_reuse_distance, "
            "zero_optimization.stage3_prefetch_bucket_size\n");
}
