//===- StepTest.cpp - zero-differentiate against finite differences -------===//
//
// Differentiates a whole step, and compares what it gives to zero.gradient with
// differences of the loss of the step it was made from.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/UpstreamModels.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interpreter/Interpreter.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::zero;

/// One block of a decoder: a tied table, a norm weight used by two norms, a
/// frozen weight in the middle, dropout, a parameter that nothing uses.
static constexpr const char *model = R"(
  zero.parameter @table : tensor<5x4xf64> = #zero.normal<std = 0.02>
  zero.parameter @norm : tensor<4xf64> = #zero.ones
  zero.parameter @qkv : tensor<4x12xf64> = #zero.normal<std = 0.02>
  zero.parameter @up : tensor<4x6xf64> = #zero.normal<std = 0.02> frozen
  zero.parameter @down : tensor<6x4xf64> = #zero.normal<std = 0.02>
  zero.parameter @unused : tensor<3xf64> = #zero.ones
  zero.step @train(%ids: tensor<2x3xi32>, %targets: tensor<2x3xi32>) {
    %e = zero.load @table : tensor<5x4xf64>
    %x = nn.embedding %ids, %e : (tensor<2x3xi32>, tensor<5x4xf64>) -> tensor<2x3x4xf64>
    %w = zero.load @norm : tensor<4xf64>
    %n, %rstd = nn.rms_norm %x, %w eps 1.0e-6 : (tensor<2x3x4xf64>, tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>)
    %c = zero.load @qkv : tensor<4x12xf64>
    %p = nn.linear %n, %c : (tensor<2x3x4xf64>, tensor<4x12xf64>) -> tensor<2x3x12xf64>
    %pq, %pk, %pv = nn.split %p dim 2 sizes [4, 4, 4] : (tensor<2x3x12xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x4xf64>, tensor<2x3x4xf64>)
    %q = tensor.expand_shape %pq [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<2x3x4xf64> into tensor<2x3x2x2xf64>
    %k = tensor.expand_shape %pk [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<2x3x4xf64> into tensor<2x3x2x2xf64>
    %v = tensor.expand_shape %pv [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] : tensor<2x3x4xf64> into tensor<2x3x2x2xf64>
    %rq = nn.rotary %q theta 100.0 : tensor<2x3x2x2xf64>
    %rk = nn.rotary %k theta 100.0 : tensor<2x3x2x2xf64>
    %o, %lse = nn.attention %rq, %rk, %v causal scale 0.7 : (tensor<2x3x2x2xf64>, tensor<2x3x2x2xf64>, tensor<2x3x2x2xf64>) -> (tensor<2x3x2x2xf64>, tensor<2x2x3xf64>)
    %a = tensor.collapse_shape %o [[0], [1], [2, 3]] : tensor<2x3x2x2xf64> into tensor<2x3x4xf64>
    %d = nn.dropout %a p 0.25 id 0 : tensor<2x3x4xf64>
    %r = arith.addf %x, %d : tensor<2x3x4xf64>
    %m, %rstd2 = nn.rms_norm %r, %w eps 1.0e-6 : (tensor<2x3x4xf64>, tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>)
    %u = zero.load @up : tensor<4x6xf64>
    %h = nn.linear %m, %u : (tensor<2x3x4xf64>, tensor<4x6xf64>) -> tensor<2x3x6xf64>
    %g = nn.gelu tanh %h : tensor<2x3x6xf64>
    %z = zero.load @down : tensor<6x4xf64>
    %f = nn.linear %g, %z : (tensor<2x3x6xf64>, tensor<6x4xf64>) -> tensor<2x3x4xf64>
    %s = arith.addf %r, %f : tensor<2x3x4xf64>
    %t = zero.load @table : tensor<5x4xf64>
    %l = nn.linear %s, %t transposed : (tensor<2x3x4xf64>, tensor<5x4xf64>) -> tensor<2x3x5xf64>
    %loss, %lse2 = nn.cross_entropy %l, %targets : (tensor<2x3x5xf64>, tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)
    zero.yield %loss, %l outputs ["logits"] : tensor<f64>, tensor<2x3x5xf64>
  }
)";

namespace {

class StepTest : public ::testing::Test {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, math::MathDialect, nn::NNDialect,
                    tensor::TensorDialect, ZeroDialect>();
    registerUpstreamGradientModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    quiet = std::make_unique<ScopedDiagnosticHandler>(
        &context, [](Diagnostic &diagnostic) {
          return success(diagnostic.getSeverity() ==
                         DiagnosticSeverity::Remark);
        });
    plain = parseSourceString<ModuleOp>(model, &context);
    ASSERT_TRUE(plain);
    differentiated = plain->clone();
    PassManager passes(&context);
    passes.addPass(createDifferentiate());
    ASSERT_TRUE(succeeded(passes.run(*differentiated)));
    ASSERT_TRUE(succeeded(verify(*differentiated)));

    std::minstd_rand random(7);
    std::normal_distribution<double> normal(0.0, 0.5);
    for (auto parameter : plain->getOps<ParameterOp>()) {
      Array value = Array::zeros(parameter.getType());
      for (double &element : value.reals)
        element = normal(random);
      parameters[parameter.getSymName()] = value;
    }
    Array ids = Array::zeros(stepOf(*plain).getArgumentTypes()[0]);
    ids.integers = {1, 4, 1, 0, 2, 3};
    Array targets = ids;
    targets.integers = {4, 1, -100, 2, 3, 3};
    arguments = {ids, targets};
  }

  static StepOp stepOf(ModuleOp module) {
    return *module.getOps<StepOp>().begin();
  }

  InterpreterContext contextWith(const llvm::StringMap<Array> &values) {
    InterpreterContext state;
    state.seed = 11;
    state.lossSeed = 0.25;
    state.parameters = values;
    return state;
  }

  double loss(const llvm::StringMap<Array> &values) {
    InterpreterContext state = contextWith(values);
    auto outputs = interpreter.run(stepOf(*plain), arguments, state);
    EXPECT_TRUE(succeeded(outputs));
    return succeeded(outputs) ? outputs->front().reals[0] : NAN;
  }

  template <typename RegionOp>
  FailureOr<std::vector<Array>> runRegion(InterpreterContext &state) {
    StepOp step = stepOf(*differentiated);
    return interpreter.run(step.getRegionOp<RegionOp>().getBody().front(),
                           step.getBody().getArguments(), arguments, state);
  }

  MLIRContext context;
  std::unique_ptr<ScopedDiagnosticHandler> quiet;
  OwningOpRef<ModuleOp> plain, differentiated;
  Interpreter interpreter;
  llvm::StringMap<Array> parameters;
  std::vector<Array> arguments;
};

} // namespace

