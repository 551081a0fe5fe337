//===- ReferenceTest.cpp - the interpreter against PyTorch and by hand ----===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "nlohmann/json.hpp"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>

using namespace mlir;
using namespace mlir::zero;
using nlohmann::json;

namespace {

class ReferenceTest : public ::testing::Test {
protected:
  ReferenceTest() {
    context
        .loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                     nn::NNDialect, tensor::TensorDialect, ZeroDialect>();
  }

  /// Evaluates the one function in `text`.
  FailureOr<std::vector<Array>> run(StringRef text,
                                    const std::vector<Array> &inputs,
                                    InterpreterContext state = {}) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    return Interpreter().run(*module->getOps<func::FuncOp>().begin(), inputs,
                             state);
  }

  MLIRContext context;
};

} // namespace

static Array reals(ArrayRef<int64_t> shape, std::vector<double> values) {
  Array array;
  array.shape.assign(shape.begin(), shape.end());
  array.reals = std::move(values);
  return array;
}

static Array integers(ArrayRef<int64_t> shape, std::vector<int64_t> values) {
  Array array;
  array.shape.assign(shape.begin(), shape.end());
  array.isFloat = false;
  array.integers = std::move(values);
  return array;
}

static Array fromJson(const json &value) {
  auto shape = value["shape"].get<std::vector<int64_t>>();
  const json &values = value["values"];
  if (!values.empty() && values[0].is_number_integer())
    return integers(shape, values.get<std::vector<int64_t>>());
  return reals(shape, values.get<std::vector<double>>());
}

static void expectNear(const Array &found, const Array &wanted) {
  EXPECT_EQ(found.shape, wanted.shape);
  ASSERT_EQ(found.reals.size(), wanted.reals.size());
  for (size_t i = 0; i < wanted.reals.size(); ++i)
    EXPECT_NEAR(found.reals[i], wanted.reals[i],
                1e-12 * (1.0 + std::fabs(wanted.reals[i])))
        << "element " << i;
}

TEST_F(ReferenceTest, AgreesWithPyTorch) {
  std::ifstream file(ZERO_GOLDENS "/reference.json");
  json golden = json::parse(file, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(golden.is_object()) << "no golden at " ZERO_GOLDENS;
  ASSERT_GE(golden["cases"].size(), 20u);
  for (const json &entry : golden["cases"]) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    std::vector<Array> inputs;
    for (const json &input : entry["inputs"])
      inputs.push_back(fromJson(input));
    auto outputs = run(entry["function"].get<std::string>(), inputs);
    ASSERT_TRUE(succeeded(outputs));
    ASSERT_EQ(outputs->size(), entry["outputs"].size());
    for (size_t i = 0; i < outputs->size(); ++i)
      expectNear((*outputs)[i], fromJson(entry["outputs"][i]));
  }
}

TEST_F(ReferenceTest, EmbeddingGradientStartsFromInit) {
  auto outputs = run(R"(
    func.func @f(%dy: tensor<3x1xf64>, %ids: tensor<3xi32>, %i: tensor<2x1xf64>) -> tensor<2x1xf64> {
      %d = nn.embedding_grad %dy, %ids init %i : (tensor<3x1xf64>, tensor<3xi32>, tensor<2x1xf64>) -> tensor<2x1xf64>
      return %d : tensor<2x1xf64>
    })",
                     {reals({3, 1}, {1.0, 2.0, 4.0}), integers({3}, {1, 0, 1}),
                      reals({2, 1}, {10.0, 20.0})});
  ASSERT_TRUE(succeeded(outputs));
  EXPECT_EQ(outputs->front().reals, (std::vector<double>{12.0, 25.0}));
}

static constexpr const char *dropout = R"(
  func.func @f(%x: tensor<4x1000xf64>) -> tensor<4x1000xf64> {
    %y = nn.dropout %x p 0.25 id 7 : tensor<4x1000xf64>
    return %y : tensor<4x1000xf64>
  })";

