// What is said about keys and values that are not as wanted.
#include "ConfigTesting.h"

using namespace mlir::zero;
using namespace mlir::zero::testing;

/// The whole text of the one message about `keys`, which begin in line 2.
static void expectError(const std::string &keys, const std::string &message) {
  EXPECT_EQ(invalid("\"optimizer\": {},\n" + keys), message + "\n");
}

TEST(Diagnostics, UnknownKeysNameTheNearest) {
  expectError(R"("zero_optimization": {"stage": 2,
                 "reduce_buket_size": 5})",
              "c.json:4: error: zero_optimization.reduce_buket_size: unknown "
              "key; the nearest known one is "
              "'zero_optimization.reduce_bucket_size'");
  expectError(R"("gradient_cliping": 1)",
              "c.json:3: error: gradient_cliping: unknown key; the nearest "
              "known one is 'gradient_clipping'");
}

TEST(Diagnostics, AKeyThatIsLikeNoneNamesNone) {
  for (const char *key : {"foo", "quux_enabled"})
    expectError("\"" + std::string(key) + "\": 1",
                "c.json:3: error: " + std::string(key) +
                    ": unknown key, like none of those that "
                    "docs/Configuration.md lists");
}

/// A file of another kind; comparing names takes long.
TEST(Diagnostics, AHundredErrorsAreEnough) {
  std::string keys;
  for (int i = 0; i < 1000; ++i)
    keys += (i ? ",\n\"q" : "\"q") + std::to_string(i) + "\": 1";
  const std::string messages = invalid(keys);
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 101);
  EXPECT_NE(messages.find("c.json: error: has 100 errors and may have more; "
                          "mend these first\n"),
            std::string::npos)
      << messages.substr(messages.size() - 200);
}

TEST(Diagnostics, AKeyInTheWrongBlockNamesTheRightOne) {
  expectError(R"("stage3_max_live_parameters": 5)",
              "c.json:3: error: stage3_max_live_parameters: unknown key; the "
              "nearest known one is "
              "'zero_optimization.stage3_max_live_parameters'");
}

TEST(Diagnostics, ADotInAKeyIsNoPath) {
  expectError(R"("zero_optimization.stage": 2)",
              "c.json:3: error: zero_optimization.stage: unknown key; the "
              "nearest known one is 'zero_optimization'");
}

TEST(Diagnostics, TypesAndRanges) {
  expectError(R"("zero_optimization": {"stage": "2"})",
              "c.json:3: error: zero_optimization.stage: found \"2\", wanted "
              "an integer from 0 to 3");
  expectError(R"("zero_optimization": {"stage": 4})",
              "c.json:3: error: zero_optimization.stage: found 4, wanted an "
              "integer from 0 to 3");
  expectError(R"("zero_optimization": {"reduce_bucket_size": 2.5})",
              "c.json:3: error: zero_optimization.reduce_bucket_size: found "
              "2.5, wanted an integer of 1 or more");
  expectError(R"("zero_optimization": true)",
              "c.json:3: error: zero_optimization: found true, wanted an "
              "object");
  expectError(R"("zero": {"layout": "flat"})",
              "c.json:3: error: zero.layout: found \"flat\", wanted one of "
              "\"bucketed\", \"contiguous\"");
  expectError(R"("gradient_clipping": null)",
              "c.json:3: error: gradient_clipping: found null, wanted a "
              "number of 0 or more");
  EXPECT_EQ(invalid(R"("optimizer": {"params": {"betas": [0.5]}})"),
            "c.json:2: error: optimizer.params.betas: found [0.5], wanted two "
            "numbers from 0 to below 1\n");
}