TEST_F(StepTest, GradientsAreThoseOfTheLoss) {
  InterpreterContext state = contextWith(parameters);
  auto outputs = runRegion<MicroOp>(state);
  ASSERT_TRUE(succeeded(outputs));
  EXPECT_DOUBLE_EQ(outputs->front().reals[0], loss(parameters));
  EXPECT_EQ(state.gradients.size(), 4u);
  EXPECT_FALSE(state.gradients.contains("up"));
  EXPECT_FALSE(state.gradients.contains("unused"));
  for (const auto &entry : state.gradients) {
    double largest = 0.0;
    for (double value : entry.second.reals)
      largest = std::fmax(largest, std::fabs(value));
    EXPECT_GT(largest, 1e-3) << entry.first().str();
    for (size_t i = 0; i < entry.second.reals.size(); ++i) {
      constexpr double step = 1e-5;
      llvm::StringMap<Array> up = parameters, down = parameters;
      up[entry.first()].reals[i] += step;
      down[entry.first()].reals[i] -= step;
      double expected = state.lossSeed * (loss(up) - loss(down)) / (2.0 * step);
      EXPECT_NEAR(entry.second.reals[i], expected, 1e-6 * largest)
          << entry.first().str() << ", element " << i;
    }
  }
}

TEST_F(StepTest, EvaluationIsTheForwardWithoutDropout) {
  InterpreterContext training = contextWith(parameters);
  InterpreterContext evaluating = contextWith(parameters);
  evaluating.evaluating = true;
  auto evaluated = runRegion<EvaluateOp>(evaluating);
  auto expected = interpreter.run(stepOf(*plain), arguments, evaluating);
  ASSERT_TRUE(succeeded(evaluated) && succeeded(expected));
  ASSERT_EQ(evaluated->size(), 2u);
  EXPECT_EQ((*evaluated)[0].reals, (*expected)[0].reals);
  EXPECT_EQ((*evaluated)[1].reals, (*expected)[1].reals);
  EXPECT_TRUE(evaluating.gradients.empty());
  auto trained = runRegion<MicroOp>(training);
  ASSERT_TRUE(succeeded(trained));
  EXPECT_NE((*trained)[0].reals, (*evaluated)[0].reals);
}
