// What cuDNN has attention for.
#include "kernels/cuda/CudnnAttention.h"
#include "CudnnDevices.h"
#include "program/KernelSchema.h"

#include <gtest/gtest.h>

using namespace zrt;
using namespace zrt::cuda;
using namespace zrt::test;

namespace {

AttentionProblem problem(DataType type, int64_t batch, int64_t tokens,
                         int64_t heads, int64_t groups, int64_t features) {
  AttentionProblem result = {};
  AttentionArguments &shape = result.shape;
  shape.type = type;
  shape.batch = batch;
  shape.queries = shape.keys = tokens;
  shape.heads = heads;
  shape.groups = groups;
  shape.features = features;
  shape.causal = true;
  shape.scale = 0.125f;
  const RowStrides query = RowStrides::dense(tokens, heads, features),
                   key = RowStrides::dense(tokens, groups, features);
  shape.qRows = shape.outRows = shape.doutRows = shape.dqRows = query;
  shape.kRows = shape.vRows = shape.dkRows = shape.dvRows = key;
  return result;
}

/// Forward and gradient, each as it may be and bitwise equal every time.
void expectKernels(AttentionProblem problem) {
  for (const Device &device : kDevices)
    for (bool gradient : {false, true})
      for (bool deterministic : {false, true}) {
        SCOPED_TRACE(std::string(device.name) + (gradient ? " gradient" : "") +
                     (deterministic ? " deterministic" : ""));
        problem.gradient = gradient;
        problem.deterministic = deterministic;
        std::string reason;
        EXPECT_TRUE(cudnnHasAttention(problem, device.architecture,
                                      device.properties(), reason))
            << reason;
      }
}

TEST(CudnnAttention, HasAttentionForTheModels) {
  for (DataType type : {DataType::BF16, DataType::F16}) {
    expectKernels(problem(type, 1, 256, 12, 12, 64)); // gpt2-124m
    expectKernels(problem(type, 8, 1024, 12, 12, 64));
    expectKernels(problem(type, 4, 256, 4, 4, 64)); // gpt-small
    expectKernels(problem(type, 4, 256, 4, 2, 64)); // llama-small
  }
}

/// Parts of one tensor of queries, keys and values, and of its gradient.
TEST(CudnnAttention, HasAttentionOnParts) {
  AttentionProblem p = problem(DataType::BF16, 8, 1024, 12, 12, 64);
  const RowStrides part = {3 * 1024 * 12 * 64, 3 * 12 * 64, 64};
  AttentionArguments &s = p.shape;
  s.qRows = s.kRows = s.vRows = s.dqRows = s.dkRows = s.dvRows = part;
  expectKernels(p);
}

/// The workspace of a kernel that is made.
size_t workspaceOf(const AttentionProblem &problem, const Device &device) {
  size_t bytes = 0;
  std::string reason;
  EXPECT_TRUE(cudnnHasAttention(problem, device.architecture,
                                device.properties(), reason, &bytes))
      << reason;
  return bytes;
}

TEST(CudnnAttention, MakesItsKernelsInSmallWorkspaces) {
  for (const Device &device : kDevices) {
    SCOPED_TRACE(device.name);
    AttentionProblem p = problem(DataType::BF16, 8, 1024, 12, 4, 64);
    const AttentionArguments &s = p.shape;
    EXPECT_LE(workspaceOf(p, device), 1u << 20);
    p.gradient = true;
    // The gradient of q, or the sum of scores, in f32, and little more.
    const size_t queries = s.batch * s.heads * s.queries * s.features;
    const size_t any = workspaceOf(p, device);
    EXPECT_GT(any, 0u);
    EXPECT_LE(any, 4 * queries * sizeof(float));
    // All scores in 16 bits.
    p.deterministic = true;
    const size_t scores = s.batch * s.heads * s.queries * s.keys;
    const size_t repeatable = workspaceOf(p, device);
    EXPECT_GE(repeatable, 2 * scores);
    EXPECT_LE(repeatable, 2 * scores + 4 * queries * sizeof(float));
  }
}

/// The kernel of a program that has `problem`.
KernelSpec specOf(const AttentionProblem &problem) {
  const AttentionArguments &s = problem.shape;
  const TensorType q = {s.type, {s.batch, s.queries, s.heads, s.features}};
  const TensorType k = {s.type, {s.batch, s.keys, s.groups, s.features}};
  const TensorType lse = {DataType::F32, {s.batch, s.heads, s.queries}};
  KernelSpec spec;
  spec.name = problem.gradient ? "nn.attention_grad" : "nn.attention";
  if (problem.gradient) {
    spec.operands = {q, q, k, k, q, lse};
    spec.results = {q, k, k};
  } else {
    spec.operands = {q, k, k};
    spec.results = {q, lse};
  }
  fillFlags(spec);
  return spec;
}

TEST(CudnnAttention, WantsNoMoreThanPlansCount) {
  const AttentionProblem shapes[] = {
      problem(DataType::BF16, 1, 4096, 32, 8, 128),
      problem(DataType::F16, 64, 16, 16, 16, 64)};
  for (const Device &device : kDevices)
    for (AttentionProblem each : shapes)
      for (const bool gradient : {false, true})
        for (const bool deterministic : {false, true}) {
          each.gradient = gradient;
          each.deterministic = deterministic;
          const KernelSpec spec = specOf(each);
          const uint64_t counted = zrt::workspaceOf(spec, deterministic);
          EXPECT_GT(counted, 0u);
          EXPECT_LE(workspaceOf(each, device), counted)
              << device.name << ' ' << each.shape.queries << ' '
              << each.shape.heads << ' ' << gradient << deterministic;
        }
}

TEST(CudnnAttention, TakesLengthsThatAreNoWholeTiles) {
  expectKernels(problem(DataType::BF16, 2, 45, 4, 2, 64));
}

TEST(CudnnAttention, TakesMasksOfScores) {
  AttentionProblem masked = problem(DataType::BF16, 2, 128, 4, 2, 64);
  masked.masked = true;
  masked.shape.causal = false;
  masked.shape.maskStride[2] = 128; // [T, S]
  masked.shape.maskStride[3] = 1;
  expectKernels(masked);
}

TEST(CudnnAttention, SaysWhyItTakesNotAll) {
  struct Case {
    AttentionProblem problem;
    const char *text;
  };
  AttentionProblem drops = problem(DataType::BF16, 2, 64, 4, 4, 64);
  drops.shape.drops = true;
  const Case cases[] = {
      {drops, "dropout of weights"},
      {problem(DataType::F32, 2, 64, 4, 4, 64), "f32"},
      {problem(DataType::BF16, 2, 64, 4, 4, 20), "multiple of 8"},
  };
  for (const Case &each : cases)
    for (const Device &device : kDevices) {
      std::string reason;
      EXPECT_FALSE(cudnnHasAttention(each.problem, device.architecture,
                                     device.properties(), reason));
      EXPECT_NE(reason.find(each.text), std::string::npos) << reason;
    }
}

} // namespace