/// Both are shown at once, but for what may follow from the first.
TEST(Diagnostics, FaultsBetweenKeysBesideFaultsOfOne) {
  const std::string batch =
      "c.json:2: error: train_batch_size: found 8, but 1 sample x 2 "
      "accumulation steps x 1 rank are 2; leave one of the three keys out\n";
  const std::string keys =
      R"("train_batch_size": 8, "gradient_accumulation_steps": 2,)";
  EXPECT_EQ(invalid(keys + "\n\"foo\": 1"),
            "c.json:3: error: foo: unknown key, like none of those that "
            "docs/Configuration.md lists\n" +
                batch);
  EXPECT_EQ(invalid(keys + "\n\"gradient_clipping\": \"1\""),
            "c.json:3: error: gradient_clipping: found \"1\", wanted a number "
            "of 0 or more\n" +
                batch);
  // One of each key is enough.
  EXPECT_EQ(invalid(R"("optimizer": {"params": {"dampening": 0.5}})"),
            "c.json:2: error: optimizer.params.dampening: 0.5 is not "
            "supported: there is no such kernel; leave it out\n");
  // Two of one block, of which each counts by itself.
  EXPECT_EQ(invalid(R"("zero_optimization": {"stage": 0, "offload_optimizer":
      {"device": "cpu"}, "reduce_bucket_size": "big"})"),
            "c.json:3: error: zero_optimization.reduce_bucket_size: found "
            "\"big\", wanted an integer of 1 or more\n"
            "c.json:3: error: zero_optimization.offload_optimizer.device: "
            "stage 0 keeps all optimizer states on every rank's device; give "
            "a stage of 1 to 3, or leave it out\n");
  // Faults of the mesh and of others.
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"data": 3}},
      "optimizer": {"type": "Adem"})",
                    2),
            "c.json:2: error: zero.mesh: the mesh data=3 has 3 ranks, and 2 "
            "are asked for; give one of the two\n"
            "c.json:3: error: optimizer.type: \"Adem\" is not supported; use "
            "one of " +
                listOptimizerRules() + ", in any case\n");
}

TEST(Diagnostics, WhatMayFollowFromAFaultIsNotSaid) {
  for (const char *fault :
       {R"("gradient_accumulation_stepz": 4)",
        R"("zero": {"mesh": {"data": "2"}})", R"("zero": 3)",
        R"("zero_optimization": {"mics_shard_size": 1.5})",
        "\"gradient_accumulation_steps\": 4,\n"
        "\"gradient_accumulation_steps\": 8"}) {
    const std::string messages =
        invalid(R"("train_batch_size": 8, )" + std::string(fault));
    EXPECT_EQ(llvm::StringRef(messages).count("error:"), 1u) << messages;
  }
  // Neither the stage nor what goes with it is known.
  EXPECT_EQ(invalid(R"("zero_optimization": {"stage": 5,
      "offload_optimizer": {"device": "cpu"}})"),
            "c.json:2: error: zero_optimization.stage: found 5, wanted an "
            "integer from 0 to 3\n");
  EXPECT_EQ(invalid(R"("optimizer": {"type": "SGD", "params": {
      "nesterov": true, "momentun": 0.9}})"),
            "c.json:3: error: optimizer.params.momentun: unknown key; the "
            "nearest known one is 'optimizer.params.momentum'\n");
}

TEST(Diagnostics, NestingHasALimit) {
  const std::string message =
      "c.json:3: error: objects and arrays are nested more than 100 deep; no "
      "key takes that, remove the inner ones";
  for (const char *open : {"[", "{\"a\": ", "[{\"a\": "})
    for (size_t depth : {100, 270000}) {
      std::string value;
      for (size_t i = 0; i < depth; ++i)
        value += open;
      expectError("\"steps_per_print\": " + value, message);
    }
  // Brackets in strings open nothing, and what is closed does not count.
  std::string siblings = "[[]";
  for (int i = 0; i < 300; ++i)
    siblings += ",[{}]";
  for (const std::string &flat :
       {"\"\\\"" + std::string(300, '[') + "\"", siblings + "]"})
    EXPECT_EQ(invalid("\"zero_optimization\": {\"stage\": " + flat + "}")
                  .find("nested"),
              std::string::npos)
        << flat;
}

TEST(Diagnostics, ActivationCheckpointing) {
  expectError(R"("activation_checkpointing": {"number_checkpoints": 4},
                 "zero": {"checkpoint_activations": {}})",
              "c.json:4: error: zero.checkpoint_activations: "
              "activation_checkpointing.number_checkpoints says how many "
              "borders to keep as well; leave one of them out");
  expectError(R"("zero": {"checkpoint_activations": {"layers": [1, -1]}})",
              "c.json:3: error: zero.checkpoint_activations.layers: found "
              "[1,-1], wanted an array of integers of 0 or more");
  expectError(R"("activation_checkpointing": {"cpu_checkpointing": true},
                 "zero": {"checkpoint_activations": {"offload": false}})",
              "c.json:4: error: zero.checkpoint_activations.offload: is false, "
              "and activation_checkpointing.cpu_checkpointing is true; leave "
              "one of them out");
  Parsed silent =
      parseWithBatch("\"optimizer\": {},\n\"activation_checkpointing\": {}");
  EXPECT_EQ(silent.messages,
            "c.json:3: remark: activation_checkpointing: gives no "
            "number_checkpoints: all activations are kept; give it, or "
            "zero.checkpoint_activations\n");
}

