//===- MeshTest.cpp - axes whose ranks compute one model ------------------===//

#include "ConfigTesting.h"

using namespace mlir::zero;
using namespace mlir::zero::testing;

namespace {

TEST(Mesh, RanksOfOneModelHaveOneBatch) {
  TrainConfig config = valid(R"("train_batch_size": 4,
      "zero": {"mesh": {"data": 2, "tensor": 2}})",
                             4);
  EXPECT_EQ(config.ranks, 2);
  EXPECT_TRUE(config.cutsModel());
  EXPECT_EQ(config.accumulation, 2);
  EXPECT_EQ(config.shardAxes, std::vector<std::string>{"data"});
}

TEST(Mesh, SomeRankHasSamples) {
  TrainConfig config = valid(R"("zero": {"mesh": {"tensor": 4}})", 4);
  EXPECT_EQ(config.ranks, 1);
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.front().name, "data");
}

TEST(Mesh, AutoTPIsTheAxisTensor) {
  TrainConfig config = valid(R"("tensor_parallel": {"autotp_size": 2})", 6);
  EXPECT_EQ(config.ranks, 3);
  EXPECT_TRUE(config.cutsModel());
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.back().name, "tensor");
}

TEST(Mesh, SequenceParallelSizeIsTheAxisSequence) {
  TrainConfig config = valid(R"("sequence_parallel_size": 2)", 6);
  EXPECT_EQ(config.ranks, 6);
  EXPECT_EQ(config.batchRanks(), 3);
  EXPECT_EQ(config.slices(), 6);
  EXPECT_TRUE(config.cutsModel());
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.back().name, "sequence");
}

TEST(Mesh, ExpertParallelSizeIsTheAxisExpert) {
  const std::string experts =
      R"("expert_parallel": {"enabled": true, "autoep_size": 2})";
  TrainConfig config = valid(experts, 6);
  EXPECT_EQ(config.ranks, 6);
  // Its ranks have samples of their own.
  EXPECT_EQ(config.batchRanks(), 6);
  EXPECT_EQ(config.slices(), 6);
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.back().name, "expert");
  EXPECT_EQ(config.mesh.back().size, 2);
  config =
      valid(experts + R"(, "use_data_before_expert_parallelism": true)", 6);
  EXPECT_EQ(config.mesh.front().name, "expert");
  config = valid(R"("expert_parallel": {"autoep_size": 2})", 6);
  EXPECT_TRUE(config.mesh.empty());
}

/// Under another name it would train, but as something else.
TEST(Mesh, StagesHaveNoSamplesOfTheirOwn) {
  const TrainConfig config =
      valid(R"("zero": {"mesh": {"pipe": 2, "data": 3, "tensor": 2}})", 12);
  EXPECT_EQ(config.worldRanks(), 12);
  EXPECT_EQ(config.batchRanks(), 3);
  EXPECT_EQ(config.ranks, 3);
  EXPECT_EQ(config.slices(), 3);
  // Someone has samples.
  EXPECT_EQ(valid(R"("zero": {"mesh": {"pipe": 2}})", 2).mesh.size(), 2u);
}

TEST(Mesh, StatesAreNotCutOverStages) {
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"data": 2, "pipe": 2},
  "shard_axes": "pipe"})",
                    4),
            "c.json:3: error: zero.shard_axes: the ranks of 'pipe' have one "
            "model together, over which states are not cut; name other axes\n");
}

TEST(Mesh, SumsOf16BitsHaveOneFactor) {
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"data": 2, "expert": 2}},
  "fp16": {"enabled": true})",
                    4),
            "c.json:3: error: fp16.enabled: does not work beside the axis "
            "'expert' of the mesh data=2,expert=2, which cuts the model; "
            "compute in bf16, or give 'expert' 1 rank\n");
}

