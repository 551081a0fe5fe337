// The three batch keys and the rank count.
#include "ConfigTesting.h"

using namespace mlir::zero;
using namespace mlir::zero::testing;

static Parsed parseBatch(const char *text, int64_t ranks,
                         int64_t modelMicroBatch = 0) {
  ConfigContext context;
  context.ranks = ranks;
  context.modelMicroBatch = modelMicroBatch;
  return parse(text, context);
}

static void expectBatch(const Parsed &parsed, int64_t micro,
                        int64_t accumulation, int64_t train) {
  ASSERT_TRUE(parsed.config.has_value()) << parsed.messages;
  EXPECT_EQ(parsed.config->microBatch, micro);
  EXPECT_EQ(parsed.config->accumulation, accumulation);
  EXPECT_EQ(parsed.config->trainBatch, train);
}

TEST(Batch, AnyTwoKeysGiveTheThird) {
  expectBatch(parseBatch(R"({"train_batch_size": 24,
                             "train_micro_batch_size_per_gpu": 2})",
                         4),
              2, 3, 24);
  expectBatch(parseBatch(R"({"train_batch_size": 24,
                             "gradient_accumulation_steps": 3})",
                         4),
              2, 3, 24);
  expectBatch(parseBatch(R"({"train_micro_batch_size_per_gpu": 2,
                             "gradient_accumulation_steps": 3})",
                         4),
              2, 3, 24);
}

TEST(Batch, OneKeyMeansOneMicroBatch) {
  expectBatch(parseBatch(R"({"train_batch_size": 12})", 4), 3, 1, 12);
  expectBatch(parseBatch(R"({"train_micro_batch_size_per_gpu": 3})", 4), 3, 1,
              12);
}

TEST(Batch, TheModelGivesTheMicroBatch) {
  expectBatch(parseBatch("{}", 2, 8), 8, 1, 16);
  expectBatch(parseBatch(R"({"train_batch_size": 64})", 2, 8), 8, 4, 64);
  Parsed parsed = parseBatch(R"({"train_micro_batch_size_per_gpu": 4})", 2, 8);
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_EQ(parsed.messages,
            "c.json:1: error: train_micro_batch_size_per_gpu: found 4, but "
            "one step of the model takes 8 samples; make them equal, or leave "
            "the key out\n");
}

TEST(Batch, ThreeKeysMustAgree) {
  Parsed parsed = parseBatch("{\n\"train_batch_size\": 32,\n"
                             "\"train_micro_batch_size_per_gpu\": 2,\n"
                             "\"gradient_accumulation_steps\": 3}",
                             4);
  EXPECT_FALSE(parsed.config.has_value());
  EXPECT_EQ(parsed.messages,
            "c.json:2: error: train_batch_size: found 32, but 2 samples x 3 "
            "accumulation steps x 4 ranks are 24; leave one of the three keys "
            "out\n");
}

TEST(Batch, WhatDoesNotDivideIsAnError) {
  EXPECT_EQ(parseBatch(R"({"train_batch_size": 10,
                           "train_micro_batch_size_per_gpu": 1})",
                       4)
                .messages,
            "c.json:1: error: train_batch_size: 10 samples are no multiple of "
            "4 (1 sample x 4 ranks), so no "
            "gradient_accumulation_steps fits; give a multiple\n");
  EXPECT_EQ(parseBatch(R"({"train_batch_size": 10})", 4).messages,
            "c.json:1: error: train_batch_size: 10 samples cannot be cut into "
            "4 equal micro-batches (4 ranks x 1 accumulation step); give a "
            "multiple\n");
}

TEST(Batch, OneOfThemIsNeeded) {
  EXPECT_EQ(parseBatch("{\"gradient_accumulation_steps\": 2}", 4).messages,
            "c.json: error: train_micro_batch_size_per_gpu: neither this key "
            "nor train_batch_size is given; give the samples of one "
            "micro-batch on one rank\n");
}

TEST(Batch, RanksAreAtLeastOne) {
  EXPECT_EQ(parseBatch(R"({"train_batch_size": 1})", 0).messages,
            "c.json: error: found 0 ranks, wanted 1 to 2147483647\n");
}

TEST(Batch, CountsHaveThirtyTwoBits) {
  EXPECT_EQ(parseBatch(R"({"train_batch_size": 1})", 3000000000).messages,
            "c.json: error: found 3000000000 ranks, wanted 1 to 2147483647\n");
  EXPECT_EQ(parseBatch(R"({"train_micro_batch_size_per_gpu": 1,
                           "gradient_accumulation_steps": 3000000000})",
                       1)
                .messages,
            "c.json:2: error: gradient_accumulation_steps: found 3000000000, "
            "wanted 1 to 2147483647\n");
  EXPECT_EQ(parseBatch(R"({"train_batch_size": 6000000000})", 2, 1).messages,
            "c.json: error: gradient_accumulation_steps: found 3000000000, "
            "wanted 1 to 2147483647\n");
  EXPECT_EQ(
      parseBatch(R"({"train_micro_batch_size_per_gpu": 2147483647,
                           "gradient_accumulation_steps": 2147483647})",
                 3)
          .messages,
      "c.json: error: train_batch_size: 2,147,483,647 samples x 2,147,483,647 "
      "accumulation steps x 3 ranks are more samples than 64 bits "
      "count\n");
}
