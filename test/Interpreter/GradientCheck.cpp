//===- GradientCheck.cpp - gradients against finite differences -----------===//

#include "GradientCheck.h"

#include "zero/Transforms/Differentiation.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::test;

using Arrays = std::vector<Array>;

static bool isReal(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

namespace {

/// One function with its inputs.
class Check {
public:
  Check(func::FuncOp function, const Interpreter &interpreter)
      : function(function), interpreter(interpreter) {}

  std::vector<std::string> run();

private:
  Array makeInput(unsigned argument);
  double nextReal(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  Array randomLike(Type type);

  double evaluate(const Arrays &at);
  double slope(const Arrays &direction);
  Arrays gradients(ArrayRef<unsigned> wanted);
  void checkSeeds(ArrayRef<unsigned> wanted);
  void checkAlone(unsigned argument, const Array &together);
  void fail(std::string what) {
    faults.push_back(function.getSymName().str() + ": " + what);
  }

  func::FuncOp function;
  const Interpreter &interpreter;
  std::minstd_rand random{1};
  Arrays inputs;
  /// u: one array an output; integers and outputs left out are zero.
  Arrays seeds;
  bool nonZero = false;
  std::vector<std::string> faults;
};

} // namespace

static double dot(const Array &x, const Array &y) {
  double sum = 0.0;
  for (size_t i = 0; i < x.reals.size(); ++i)
    sum += x.reals[i] * y.reals[i];
  return sum;
}

Array Check::randomLike(Type type) {
  Array array = Array::zeros(type);
  for (double &value : array.reals)
    value = nextReal(-1.0, 1.0);
  return array;
}

Array Check::makeInput(unsigned argument) {
  Type type = function.getArgumentTypes()[argument];
  auto range = function.getArgAttrOfType<ArrayAttr>(argument, "gradient.range");
  Array array = Array::zeros(type);
  if (!array.isFloat) {
    if (!range) {
      fail(llvm::formatv("argument {0} has integers and no gradient.range",
                         argument));
      return array;
    }
    std::uniform_int_distribution<int64_t> distribution(
        cast<IntegerAttr>(range[0]).getInt(),
        cast<IntegerAttr>(range[1]).getInt() - 1);
    for (int64_t &value : array.integers)
      value = distribution(random);
    return array;
  }
  for (double &value : array.reals) {
    if (range) {
      value = nextReal(cast<FloatAttr>(range[0]).getValueAsDouble(),
                       cast<FloatAttr>(range[1]).getValueAsDouble());
      continue;
    }
    double magnitude = nextReal(0.25, 1.25);
    value = nextReal(-1.0, 1.0) < 0.0 ? -magnitude : magnitude;
  }
  return array;
}

/// The weighted sum of the outputs, <u, f(at)>.
double Check::evaluate(const Arrays &at) {
  InterpreterContext context;
  FailureOr<Arrays> outputs = interpreter.run(function, at, context);
  if (failed(outputs)) {
    fail("cannot be evaluated");
    return NAN;
  }
  double sum = 0.0;
  for (auto [output, seed] : llvm::zip_equal(*outputs, seeds))
    sum += dot(output, seed);
  return sum;
}

/// The derivative of <u, f> along `direction` at the inputs: central
/// differences at two step sizes, extrapolated, so that the error is of the
/// fourth order.
double Check::slope(const Arrays &direction) {
  auto difference = [&](double step) {
    Arrays forward = inputs, backward = inputs;
    for (size_t a = 0; a < inputs.size(); ++a)
      for (size_t i = 0; i < direction[a].reals.size(); ++i) {
        forward[a].reals[i] += step * direction[a].reals[i];
        backward[a].reals[i] -= step * direction[a].reals[i];
      }
    return (evaluate(forward) - evaluate(backward)) / (2.0 * step);
  };
  constexpr double step = 2e-4;
  return (4.0 * difference(step / 2.0) - difference(step)) / 3.0;
}

/// Clones the function, appends the seeds to its arguments, builds the
/// backward, returns the gradients of the `wanted` arguments, and evaluates.
Arrays Check::gradients(ArrayRef<unsigned> wanted) {
  func::FuncOp clone = function.clone();
  Block &block = clone.getBody().front();
  Operation *terminator = block.getTerminator();
  SmallVector<GradientSeed> outputs;
  Arrays arguments = inputs;
  for (auto [index, output] : llvm::enumerate(terminator->getOperands())) {
    // An output whose weights are zero is not seeded at all.
    if (dot(seeds[index], seeds[index]) == 0.0)
      continue;
    outputs.push_back(
        {output, block.addArgument(output.getType(), output.getLoc())});
    arguments.push_back(seeds[index]);
  }
  SmallVector<GradientVariable> variables;
  for (unsigned argument : wanted)
    variables.push_back({{block.getArgument(argument)}});

  OpBuilder builder(terminator);
  SmallVector<Value> built(wanted.size());
  Arrays result;
  for (unsigned argument : wanted)
    result.push_back(Array::zeros(function.getArgumentTypes()[argument]));
  auto complete = [&](unsigned variable, Value gradient) {
    built[variable] = gradient;
  };
  if (failed(differentiate(builder, block, outputs, variables, complete))) {
    fail("cannot be differentiated");
    clone.erase();
    return result;
  }
  SmallVector<Value> returned;
  for (Value gradient : built)
    if (gradient)
      returned.push_back(gradient);
  terminator->setOperands(returned);
  clone.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), ValueRange(returned).getTypes()));
  clone.removeArgAttrsAttr();
  if (failed(verify(clone)))
    fail("has a backward that does not verify");

  InterpreterContext context;
  FailureOr<Arrays> values = interpreter.run(clone, arguments, context);
  clone.erase();
  if (failed(values)) {
    fail("has a backward that cannot be evaluated");
    return result;
  }
  auto next = values->begin();
  for (auto [value, gradient] : llvm::zip_equal(built, result))
    if (value)
      gradient = *next++;
  return result;
}