TEST_F(ReferenceTest, DropoutKeepsTheRightShareAndScalesIt) {
  auto outputs = run(dropout, {reals({4, 1000}, std::vector(4000, 3.0))});
  ASSERT_TRUE(succeeded(outputs));
  int kept = 0;
  for (double value : outputs->front().reals) {
    EXPECT_TRUE(value == 0.0 || value == 4.0);
    kept += value != 0.0;
  }
  // 3000 expected, standard deviation 27.
  EXPECT_NEAR(kept, 3000, 135);
}

TEST_F(ReferenceTest, DropoutIsAFunctionOfTheGlobalSample) {
  Array ones = reals({4, 1000}, std::vector(4000, 1.0));
  InterpreterContext later;
  later.firstSample = 2;
  auto first = run(dropout, {ones}), second = run(dropout, {ones}, later);
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  const std::vector<double> &a = first->front().reals;
  const std::vector<double> &b = second->front().reals;
  EXPECT_TRUE(std::equal(a.begin() + 2000, a.end(), b.begin()));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 2000, b.begin()));
}

TEST_F(ReferenceTest, DropoutIsOffInEvaluation) {
  Array ones = reals({4, 1000}, std::vector(4000, 1.0));
  InterpreterContext evaluating;
  evaluating.evaluating = true;
  auto outputs = run(dropout, {ones}, evaluating);
  ASSERT_TRUE(succeeded(outputs));
  EXPECT_EQ(outputs->front().reals, ones.reals);
}

namespace {

class ReferenceErrorTest : public ReferenceTest {
protected:
  /// The first error of a function with this signature and body.
  std::string errorOf(const std::string &signature, const std::string &body,
                      const std::vector<Array> &inputs) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (message.empty())
        message = diagnostic.str();
      return success();
    });
    auto outputs = run("func.func @f(" + signature + ") {\n" + body +
                           "\nreturn\n}\n"
                           "func.func private @outside()\n"
                           "zero.parameter @p : tensor<2xf64> = #zero.ones",
                       inputs);
    EXPECT_TRUE(failed(outputs)) << body;
    return message;
  }
};

} // namespace

#define EXPECT_SAYS(message, part)                                             \
  EXPECT_PRED2(                                                                \
      [](const std::string &all, const std::string &some) {                    \
        return all.find(some) != std::string::npos;                            \
      },                                                                       \
      message, std::string(part))

TEST_F(ReferenceErrorTest, OfWhatIsNotThere) {
  const char *table = "%ids: tensor<1xi32>, %t: tensor<2x1xf64>";
  const char *lookup =
      "%y = nn.embedding %ids, %t : (tensor<1xi32>, tensor<2x1xf64>) -> "
      "tensor<1x1xf64>";
  Array rows = reals({2, 1}, {1.0, 2.0});
  EXPECT_SAYS(errorOf(table, lookup, {integers({1}, {2}), rows}),
              "id 2 in a table of 2 rows");
  EXPECT_SAYS(errorOf(table, lookup, {integers({2}, {0, 0}), rows}),
              "another shape or kind");
  EXPECT_SAYS(errorOf(table, lookup, {rows}), "takes 2 arguments, found 1");
  EXPECT_SAYS(errorOf("", "func.call @outside() : () -> ()", {}),
              "has no meaning in the interpreter: add a rule for it");
  EXPECT_SAYS(errorOf("", "%r = zero.load @p : tensor<2xf64>", {}),
              "reads parameter @p, which the interpreter was not given");
  EXPECT_SAYS(
      errorOf("", "%c = arith.constant dense_resource<r> : tensor<2xf64>", {}),
      "expected a number or dense elements");
}

TEST_F(ReferenceErrorTest, OfAFunctionWithoutABody) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(run("func.func private @outside()", {})));
  EXPECT_SAYS(message, "cannot be interpreted: expected one region with one "
                       "block");
}

