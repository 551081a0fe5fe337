//===- ComparisonTest.cpp - arith.cmpf, every predicate -------------------===//
//
// Four pairs (less, equal, greater, one NaN) tell all sixteen predicates apart.
//
//===----------------------------------------------------------------------===//

#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

static std::vector<int64_t> compare(MLIRContext &context, StringRef predicate) {
  std::string text =
      "func.func @f(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xi1> {\n"
      "  %c = arith.cmpf " +
      predicate.str() +
      ", %x, %y : tensor<4xf64>\n"
      "  return %c : tensor<4xi1>\n"
      "}\n";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  Array x = Array::zeros(function.getArgumentTypes()[0]), y = x;
  x.reals = {1, 2, 3, std::nan("")};
  y.reals = {2, 2, 2, 2};
  InterpreterContext state;
  auto results = Interpreter().run(function, {x, y}, state);
  EXPECT_TRUE(succeeded(results));
  return succeeded(results) ? results->front().integers
                            : std::vector<int64_t>();
}

TEST(Comparison, EveryPredicate) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect>();
  const std::pair<const char *, std::vector<int64_t>> expected[] = {
      {"false", {0, 0, 0, 0}}, {"true", {1, 1, 1, 1}}, {"oeq", {0, 1, 0, 0}},
      {"ogt", {0, 0, 1, 0}},   {"oge", {0, 1, 1, 0}},  {"olt", {1, 0, 0, 0}},
      {"ole", {1, 1, 0, 0}},   {"one", {1, 0, 1, 0}},  {"ord", {1, 1, 1, 0}},
      {"ueq", {0, 1, 0, 1}},   {"ugt", {0, 0, 1, 1}},  {"uge", {0, 1, 1, 1}},
      {"ult", {1, 0, 0, 1}},   {"ule", {1, 1, 0, 1}},  {"une", {1, 0, 1, 1}},
      {"uno", {0, 0, 0, 1}}};
  for (const auto &[predicate, result] : expected)
    EXPECT_EQ(compare(context, predicate), result) << predicate;
}
