// Functions of small arguments and of two operands, in generated kernels.
#include "KernelTesting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

TEST(KernelMathTest, SmallArgumentsKeepTheirBits) {
  // Where a difference of two exponentials, or of angles, loses them.
  std::vector<float> x;
  for (float size = 1e-2f; size > 1e-30f; size /= 7)
    x.insert(x.end(), {size, -size});
  const auto size = static_cast<int64_t>(x.size());
  const std::vector<std::string> names = {"sinh", "tan", "atan", "asin"};
  std::string source;
  for (const std::string &name : names)
    source +=
        flat(name + "_0", size, "f32", "    %r = math." + name + " %a0 : f32");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  for (const std::string &name : names) {
    auto y = run<float, float>(kernels[name + "_0"], {x});
    for (int64_t i = 0; i < size; ++i)
      EXPECT_NEAR(y[i], x[i], std::abs(x[i]) * (1e-6 + x[i] * x[i] / 2))
          << name << " at " << x[i];
  }
}

TEST(KernelMathTest, TwoOperands) {
  auto x = randoms(1000, -3, 3), y = randoms(1000, 0.5, 2);
  const std::vector<std::pair<std::string, double (*)(double, double)>>
      functions = {{"arith.remf", std::fmod},
                   {"math.copysign", std::copysign},
                   {"math.atan2", std::atan2}};
  std::string source;
  for (const auto &[name, reference] : functions)
    source += kernel(
        name.substr(name.find('.') + 1) + "_0", "d0", "1000x",
        {{"d0", "1000xf32", "f32"}, {"d0", "1000xf32", "f32"}}, "f32",
        "    %m = arith.negf %a1 : f32\n    %r = " + name + " %a0, %m : f32");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  for (const auto &[name, reference] : functions) {
    auto z = run<float, float>(kernels[name.substr(name.find('.') + 1) + "_0"],
                               {x, y});
    for (int i = 0; i < 1000; ++i)
      EXPECT_NEAR(z[i], reference(x[i], -y[i]), 1e-6) << name << " at " << x[i];
  }
}

TEST(KernelMathTest, IntegerPowers) {
  auto x = randoms(1000, 0.5, 1.5);
  for (size_t i = 0; i < x.size(); i += 2)
    x[i] = -x[i];
  const std::vector<int> exponents = {0, 1, 2, 3, 7, -1, -4, 65};
  std::string source;
  for (size_t k = 0; k < exponents.size(); ++k)
    source += flat("f_" + std::to_string(k), 1000, "f32",
                   "    %n = arith.constant " + std::to_string(exponents[k]) +
                       " : i32\n    %r = math.fpowi %a0, %n : f32, i32");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  for (size_t k = 0; k < exponents.size(); ++k) {
    auto y = run<float, float>(kernels["f_" + std::to_string(k)], {x});
    for (int i = 0; i < 1000; ++i) {
      const double expected = std::pow(double(x[i]), exponents[k]);
      EXPECT_NEAR(y[i], expected, 2e-6 * std::abs(expected))
          << x[i] << " to the " << exponents[k];
    }
  }
}

TEST(KernelMathTest, ClampsKeepNaN) {
  const std::string body = R"(
    %low = arith.constant -1.0 : f32
    %high = arith.constant 2.0 : f32
    %r = math.clampf %a0 to [%low, %high] : f32)";
  CompiledKernels kernels(flat("f_0", 4, "f32", body));
  ASSERT_TRUE(kernels.loaded());
  auto y = run<float, float>(kernels["f_0"], {{-3.0f, 0.5f, 7.0f, NAN}});
  EXPECT_EQ(y[0], -1.0f);
  EXPECT_EQ(y[1], 0.5f);
  EXPECT_EQ(y[2], 2.0f);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(KernelMathTest, Classifications) {
  const std::vector<float> x = {0.0f,     -1.5f, INFINITY, -INFINITY,
                                NAN,      -NAN,  1e-40f,   -1e-40f,
                                1.2e-38f, 3e38f, -0.0f};
  const auto size = static_cast<int64_t>(x.size());
  const std::vector<std::pair<std::string, bool (*)(float)>> questions = {
      {"isnan", [](float value) { return std::isnan(value); }},
      {"isinf", [](float value) { return std::isinf(value); }},
      {"isfinite", [](float value) { return std::isfinite(value); }},
      {"isnormal", [](float value) { return std::isnormal(value); }}};
  std::string source;
  for (const auto &[name, reference] : questions)
    source += flat(name + "_0", size, "f32",
                   "    %r = math." + name + " %a0 : f32", "i1");
  CompiledKernels kernels(source);
  ASSERT_TRUE(kernels.loaded());
  for (const auto &[name, reference] : questions) {
    auto y = run<float, uint8_t>(kernels[name + "_0"], {x});
    for (int64_t i = 0; i < size; ++i)
      EXPECT_EQ(y[i] != 0, reference(x[i])) << name << " of " << x[i];
  }
}
