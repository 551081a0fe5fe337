//===- FusedTest.cpp - fused products are what they stand for -------------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// Apart, then fused: gelu of a product, its operand, the gradient's way back
/// through gelu, and its sums over rows.
static const char *text = R"(
!x = tensor<2x3x4xf64>
!h = tensor<2x3x5xf64>
!w = tensor<4x5xf64>
!b = tensor<5xf64>
func.func @f(%x: !x, %w: !w, %b: !b) -> (!h, !h, !h, !b, !h, !h, !h, !b) {
  %h = nn.linear %x, %w bias %b : (!x, !w, !b) -> !h
  %y = nn.gelu tanh %h : !h
  %g = nn.linear %x, %w : (!x, !w) -> !h
  %dh = nn.gelu_grad tanh %g, %h : !h
  %db = nn.reduce sum %dh dims [0, 1] : (!h) -> !b
  %fy, %fh = nn.linear_gelu %x, %w bias %b : (!x, !w, !b) -> (!h, !h)
  %fdh, %fdb = nn.linear_gelu_grad %x, %w, %h : (!x, !w, !h) -> (!h, !b)
  return %h, %y, %dh, %db, %fh, %fy, %fdh, %fdb : !h, !h, !h, !b, !h, !h, !h, !b
})";

TEST(Fused, IsWhatItStandsFor) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Array> inputs;
  for (Type type : function.getArgumentTypes()) {
    inputs.push_back(Array::zeros(type));
    for (size_t i = 0; i < inputs.back().reals.size(); ++i)
      inputs.back().reals[i] = std::sin(double(7 * i + inputs.size()));
  }
  InterpreterContext state;
  auto results = Interpreter().run(function, inputs, state);
  ASSERT_TRUE(succeeded(results));
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < (*results)[i].reals.size(); ++j)
      EXPECT_NEAR((*results)[i].reals[j], (*results)[i + 4].reals[j], 1e-12)
          << "result " << i;
}
