// What the polynomials are worth: accuracy, special values, powers.
#include "KernelTesting.h"

#include <cmath>

namespace {

struct Function {
  const char *name;
  double (*reference)(double);
  float low, high;
  double tolerance; ///< relative to max(|value|, floor)
  double floor;
};

TEST(KernelFunctions, Powers) {
  auto power = [](const char *name, const char *exponent) {
    return flat(name, 100, "f32",
                std::string("    %c = arith.constant ") + exponent +
                    " : f32\n    %r = math.powf %a0, %c : f32");
  };
  CompiledKernels kernels(power("square_0", "2.0") + power("cube_0", "3.0") +
                          power("root_0", "2.5"));
  ASSERT_TRUE(kernels.loaded());
  auto x = randoms(100, -3, 3);
  auto square = run<float, float>(kernels["square_0"], {x});
  auto cube = run<float, float>(kernels["cube_0"], {x});
  auto root = run<float, float>(kernels["root_0"], {x});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FLOAT_EQ(square[i], x[i] * x[i]);
    EXPECT_FLOAT_EQ(cube[i], x[i] * x[i] * x[i]);
    if (x[i] < 0)
      EXPECT_TRUE(std::isnan(root[i]));
    else
      EXPECT_FLOAT_EQ(root[i], std::pow(x[i], 2.5f));
  }
}

TEST(KernelFunctions, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, 1e-37f, 100, -100};
  std::string source;
  for (const char *name : {"exp", "tanh", "erf", "sin", "log", "log1p", "atan",
                           "asin", "acos", "sinh"})
    source += flat(std::string(name) + "_0", x.size(), "f32",
                   std::string("    %r = math.") + name + " %a0 : f32");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  auto check = [&](const char *name, double (*reference)(double)) {
    auto y = run<float, float>(kernels[std::string(name) + "_0"], {x});
    for (size_t i = 0; i < x.size(); ++i) {
      float expected = reference(x[i]);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(y[i])) << name << " of " << x[i] << " " << y[i];
      else if (std::isinf(expected))
        EXPECT_EQ(y[i], expected) << name << " of " << x[i];
      else
        EXPECT_NEAR(y[i], expected, 1e-6 * (1 + std::fabs(expected)))
            << name << " of " << x[i];
    }
  };
  check("exp", std::exp);
  check("tanh", std::tanh);
  check("erf", std::erf);
  check("sin", std::sin);
  check("log", std::log);
  check("log1p", std::log1p);
  check("atan", std::atan);
  check("asin", std::asin);
  check("acos", std::acos);
  check("sinh", std::sinh);
}

TEST(KernelFunctions, PolynomialsAreAccurate) {
  const Function functions[] = {
      {"exp", std::exp, -80, 80, 1e-6, 0},
      {"log", std::log, 1e-6f, 1000, 1e-6, 0.1},
      {"log1p", std::log1p, -0.9f, 1000, 1e-6, 0.1},
      {"expm1", std::expm1, -10, 20, 1e-6, 1},
      {"exp2", std::exp2, -80, 80, 1e-6, 0},
      {"log2", std::log2, 1e-6f, 1000, 1e-6, 0.1},
      {"tanh", std::tanh, -12, 12, 1e-6, 0.1},
      {"erf", std::erf, -6, 6, 1e-6, 0.1},
      {"sin", std::sin, -9000, 9000, 1e-6, 0.1},
      {"cos", std::cos, -9000, 9000, 1e-6, 0.1},
      {"tan", std::tan, -1.5f, 1.5f, 1e-6, 0.1},
      {"atan", std::atan, -50, 50, 1e-6, 0},
      {"asin", std::asin, -1, 1, 1e-6, 0},
      {"acos", std::acos, -1, 1, 1e-6, 0.1},
      {"sqrt", std::sqrt, 0, 1e6f, 1e-6, 0},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6f, 1e6f, 1e-6,
       0},
      {"sinh", std::sinh, -80, 80, 2e-6, 0},
      {"asinh", std::asinh, -50, 50, 1e-6, 0.1},
      {"acosh", std::acosh, 1, 50, 1e-6, 0.1},
      {"erfc", std::erfc, -3, 3, 1e-6, 0.1},
      {"log10", std::log10, 1e-6f, 1000, 1e-6, 0.1},
      {"cosh", std::cosh, -8, 8, 2e-6, 1},
      {"cbrt", std::cbrt, -100, 100, 1e-6, 0.1},
      {"atanh", std::atanh, -0.99f, 0.99f, 1e-6, 0.1},
      {"floor", std::floor, -50, 50, 0, 0},
      {"round", std::round, -50, 50, 0, 0},
  };
  std::string source;
  for (const Function &function : functions)
    source +=
        flat(std::string(function.name) + "_0", 4099, "f32",
             std::string("    %r = math.") + function.name + " %a0 : f32");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  for (const Function &function : functions) {
    auto x = randoms(4099, function.low, function.high);
    auto y = run<float, float>(kernels[std::string(function.name) + "_0"], {x});
    double worst = 0, where = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = function.reference(x[i]);
      double scale = std::max(std::fabs(exact), function.floor);
      double error = scale > 0 ? std::fabs(y[i] - exact) / scale : 0;
      if (error > worst) {
        worst = error;
        where = x[i];
      }
    }
    EXPECT_LE(worst, function.tolerance) << function.name << " at " << where;
    RecordProperty(function.name, std::to_string(worst));
  }
}

} // namespace