TEST(Diagnostics, AllFaultsAreNamedAtOnce) {
  EXPECT_EQ(
      invalid("\"optimizer\": {},\n\"adiot\": 1,\n\"amb\": 2,\n"
              "\"gradient_clipping\": -1"),
      "c.json:3: error: adiot: unknown key; the nearest known one is 'aio'\n"
      "c.json:4: error: amb: unknown key; the nearest known one is 'amp'\n"
      "c.json:5: error: gradient_clipping: found -1, wanted a number of "
      "0 or more\n");
}

TEST(Diagnostics, RefusedValuesSayWhatToDo) {
  expectError(R"("sparse_gradients": true)",
              "c.json:3: error: sparse_gradients: true is not supported: "
              "gradients are slices of flat groups; leave it out");
  expectError(R"("elasticity": {"enabled": true})",
              "c.json:3: error: elasticity: is not supported: the rank count "
              "is fixed when compiling; compile once for each");
  expectError(R"("ddp_bf16": true)",
              "c.json:3: error: ddp_bf16: is not supported: gradients are "
              "communicated in the compute type; use bf16");
  EXPECT_EQ(invalid(R"("optimizer": {"params": {"max_grad_norm": 1}})"),
            "c.json:2: error: optimizer.params.max_grad_norm: is not "
            "supported: it is not a setting of the optimizer; use "
            "gradient_clipping\n");
}

TEST(Diagnostics, StatesInFiles) {
  expectError(R"("zero_optimization": {"stage": 2,
                 "offload_optimizer": {"device": "nvme", "nvme_path": ""}})",
              "c.json:4: error: zero_optimization.offload_optimizer.nvme_path: "
              "states in files need an existing folder for them; give "
              "nvme_path");
  const std::string files = R"("zero_optimization": {"stage": 2,
    "offload_optimizer": {"device": "nvme", "nvme_path": "/states"}},
    "aio": )";
  expectError(files + R"({"block_size": 2147483648})",
              "c.json:5: error: aio.block_size: found 2147483648, wanted a "
              "multiple of 4096, the block of a disk, up to 1073741824");
  expectError(files + R"({"queue_depth": 5000})",
              "c.json:5: error: aio.queue_depth: found 5000, wanted an "
              "integer from 1 to 4096");
  expectError(files + R"({"use_gds": true})",
              "c.json:5: error: aio.use_gds: true is not supported: states are "
              "updated on the host, and are read to its memory; leave it out");
}

TEST(Diagnostics, OffloadedParameters) {
  const std::string wrong = "c.json:4: error: zero_optimization.offload_param"
                            ".device: ";
  expectError(R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "cpu"}})",
              wrong + "parameters in host memory are updated there; give "
                      "offload_optimizer with the device \"cpu\" or "
                      "\"nvme\", too, or leave it out");
  expectError(R"("zero_optimization": {"stage": 1,
                 "offload_param": {"device": "cpu"},
                 "offload_optimizer": {"device": "cpu"}})",
              wrong + "stage 1 keeps whole parameters on every rank's device; "
                      "give stage 3, or leave it out");
  expectError(R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "nvme"}})",
              wrong + "parameters in files are in those of the optimizer's "
                      "states; give offload_optimizer with the device "
                      "\"nvme\", too, or the device \"cpu\"");
  expectError(R"("zero_optimization": {"stage": 2,
                 "offload_param": {"device": "nvme"},
                 "offload_optimizer": {"device": "nvme", "nvme_path": "/a"}})",
              wrong + "stage 2 keeps whole parameters on every rank's device; "
                      "give stage 3, or leave it out");
  expectError(
      R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "nvme", "nvme_path": "/b"},
                 "offload_optimizer": {"device": "nvme", "nvme_path": "/a"}})",
      "c.json:4: error: zero_optimization.offload_param.nvme_path: found "
      "\"/b\", wanted \"/a\", the folder of offload_optimizer: a rank has one "
      "file");
  expectError(
      R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "cpu"},
                 "offload_optimizer": {"device": "cpu", "ratio": 0.5}})",
      "c.json:5: error: zero_optimization.offload_optimizer.ratio: "
      "found a ratio of 0.500000, wanted 1 with offload_param: only the host "
      "updates parameters that it keeps");
  // A ratio of 0 offloads nothing, and no remark says so after the error.
  expectError(
      R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "cpu"},
                 "offload_optimizer": {"device": "cpu", "ratio": 0}})",
      "c.json:5: error: zero_optimization.offload_optimizer.ratio: "
      "found a ratio of 0.000000, wanted 1 with offload_param: only the host "
      "updates parameters that it keeps");
  // The states' folder is the one that lacks, not a second one.
  expectError(
      R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "nvme", "nvme_path": "/b"},
                 "offload_optimizer": {"device": "nvme"}})",
      "c.json:5: error: zero_optimization.offload_optimizer.device: states in "
      "files need an existing folder for them; give nvme_path");
  expectError(R"("zero_optimization": {"stage": 3,
                 "offload_param": {"device": "nvme", "nvme_path": "/b"}})",
              wrong + "parameters in files are in those of the optimizer's "
                      "states; give offload_optimizer with the device "
                      "\"nvme\", too, or the device \"cpu\"");
  expectError(R"("zero_optimization": {"stage": 3, "cpu_offload": true,
                 "cpu_offload_param": true,
                 "offload_param": {"device": "cpu"}})",
              "c.json:4: error: zero_optimization.cpu_offload_param: is the "
              "old name of offload_param, which is given as well; leave it "
              "out");
}

