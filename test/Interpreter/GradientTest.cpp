//===- GradientTest.cpp - every operation's gradient ----------------------===//
//
// Runs the check on every function of test/Gradients, and sees that no
// differentiable operation is missing there. Broken gradients, given to the
// check on purpose, must be found.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/UpstreamModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::zero;

namespace {

struct Functions {
  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<func::FuncOp> functions;

  Functions() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    nn::NNDialect, tensor::TensorDialect>();
    registerUpstreamGradientModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    // The `gradient.` attributes belong to no dialect.
    context.allowUnregisteredDialects();

    std::error_code error;
    std::vector<std::string> paths;
    for (llvm::sys::fs::directory_iterator file(ZERO_GRADIENTS, error), end;
         file != end && !error; file.increment(error))
      if (StringRef(file->path()).ends_with(".mlir"))
        paths.push_back(file->path());
    std::sort(paths.begin(), paths.end());
    for (const std::string &path : paths) {
      auto module = parseSourceFile<ModuleOp>(path, &context);
      if (!module) {
        ADD_FAILURE() << path << " does not parse";
        continue;
      }
      for (auto function : module->getOps<func::FuncOp>())
        functions.push_back(function);
      modules.push_back(std::move(module));
    }
  }

  func::FuncOp find(StringRef name) {
    for (func::FuncOp function : functions)
      if (function.getSymName() == name)
        return function;
    return nullptr;
  }
};

Functions &getFunctions() {
  static Functions functions;
  return functions;
}

class GradientTest : public ::testing::TestWithParam<std::string> {};

} // namespace

TEST_P(GradientTest, IsThatOfTheForward) {
  func::FuncOp function = getFunctions().find(GetParam());
  for (const std::string &fault : test::checkGradients(function, Interpreter()))
    ADD_FAILURE() << fault;
}

static std::vector<std::string> names() {
  std::vector<std::string> result;
  for (func::FuncOp function : getFunctions().functions)
    result.push_back(function.getSymName().str());
  return result;
}

INSTANTIATE_TEST_SUITE_P(Functions, GradientTest, ::testing::ValuesIn(names()),
                         [](const ::testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });

TEST(GradientCoverageTest, EveryDifferentiableOperationHasAFunction) {
  llvm::StringMap<bool> used;
  for (func::FuncOp function : getFunctions().functions)
    function->walk(
        [&](Operation *op) { used[op->getName().getStringRef()] = true; });
  int differentiable = 0;
  for (RegisteredOperationName name :
       getFunctions().context.getRegisteredOperations()) {
    if (!name.hasInterface<DifferentiableOpInterface>())
      continue;
    ++differentiable;
    EXPECT_TRUE(used.contains(name.getStringRef()))
        << name.getStringRef().str() << " implements DifferentiableOpInterface "
        << "and no function in test/Gradients uses it: add one a variant";
  }
  EXPECT_GT(differentiable, 50);
}

TEST(GradientCoverageTest, EveryNNOperationHasAMeaning) {
  Interpreter interpreter;
  for (RegisteredOperationName name :
       getFunctions().context.getRegisteredOperations())
    if (name.getDialectNamespace() == "nn") {
      EXPECT_TRUE(interpreter.getRules().find(name.getStringRef()))
          << name.getStringRef().str() << " has no rule in lib/Interpreter";
    }
}

TEST(GradientCoverageTest, NamesAreUnique) {
  std::vector<std::string> sorted = names();
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

namespace {

/// An interpreter in which `OpT`'s first result has an error of 1e-5 relative
/// in its first element: what a slightly wrong gradient kernel would compute.
template <typename OpT> Interpreter broken() {
  Interpreter interpreter;
  EvaluationRule right = *interpreter.getRules().find(OpT::getOperationName());
  interpreter.getRules().template add<OpT>([right](OpT op, Evaluation &e) {
    LogicalResult result = right(op, e);
    e.out[0].reals[0] *= 1.0 + 1e-5;
    return result;
  });
  return interpreter;
}

} // namespace

TEST(GradientCheckTest, FindsASlightlyWrongGradient) {
  auto faults = [](StringRef name, const Interpreter &interpreter) {
    return test::checkGradients(getFunctions().find(name), interpreter);
  };
  EXPECT_FALSE(faults("softmax", broken<nn::SoftmaxGradOp>()).empty());
  EXPECT_FALSE(faults("layer_norm", broken<nn::LayerNormGradOp>()).empty());
  EXPECT_FALSE(faults("attention", broken<nn::AttentionGradOp>()).empty());
  EXPECT_FALSE(faults("embedding", broken<nn::EmbeddingGradOp>()).empty());
}

TEST(GradientCheckTest, FindsAGradientThatIsLeftOut) {
  // sin's rule builds math.cos, here evaluated as zero: no gradient at all.
  Interpreter interpreter;
  interpreter.getRules().add<math::CosOp>(
      [](math::CosOp, Evaluation &) { return success(); });
  EXPECT_FALSE(
      test::checkGradients(getFunctions().find("sin"), interpreter).empty());
}
