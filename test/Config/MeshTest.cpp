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
  EXPECT_EQ(config.modelRanks(), 2);
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
  EXPECT_EQ(config.modelRanks(), 2);
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.back().name, "tensor");
}

TEST(Mesh, SequenceParallelSizeIsTheAxisSequence) {
  TrainConfig config = valid(R"("sequence_parallel_size": 2)", 6);
  EXPECT_EQ(config.ranks, 6);
  EXPECT_EQ(config.batchRanks(), 3);
  EXPECT_EQ(config.slices(), 6);
  EXPECT_EQ(config.modelRanks(), 2);
  ASSERT_EQ(config.mesh.size(), 2u);
  EXPECT_EQ(config.mesh.back().name, "sequence");
}

/// Under another name it would train, but as something else.
TEST(Mesh, RolesThatAreNotSupportedAreErrors) {
  for (const char *role : {"expert", "pipe"}) {
    std::string mesh = R"({"data": 2, ")" + std::string(role) + R"(": 2})";
    EXPECT_EQ(
        invalid(R"("zero": {"mesh": )" + mesh + "}", 4),
        "c.json:2: error: zero.mesh: axis '" + std::string(role) +
            "' would cut the model in a way that is not supported; "
            "'tensor' and 'sequence' are, and every other name is an axis "
            "of samples: give it another one\n");
  }
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
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"tensor": 2, "sequence": 2}})", 4),
            "c.json:2: error: zero.mesh: axes 'tensor' and 'sequence' would "
            "both cut the model, which is not supported; give one of them 1 "
            "rank\n");
  EXPECT_EQ(invalid(R"("zero": {"mesh": {"data": 2, "tensor": 2},
      "shard_axes": "data,tensor"})",
                    4),
            "c.json:3: error: zero.shard_axes: the ranks of 'tensor' have one "
            "model together, over which states are not cut; name other axes\n");
  EXPECT_EQ(invalid(R"("zero_optimization": {"stage": 3,
        "offload_optimizer": {"device": "cpu"}},
      "zero": {"mesh": {"data": 2, "tensor": 2}})",
                    4),
            "c.json:3: error: zero_optimization.offload_optimizer: does not "
            "work on the mesh data=2,tensor=2, of which an axis cuts the "
            "model; leave the key out, or the axis\n");
}

} // namespace