TEST(Diagnostics, RefusedKeysAcceptTheirDefault) {
  Parsed parsed = parseWithBatch(R"("optimizer": {},
    "zero_optimization": {"offload_optimizer": {"device": "none"},
                          "zero_hpz_partition_size": 1},
    "sparse_gradients": false, "elasticity": {"enabled": false, "x": 1},
    "amp": {}, "autotuning": null)");
  EXPECT_TRUE(parsed.config.has_value());
  EXPECT_EQ(parsed.messages, "");
}

TEST(Diagnostics, OptimizersAndSchedules) {
  EXPECT_EQ(invalid(R"("optimizer": {"type": "Lamb",
                       "params": {"whatever": 1}})"),
            "c.json:2: error: optimizer.type: \"Lamb\" is not supported; use "
            "one of " +
                listOptimizerRules() + ", in any case\n");
  EXPECT_EQ(invalid(R"("optimizer": {"type": "Adem"})"),
            "c.json:2: error: optimizer.type: \"Adem\" is not supported; use "
            "one of " +
                listOptimizerRules() + ", in any case\n");
  EXPECT_EQ(invalid(R"("optimizer": {"type": "SGD",
                       "params": {"bias_correction": false}})"),
            "c.json:3: error: optimizer.params.bias_correction: SGD has no "
            "such setting "
            "(Adam and AdamW have it); leave it out\n");
  EXPECT_EQ(invalid(R"("optimizer": {"type": "SGD",
                       "params": {"nesterov": true}})"),
            "c.json:3: error: optimizer.params.nesterov: needs a momentum "
            "above 0; give one or leave it out\n");
  expectError(R"("scheduler": {"type": "OneCycle",
                 "params": {"cycle_min_lr": 1}})",
              "c.json:3: error: scheduler.type: \"OneCycle\" is not "
              "supported; use \"WarmupLR\", \"WarmupDecayLR\" or "
              "\"WarmupCosineLR\", or leave the block out for a constant "
              "rate");
  expectError(R"("scheduler": {"type": "WarmupCosineLR", "params": {}})",
              "c.json: error: scheduler.params.total_num_steps: "
              "WarmupCosineLR needs a number: the updates of the whole run");
  expectError(R"("scheduler": {"type": "WarmupDecayLR",
                 "params": {"total_num_steps": 5}})",
              "c.json:4: error: scheduler.params.total_num_steps: found 5, "
              "fewer updates than the warm-up of 1000: the rate would fall at "
              "once behind it; give the updates of the whole run, or a lower "
              "warmup_num_steps");
  expectError(R"("scheduler": {"type": "WarmupLR",
                 "params": {"total_num_steps": 5}})",
              "c.json:4: error: scheduler.params.total_num_steps: WarmupLR "
              "has no such setting (WarmupDecayLR and WarmupCosineLR have "
              "it); leave it out");
  expectError(R"("scheduler": {"params": {}})",
              "c.json: error: scheduler.type: is missing; name the schedule, "
              "or leave the block out for a constant rate");
}

