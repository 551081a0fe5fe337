//===- FusedTest.cpp - fused operations are what they stand for -----------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

/// The same of products that are added to something.
static const char *addText = R"(
!x = tensor<2x3x4xf64>
!h = tensor<2x3x5xf64>
!w = tensor<4x5xf64>
!t = tensor<5x4xf64>
!b = tensor<5xf64>
func.func @f(%x: !x, %w: !w, %t: !t, %b: !b, %c: !h) -> (!h, !h, !h, !h, !h, !h, !h, !h) {
  %h = nn.linear %x, %w bias %b : (!x, !w, !b) -> !h
  %y = arith.addf %c, %h : !h
  %i = nn.linear %x, %t transposed : (!x, !t) -> !h
  %z = arith.addf %i, %c : !h
  %fy = nn.linear_add %x, %w, %c bias %b : (!x, !w, !h, !b) -> !h
  %fz = nn.linear_add %x, %t, %c transposed : (!x, !t, !h) -> !h
  return %y, %z, %y, %z, %fy, %fz, %fy, %fz : !h, !h, !h, !h, !h, !h, !h, !h
})";

/// The same of the gradients of a weight, in both layouts, and of a bias.
static const char *weightText = R"(
!x = tensor<2x3x4xf64>
!d = tensor<2x3x5xf64>
!w = tensor<4x5xf64>
!t = tensor<5x4xf64>
!b = tensor<5xf64>
func.func @f(%x: !x, %d: !d) -> (!w, !b, !t, !b, !w, !b, !t, !b) {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into tensor<6x4xf64>
  %drows = tensor.collapse_shape %d [[0, 1], [2]] : !d into tensor<6x5xf64>
  %dw = nn.matmul %rows, %drows transpose_a : (tensor<6x4xf64>, tensor<6x5xf64>) -> !w
  %dt = nn.matmul %drows, %rows transpose_a : (tensor<6x5xf64>, tensor<6x4xf64>) -> !t
  %db = nn.reduce sum %d dims [0, 1] : (!d) -> !b
  %f:2 = nn.linear_weight_grad %d, %x : (!d, !x) -> (!w, !b)
  %g:2 = nn.linear_weight_grad %d, %x transposed : (!d, !x) -> (!t, !b)
  return %dw, %db, %dt, %db, %f#0, %f#1, %g#0, %g#1 : !w, !b, !t, !b, !w, !b, !t, !b
})";

/// The same of a loss, its gradient for the operands of the product, and the
/// loss alone.
static const char *lossText = R"(
!x = tensor<2x3x4xf64>
!h = tensor<2x3x5xf64>
!w = tensor<4x5xf64>
!b = tensor<5xf64>
!t = tensor<2x3xi32>
!s = tensor<f64>
func.func @f(%x: !x, %w: !w, %b: !b, %s: !s, %t: !t) -> (!s, !x, !w, !b, !s, !x, !w, !b, !s) {
  %h = nn.linear %x, %w bias %b : (!x, !w, !b) -> !h
  %loss, %lse = nn.cross_entropy %h, %t ignore_index 1 : (!h, !t) -> (!s, tensor<2x3xf64>)
  %dh = nn.cross_entropy_grad %s, %h, %t, %lse ignore_index 1 : (!s, !h, !t, tensor<2x3xf64>) -> !h
  %dx = nn.linear %dh, %w transposed : (!h, !w) -> !x
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into tensor<6x4xf64>
  %drows = tensor.collapse_shape %dh [[0, 1], [2]] : !h into tensor<6x5xf64>
  %dw = nn.matmul %rows, %drows transpose_a : (tensor<6x4xf64>, tensor<6x5xf64>) -> !w
  %db = nn.reduce sum %dh dims [0, 1] : (!h) -> !b
  %f:4 = nn.linear_cross_entropy_grad %s, %x, %w, %t bias %b chunk 4 ignore_index 1 : (!s, !x, !w, !t, !b) -> (!s, !x, !w, !b)
  %g = nn.linear_cross_entropy %x, %w, %t bias %b chunk 4 ignore_index 1 : (!x, !w, !t, !b) -> !s
  return %loss, %dx, %dw, %db, %f#0, %f#1, %f#2, %f#3, %g : !s, !x, !w, !b, !s, !x, !w, !b, !s
})";

/// The same of norms and the additions beside them.
static const char *layerNormText = R"(
!x = tensor<2x3x4xf64>
!w = tensor<4xf64>
!s = tensor<2x3xf64>
func.func @f(%a: !x, %b: !x, %w: !w, %c: !w, %g: !x) -> (!x, !s, !x, !x, !x, !s, !x, !x) {
  %s = arith.addf %a, %b : !x
  %y, %mean, %rstd = nn.layer_norm %s, %w, %c eps 1.0e-5 : (!x, !w, !w) -> (!x, !s, !s)
  %d, %dw, %db = nn.layer_norm_grad %g, %s, %w, %mean, %rstd : (!x, !x, !w, !s, !s) -> (!x, !w, !w)
  %dx = arith.addf %d, %b : !x
  %fy, %fmean, %frstd, %fs = nn.add_layer_norm %a, %b, %w, %c eps 1.0e-5 : (!x, !x, !w, !w) -> (!x, !s, !s, !x)
  %fdx, %fdw, %fdb = nn.add_layer_norm_grad %g, %b, %fs, %w, %fmean, %frstd : (!x, !x, !x, !w, !s, !s) -> (!x, !w, !w)
  return %y, %rstd, %s, %dx, %fy, %frstd, %fs, %fdx : !x, !s, !x, !x, !x, !s, !x, !x
})";

static const char *rmsNormText = R"(
!x = tensor<2x3x4xf64>
!w = tensor<4xf64>
!s = tensor<2x3xf64>
func.func @f(%a: !x, %b: !x, %w: !w, %g: !x) -> (!x, !x, !x, !w, !x, !x, !x, !w) {
  %s = arith.addf %a, %b : !x
  %y, %rstd = nn.rms_norm %s, %w eps 1.0e-5 : (!x, !w) -> (!x, !s)
  %d, %dw = nn.rms_norm_grad %g, %s, %w, %rstd : (!x, !x, !w, !s) -> (!x, !w)
  %dx = arith.addf %d, %b : !x
  %fy, %frstd, %fs = nn.add_rms_norm %a, %b, %w eps 1.0e-5 : (!x, !x, !w) -> (!x, !s, !x)
  %fdx, %fdw = nn.add_rms_norm_grad %g, %b, %fs, %w, %frstd : (!x, !x, !x, !w, !s) -> (!x, !w)
  return %y, %s, %dx, %dw, %fy, %fs, %fdx, %fdw : !x, !x, !x, !w, !x, !x, !x, !w
})";

static void checkHalves(const char *text) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, nn::NNDialect,
                      tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Array> inputs;
  for (Type type : function.getArgumentTypes()) {
    inputs.push_back(Array::zeros(type));
    for (size_t i = 0; i < inputs.back().integers.size(); ++i)
      inputs.back().integers[i] = int64_t(i % 5);
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
  // Whatever follows both halves is the first result again.
  for (size_t i = 8; i < results->size(); ++i)
    EXPECT_NEAR((*results)[i].reals[0], (*results)[0].reals[0], 1e-12);
}

TEST(Fused, IsWhatItStandsFor) {
  checkHalves(text);
  checkHalves(addText);
  checkHalves(weightText);
  checkHalves(lossText);
  checkHalves(layerNormText);
  checkHalves(rmsNormText);
}