TEST(Mesh, WhatDoesNotFitIsAnError) {
  EXPECT_EQ(invalid(R"("tensor_parallel": {"autotp_size": 4})", 6),
            "c.json:2: error: tensor_parallel.autotp_size: 4 does not divide "
            "the 6 ranks; give a divisor\n");
  EXPECT_EQ(invalid(R"("tensor_parallel": {"autotp_size": 2},
      "zero": {"mesh": {"data": 1, "tensor": 4}})",
                    4),
            "c.json:2: error: tensor_parallel.autotp_size: found 2, and the "
            "mesh data=1,tensor=4 has 4 ranks of 'tensor'; leave one of the "
            "two out\n");
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"expert": 2, "sequence": 2}})", 4),
            "c.json:2: error: zero.mesh: axes 'expert' and 'sequence' would "
            "both cut the model, which is not supported; either of them goes "
            "with 'tensor'; give one of them 1 rank\n");
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"data": 2, "tensor": 2},
      "shard_axes": "data,tensor"})",
                    4),
            "c.json:3: error: zero.shard_axes: the ranks of 'tensor' have one "
            "model together, over which states are not cut; name other axes\n");
  EXPECT_EQ(invalid(R"("zero_optimization": {"stage": 3,
        "offload_optimizer": {"device": "cpu"}},
      "zero": {"mesh": {"data": 2, "tensor": 2}})",
                    4),
            "c.json:3: error: zero_optimization.offload_optimizer.device: does "
            "not work beside the axis 'tensor' of the mesh data=2,tensor=2, "
            "which cuts the model; leave the key out, or give 'tensor' 1 "
            "rank\n");
  EXPECT_EQ(invalid(R"("tensor_parallel": {"autotp_size": 2})"),
            "c.json:2: error: tensor_parallel.autotp_size: 2 does not divide "
            "the 1 rank; give a divisor\n");
}

/// Whichever key it is, it is named with the axis.
TEST(Mesh, WhatDoesNotWorkBesideAnAxisThatCutsTheModelNamesIt) {
  const std::pair<const char *, const char *> cases[] = {
      {R"("offload_optimizer": {"device": "cpu"})", "offload_optimizer.device"},
      {R"("cpu_offload": true)", "cpu_offload"},
      {R"("offload_optimizer": {"device": "cpu"},
          "offload_param": {"device": "cpu"})",
       "offload_param.device"},
      {R"("zero_hpz_partition_size": 2)", "zero_hpz_partition_size"},
      {R"("zero_quantized_weights": true)", "zero_quantized_weights"},
      {R"("zero_quantized_nontrainable_weights": true)",
       "zero_quantized_nontrainable_weights"},
      {R"("zero_quantized_gradients": true)", "zero_quantized_gradients"}};
  for (const std::string axis : {"tensor", "sequence", "expert"})
    for (auto [keys, name] : cases) {
      const std::string messages = invalid(
          R"("zero": {"mesh": {"data": 4, ")" + axis +
              R"(": 2}}, "zero_optimization": {"stage": 3,)" + keys + "}",
          8);
      const std::string wanted = std::string("error: zero_optimization.") +
                                 name + ": does not work beside the axis '" +
                                 axis + "' of the mesh data=4," + axis +
                                 "=2, which cuts the model";
      EXPECT_NE(messages.find(wanted), std::string::npos) << messages;
    }
}

TEST(Mesh, KeysWithoutAnAxisOfExpertsChangeNothing) {
  const std::string first = R"("use_data_before_expert_parallelism": true)";
  EXPECT_EQ(parseWithBatch(first + R"(, "optimizer": {})").messages,
            "c.json:2: remark: use_data_before_expert_parallelism: changes "
            "nothing at stage 0: no axis `expert` has more than one rank\n");
  EXPECT_EQ(parseWithBatch(first + R"(, "optimizer": {},
      "zero": {"mesh": {"data": 2, "expert": 2}})",
                           4)
                .messages,
            "c.json:2: remark: use_data_before_expert_parallelism: changes "
            "nothing at stage 0: `zero.mesh` gives the order of the axes\n");
  EXPECT_EQ(parseWithBatch(R"("optimizer": {},
      "expert_parallel": {"autoep_size": 2})",
                           2)
                .messages,
            "c.json:3: remark: expert_parallel.autoep_size: changes nothing at "
            "stage 0: `expert_parallel.enabled` is not true\n");
  EXPECT_EQ(parseWithBatch(R"("optimizer": {},
      "zero_optimization": {"stage": 1, "mics_shard_size": 2})",
                           2)
                .messages,
            "c.json:3: remark: zero_optimization.mics_shard_size: changes "
            "nothing at stage 1: all ranks are one group\n");
}

} // namespace