TEST(Diagnostics, Precision) {
  expectError(R"("fp16": {"enabled": true}, "bf16": {"enabled": true})",
              "c.json:3: error: fp16.enabled: fp16 and bf16 are both enabled; "
              "enable one of them");
  for (int power : {127, 200})
    expectError(R"("fp16": {"enabled": true, "initial_scale_power": )" +
                    std::to_string(power) + "}",
                "c.json:3: error: fp16.initial_scale_power: found " +
                    std::to_string(power) +
                    ", wanted at most 126: the scale is an f32, which is less "
                    "than 2^128, and has to have room to double");
  expectError(R"("fp16": {"enabled": true, "min_loss_scale": 1e9})",
              "c.json:3: error: fp16.min_loss_scale: the lowest scale is "
              "above the first one, 2^16; lower it");
  expectError(R"("bf16": {"enabled": true}, "gradient_accumulation_steps": 2,
                 "data_types": {"grad_accum_dtype": "bf16"})",
              "c.json:4: error: data_types.grad_accum_dtype: 2 micro-batches "
              "are added up in f32; give \"fp32\" or leave it out");
}

TEST(Diagnostics, AddingUp) {
  Parsed parsed = parseWithBatch(R"("optimizer": {},
    "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"})");
  EXPECT_TRUE(parsed.config.has_value());
  EXPECT_EQ(parsed.messages,
            "c.json:3: remark: data_types.grad_accum_dtype: changes nothing "
            "here: one micro-batch leaves nothing to add up, and its "
            "gradients are stored in bf16\n");
  expectError(R"("data_types": {"grad_accum_dtype": "fp16"})",
              "c.json:3: error: data_types.grad_accum_dtype: gradients are "
              "stored in f32, the compute type; leave it out");
}

TEST(Diagnostics, GradientsTravelInOneType) {
  Parsed sum = parseWithBatch(R"("optimizer": {}, "bf16": {"enabled": true},
    "gradient_accumulation_steps": 2, "communication_data_type": "fp32")",
                              2);
  EXPECT_TRUE(sum.config.has_value());
  EXPECT_EQ(sum.messages, "");
  EXPECT_EQ(invalid(R"("bf16": {"enabled": true},
      "gradient_accumulation_steps": 2, "communication_data_type": "bf16")",
                    2),
            "c.json:3: error: communication_data_type: the gradients of 2 "
            "micro-batches are added up before they travel at stage 0, and "
            "travel as the f32 sum; give \"fp32\", or leave it out\n");
  const std::string narrow =
      "c.json:3: error: communication_data_type: found \"fp16\", wanted "
      "\"bf16\" or \"fp32\": gradients of a micro-batch travel as they are "
      "computed, or in f32\n";
  for (
      const char *other :
      {R"("zero_optimization": {"stage": 1})",
       R"("gradient_accumulation_steps": 2, "zero": {"deterministic": true})",
       R"("gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2})",
       R"("gradient_accumulation_steps": 2, "zero_optimization": {"stage": 3})"}) {
    const std::string start =
        R"("optimizer": {}, "bf16": {"enabled": true}, )" + std::string(other) +
        ",\n\"communication_data_type\": ";
    EXPECT_EQ(invalid(start + "\"fp16\"", 2), narrow);
    Parsed wide = parseWithBatch(start + "\"fp32\"", 2);
    EXPECT_EQ(wide.messages, "");
    ASSERT_TRUE(wide.config.has_value());
    EXPECT_TRUE(wide.config->widensGradients());
  }
  EXPECT_EQ(invalid(R"("communication_data_type": "bf16")", 2),
            "c.json:2: error: communication_data_type: found \"bf16\", wanted "
            "\"fp32\": gradients of a micro-batch travel as they are computed, "
            "or in f32\n");
  EXPECT_EQ(invalid(R"("bf16": {"enabled": true},
    "zero_optimization": {"stage": 3, "zero_quantized_gradients": true},
    "communication_data_type": "fp32")",
                    2),
            "c.json:4: error: communication_data_type: asks for gradients in "
            "f32, and zero_optimization.zero_quantized_gradients for 4 bits; "
            "leave one of them out\n");
}

TEST(Diagnostics, OneRankSendsNothing) {
  Parsed one = parseWithBatch(R"("optimizer": {}, "bf16": {"enabled": true},
    "communication_data_type": "fp32")");
  EXPECT_TRUE(one.config.has_value());
  EXPECT_EQ(one.messages, "c.json:3: remark: communication_data_type: changes "
                          "nothing here: with one rank no gradients travel\n");
}