void Check::checkAlone(unsigned argument, const Array &together) {
  Array alone = gradients({argument}).front();
  for (size_t i = 0; i < alone.reals.size(); ++i)
    if (!(std::fabs(alone.reals[i] - together.reals[i]) <=
          1e-12 * (1.0 + std::fabs(together.reals[i])))) {
      fail(llvm::formatv(
          "argument {0}, element {1}: the gradient is {2:e9} when "
          "it alone is wanted, and {3:e9} with the others",
          argument, i, alone.reals[i], together.reals[i]));
      return;
    }
}

void Check::checkSeeds(ArrayRef<unsigned> wanted) {
  Arrays found = gradients(wanted);
  if (!faults.empty())
    return;
  Arrays direction, zeros;
  for (const Array &input : inputs) {
    zeros.push_back(input);
    llvm::fill(zeros.back().reals, 0.0);
  }
  direction = zeros;
  double product = 0.0;
  for (auto [argument, gradient] : llvm::zip_equal(wanted, found)) {
    double largest = 0.0;
    for (double value : gradient.reals)
      largest = std::fmax(largest, std::fabs(value));
    nonZero |= largest > 0.0;
    for (size_t i = 0; i < gradient.reals.size(); ++i) {
      Arrays unit = zeros;
      unit[argument].reals[i] = 1.0;
      double expected = slope(unit);
      if (!(std::fabs(gradient.reals[i] - expected) <=
            1e-6 * std::fmax(largest, 1e-3))) {
        fail(llvm::formatv("argument {0}, element {1}: the gradient is {2:e9}, "
                           "finite differences give {3:e9}",
                           argument, i, gradient.reals[i], expected));
        return;
      }
    }
    direction[argument] = randomLike(function.getArgumentTypes()[argument]);
    product += dot(direction[argument], gradient);
    if (wanted.size() > 1)
      checkAlone(argument, gradient);
  }
  double expected = slope(direction);
  if (!(std::fabs(product - expected) <= 1e-8 * (1.0 + std::fabs(expected))))
    fail(llvm::formatv("<v, J'u> is {0:e9}, <Jv, u> is {1:e9}", product,
                       expected));
}

std::vector<std::string> Check::run() {
  random.seed(static_cast<unsigned>(llvm::xxh3_64bits(function.getSymName())));
  SmallVector<unsigned> wanted;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    inputs.push_back(makeInput(index));
    if (isReal(type) && !function.getArgAttr(index, "gradient.fixed"))
      wanted.push_back(index);
  }
  if (wanted.empty())
    fail("has no argument to differentiate for");
  SmallVector<unsigned> outputs;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    seeds.push_back(randomLike(type));
    if (isReal(type))
      outputs.push_back(index);
  }
  if (outputs.empty())
    fail("has no output to differentiate");
  if (!faults.empty())
    return faults;

  checkSeeds(wanted);
  Arrays all = seeds;
  for (unsigned output : outputs) {
    if (outputs.size() == 1 || !faults.empty())
      break;
    for (Array &seed : seeds)
      llvm::fill(seed.reals, 0.0);
    seeds[output] = all[output];
    checkSeeds(wanted);
  }
  if (faults.empty() && nonZero == function->hasAttr("gradient.zero"))
    fail(nonZero ? "has a gradient, and is marked gradient.zero"
                 : "has a gradient that is zero everywhere, which says "
                   "little: choose other inputs, or mark it gradient.zero");
  return faults;
}

std::vector<std::string>
mlir::zero::test::checkGradients(func::FuncOp function,
                                 const Interpreter &interpreter) {
  return Check(function, interpreter).run();
}