TEST_F(ReferenceErrorTest, OfExperts) {
  Array x = reals({2, 1}, {1.0, 2.0});
  EXPECT_SAYS(
      errorOf("%x: tensor<2x1xf64>, %i: tensor<2x1xi32>",
              "%s, %p, %o = nn.dispatch %x, %i experts 3 : (tensor<2x1xf64>, "
              "tensor<2x1xi32>) -> (tensor<2x1xf64>, tensor<2x1xi32>, "
              "tensor<3xi32>)",
              {x, integers({2, 1}, {0, 3})}),
      "has the expert 3 of 3: experts must be in [0, 3)");
  EXPECT_SAYS(
      errorOf("%x: tensor<2x1xf64>, %i: tensor<2x1xi32>, %o: tensor<2xi32>",
              "%s, %p, %n = nn.capacity_dispatch %x, %i order %o : "
              "(tensor<2x1xf64>, tensor<2x1xi32>, tensor<2xi32>) -> "
              "(tensor<3x1x1xf64>, tensor<2x1xi32>, tensor<3xi32>)",
              {x, integers({2, 1}, {0, 1}), integers({2}, {0, -1})}),
      "has the choice -1 of 2 in its order: choices must be in [0, 2)");
  EXPECT_SAYS(errorOf("%x: tensor<2x1xf64>, %p: tensor<2x1xi32>",
                      "%y = nn.combine %x, %p : (tensor<2x1xf64>, "
                      "tensor<2x1xi32>) -> tensor<2x1xf64>",
                      {x, integers({2, 1}, {-1, 2})}),
              "has the place 2 of 2 rows: places must be in [0, 2), or -1");
  EXPECT_SAYS(
      errorOf("%a: tensor<2x1xf64>, %b: tensor<2x1x1xf64>, %o: tensor<2xi32>",
              "%y = nn.grouped_matmul %a, %b offsets %o : (tensor<2x1xf64>, "
              "tensor<2x1x1xf64>, tensor<2xi32>) -> tensor<2x1xf64>",
              {x, reals({2, 1, 1}, {1.0, 1.0}), integers({2}, {2, 1})}),
      "has the offset 1 after 2: offsets must not decrease, and not exceed the "
      "2 rows");
}

TEST_F(ReferenceErrorTest, OfPositions) {
  Array x = reals({2, 1}, {1.0, 2.0});
  EXPECT_SAYS(errorOf("%x: tensor<2x1xf64>, %i: tensor<1xi32>",
                      "%y = nn.gather %x, %i dim 0 : (tensor<2x1xf64>, "
                      "tensor<1xi32>) -> tensor<1x1xf64>",
                      {x, integers({1}, {2})}),
              "has the position 2 in a dimension of 2: positions must be in "
              "[0, 2)");
  EXPECT_SAYS(errorOf("%l: tensor<2x1xf64>, %t: tensor<2xi32>",
                      "%loss, %lse = nn.cross_entropy %l, %t : "
                      "(tensor<2x1xf64>, tensor<2xi32>) -> (tensor<f64>, "
                      "tensor<2xf64>)",
                      {x, integers({2}, {0, 1})}),
              "has target 1: expected one of 1 classes or -100, which is "
              "ignored");
  EXPECT_SAYS(errorOf("%x: tensor<2x1xf64>, %i: tensor<1x1xi32>",
                      "%y = tensor.gather %x[%i] gather_dims([0]) : "
                      "(tensor<2x1xf64>, tensor<1x1xi32>) -> tensor<1x1xf64>",
                      {x, integers({1, 1}, {-1})}),
              "has an index outside its source");
  EXPECT_SAYS(errorOf("%x: tensor<2x1xf64>",
                      "%i = arith.constant 1 : index\n"
                      "%y = tensor.extract %x[%i, %i] : tensor<2x1xf64>",
                      {x}),
              "has an index outside its tensor");
  EXPECT_SAYS(errorOf("%x: tensor<2x1xf64>",
                      "%i = arith.constant 1 : index\n"
                      "%y = tensor.extract_slice %x[%i, 0] [1, 1] [1, 1] : "
                      "tensor<2x1xf64> to tensor<1x1xf64>",
                      {x}),
              "has dynamic offsets, sizes or strides, and the interpreter "
              "knows static slices only");
}