/// Refused where it is written, not where the pipeline finds it out of range.
TEST(Diagnostics, AlignmentBeyondACount) {
  expectError(R"("zero": {"alignment": 2147483648})",
              "c.json:3: error: zero.alignment: found 2147483648, wanted an "
              "integer from 1 to 2147483647");
  expectError(R"("zero": {"alignment": 9.223372036854775808e18})",
              "c.json:3: error: zero.alignment: found 9.2233720368547758e+18, "
              "wanted an integer from 1 to 2147483647");
  valid(R"("zero": {"alignment": 2147483647})");
}

TEST(Diagnostics, KeysOfAnotherStage) {
  Parsed parsed = parseWithBatch(R"("optimizer": {},
    "zero_optimization": {"stage": 2, "allgather_bucket_size": 9,
                          "stage3_max_live_parameters": 5},
    "zero": {"alignment": 4, "gathers_in_flight": 1})");
  EXPECT_TRUE(parsed.config.has_value());
  EXPECT_EQ(parsed.messages,
            "c.json:5: remark: zero.gathers_in_flight: changes nothing at "
            "stage 2: only stage 3 gathers parameters for their uses; the same "
            "holds for zero_optimization.stage3_max_live_parameters\n");
  parsed = parseWithBatch(R"("optimizer": {},
    "zero_optimization": {"stage": 3, "allgather_bucket_size": 9,
                          "stage3_max_live_parameters": 5},
    "zero": {"alignment": 4, "gathers_in_flight": 1})");
  EXPECT_EQ(parsed.messages,
            "c.json:5: remark: zero.alignment: changes nothing at stage 3: "
            "parameters that are gathered are padded to 16 bytes a rank\n"
            "c.json:3: remark: zero_optimization.allgather_bucket_size: "
            "changes nothing at stage 3: only stages 1 and 2 gather updated "
            "parameters in buckets\n");
}

TEST(Diagnostics, RepeatedKeys) {
  expectError("\"gradient_clipping\": 1,\n\"gradient_clipping\": 2",
              "c.json:3: error: gradient_clipping: is in the file twice, "
              "again in line 4; keep one");
}

TEST(Diagnostics, Syntax) {
  EXPECT_EQ(parse("{\n\"adiot\": 1,,\n}").messages,
            "c.json:2: error: is not JSON: Expected object key\n");
  EXPECT_EQ(parse("[]").messages, "c.json:1: error: found no object, wanted "
                                  "{ \"key\": value, ... }\n");
}

TEST(Diagnostics, KeysAreFoundBehindStringsWithQuotesAndBrackets) {
  expectError("\"wandb\": {\"project\": \"a \\\" } ] {\", \"x\": [{\"y\": 1}]"
              "},\n\"pipelines\": 1",
              "c.json:3: remark: wandb: changes nothing here: the executable "
              "reports for itself: --metrics writes every update to a file\n"
              "c.json:4: error: pipelines: unknown key; the nearest known one "
              "is 'pipeline'");
}

TEST(Diagnostics, WhatAnotherKeyDecides) {
  const std::string said =
      parse("{\n\"fp16\": {\"enabled\": true, \"loss_scale\": 4,\n"
            "\"initial_scale_power\": 5, \"hysteresis\": 2},\n"
            "\"optimizer\": {\"type\": \"AdamW\", \"params\": "
            "{\"adam_w_mode\": false}}}")
          .messages;
  for (const char *key : {"initial_scale_power", "hysteresis"})
    EXPECT_NE(said.find("c.json:3: remark: fp16." + std::string(key) +
                        ": changes nothing here: fp16.loss_scale has a fixed "
                        "scale"),
              std::string::npos)
        << said;
  EXPECT_NE(said.find("c.json:4: remark: optimizer.params.adam_w_mode: changes "
                      "nothing here: the decay of \"AdamW\" is always "
                      "decoupled, and that of \"Adam\" is not with it"),
            std::string::npos)
      << said;
}

TEST(Diagnostics, Files) {
  llvm::SmallVector<ConfigDiagnostic> diagnostics;
  EXPECT_FALSE(loadTrainConfig("no-such-file.json", {}, diagnostics));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].message,
            "cannot be read: No such file or directory");
}
