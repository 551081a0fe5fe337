#include "zero-plan-bench/MachineFit.h"

#include "program/KernelSchema.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::zero;
using zrt::DataType;

namespace {

TEST(LeastSquares, FindsTheMinimumOfALine) {
  // The best line through (0, 1), (1, 3), (2, 4).
  auto residuals = [](llvm::ArrayRef<double> p) {
    return std::vector<double>{p[0] - 1, p[0] + p[1] - 3, p[0] + 2 * p[1] - 4};
  };
  auto point = detail::minimizeSquares({0, 0}, residuals);
  EXPECT_NEAR(point[0], 7.0 / 6, 1e-3);
  EXPECT_NEAR(point[1], 1.5, 1e-3);
}

TEST(LeastSquares, FollowsACurve) {
  auto residuals = [](llvm::ArrayRef<double> p) {
    return std::vector<double>{std::exp(p[0]) - 5, std::exp(p[0] + p[1]) - 2};
  };
  auto point = detail::minimizeSquares({0, 0}, residuals);
  EXPECT_NEAR(std::exp(point[0]), 5, 1e-2);
  EXPECT_NEAR(std::exp(point[0] + point[1]), 2, 1e-2);
}

zrt::Command commandOf(zrt::Program &program, zrt::KernelSpec spec) {
  zrt::fillFlags(spec);
  zrt::countWork(spec);
  program.kernels.push_back(spec);
  zrt::Command command;
  command.kernel = program.kernels.size() - 1;
  return command;
}

/// A product, an attention and a copy in each of `micro` micro-batches.
std::shared_ptr<zrt::Program> makeProgram(int64_t width, int64_t tokens,
                                          int32_t micro) {
  const auto BF16 = DataType::BF16;
  auto program = std::make_shared<zrt::Program>();
  program->training.ranks = 1;
  program->training.accumulation = micro;
  zrt::KernelSpec product, attention, copy;
  product.name = "nn.linear";
  product.operands = {{BF16, {tokens, width}}, {BF16, {width, width}}};
  product.results = {{BF16, {tokens, width}}};
  attention.name = "nn.attention";
  zrt::TensorType heads = {BF16, {1, tokens, width / 64, 64}};
  attention.operands = {heads, heads, heads};
  attention.results = {heads, {DataType::F32, {1, width / 64, tokens}}};
  copy.name = "zero.copy";
  copy.operands = {{BF16, {64 * width * tokens}},
                   {BF16, {64 * width * tokens}}};
  for (const zrt::KernelSpec &spec : {product, attention, copy})
    program->micro.commands.push_back(commandOf(*program, spec));
  program->apply.commands.push_back(commandOf(*program, copy));
  return program;
}

Machine makeStart() {
  std::string error;
  return *readMachine("h100", error);
}

TEST(MachineFit, FindsWhatKernelsReach) {
  Machine real = makeStart();
  real.productEfficiency = 0.6;
  real.productPadding = 300;
  real.attentionEfficiency = 0.2;
  real.bandwidthEfficiency = 0.4;
  real.kernelOverhead = 20e-6;
  std::vector<TimedRun> runs;
  for (int64_t width : {512, 2048, 8192})
    for (int64_t tokens : {512, 4096, 32768}) {
      auto program = makeProgram(width, tokens, 1);
      runs.push_back({program, predictUpdate(program, real)});
    }
  Machine fitted = fitMachine(makeStart(), runs);
  for (const TimedRun &run : runs)
    EXPECT_NEAR(predictUpdate(run.program, fitted) / run.seconds, 1, 0.01);
  // Padding makes up for some of it.
  EXPECT_NEAR(fitted.productEfficiency, 0.6, 0.1);
  EXPECT_NEAR(fitted.attentionEfficiency, 0.2, 0.01);
  EXPECT_NEAR(fitted.bandwidthEfficiency, 0.4, 0.02);
  // There were no collectives.
  EXPECT_NEAR(fitted.linkEfficiency, makeStart().linkEfficiency, 0.01);
}

TEST(MachineFit, OneMicroBatchStandsForThoseBetween) {
  Machine machine = makeStart();
  const double three = predictUpdate(makeProgram(512, 512, 3), machine);
  const double four = predictUpdate(makeProgram(512, 512, 4), machine);
  const double nine = predictUpdate(makeProgram(512, 512, 9), machine);
  EXPECT_GT(four, three);
  EXPECT_NEAR(nine - three, 6 * (four - three), 1e-9);
}

} // namespace
