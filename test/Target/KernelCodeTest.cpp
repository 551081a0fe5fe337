// Generated kernels against plain loops: values, every split of the range,
// rounding and broadcasts.
#include "KernelTesting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace {

const std::string kTanhGelu = R"(
    %c = arith.constant 0.044715 : f32
    %s = arith.constant 0.797884583 : f32
    %h = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.mulf %a0, %a0 : f32
    %1 = arith.mulf %0, %a0 : f32
    %2 = arith.mulf %1, %c : f32
    %3 = arith.addf %a0, %2 : f32
    %4 = arith.mulf %3, %s : f32
    %5 = math.tanh %4 : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.mulf %a0, %h : f32
    %r = arith.mulf %7, %6 : f32)";

float tanhGelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}

uint16_t roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

TEST(KernelCode, TanhGeluOnOddSizes) {
  for (int64_t size : {1, 2, 15, 16, 17, 31, 63, 1000, 4097}) {
    CompiledKernels kernels(flat("gelu_0", size, "f32", kTanhGelu));
    ASSERT_TRUE(kernels.loaded());
    EXPECT_EQ(kernels["gelu_0"].extent, size);
    EXPECT_GT(kernels["gelu_0"].grain, 0);
    auto x = randoms(size, -6, 6);
    auto y = run<float, float>(kernels["gelu_0"], {x});
    for (int64_t i = 0; i < size; ++i)
      EXPECT_NEAR(y[i], tanhGelu(x[i]), 2e-6) << "at " << x[i];
  }
}

TEST(KernelCode, SplitsGiveEqualBits) {
  CompiledKernels kernels(flat("gelu_0", 257, "f32", kTanhGelu));
  ASSERT_TRUE(kernels.loaded());
  auto x = randoms(257, -6, 6);
  auto whole = run<float, float>(kernels["gelu_0"], {x});
  for (int64_t cut = 0; cut <= 257; ++cut) {
    auto parts = run<float, float>(kernels["gelu_0"], {x}, {cut / 2, cut});
    ASSERT_EQ(0, std::memcmp(whole.data(), parts.data(), 257 * 4)) << cut;
  }
}

TEST(KernelCode, InPlace) {
  CompiledKernels kernels(flat("gelu_0", 100, "f32", kTanhGelu));
  ASSERT_TRUE(kernels.loaded());
  auto x = randoms(100, -6, 6);
  auto y = run<float, float>(kernels["gelu_0"], {x});
  void *buffers[] = {x.data(), x.data()};
  kernels["gelu_0"].run(buffers, 0, 100);
  EXPECT_EQ(x, y);
}

/// Kernels for machines with shorter vectors give bitwise equal results.
TEST(KernelCode, WidthsAndCpusGiveEqualBits) {
  auto x = randoms(1000, -6, 6);
  const std::string toHalf = "\n    %q = arith.truncf %p : f32 to bf16"
                             "\n    %r = arith.extf %q : bf16 to f32";
  std::string rounded = kTanhGelu;
  rounded.replace(rounded.rfind("%r ="), 4, "%p =");
  std::vector<std::vector<float>> results;
  auto compute = [&](const char *cpu, unsigned width) {
    mlir::zero::TargetOptions options;
    options.cpu = cpu;
    options.vectorWidth = width;
    CompiledKernels kernels(flat("gelu_0", 1000, "f32", kTanhGelu) +
                                flat("half_1", 1000, "f32", rounded + toHalf),
                            options);
    ASSERT_TRUE(kernels.loaded());
    for (const char *name : {"gelu_0", "half_1"})
      results.push_back(run<float, float>(kernels[name], {x}));
  };
  compute("native", 4);
  compute("native", 8);
  compute("native", 16);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    compute("x86-64-v3", 0);
  if (__builtin_cpu_supports("avx512bw"))
    compute("x86-64-v4", 0);
  for (size_t i = 2; i < results.size(); ++i)
    EXPECT_EQ(results[i], results[i % 2]) << i;
}

TEST(KernelCode, Bf16RoundsToNearestEvenOnce) {
  const std::string body = R"(
    %0 = arith.extf %a0 : bf16 to f32
    %1 = arith.extf %a1 : bf16 to f32
    %2 = arith.addf %0, %1 : f32
    %r = arith.truncf %2 : f32 to bf16)";
  const int64_t size = 65536;
  CompiledKernels kernels(
      kernel("add_0", "d0", "65536x",
             {{"d0", "65536xbf16", "bf16"}, {"d0", "65536xbf16", "bf16"}},
             "bf16", body));
  ASSERT_TRUE(kernels.loaded());
  std::vector<uint16_t> x(size), y(size);
  for (int64_t i = 0; i < size; ++i) { // every bf16 value is an x
    x[i] = i;
    y[i] = uint16_t(i * 40503);
  }
  auto z = run<uint16_t, uint16_t>(kernels["add_0"], {x, y}, {13, 5000});
  for (int64_t i = 0; i < size; ++i) {
    float sum = fromBf16(x[i]) + fromBf16(y[i]);
    if (std::isnan(sum))
      EXPECT_TRUE(std::isnan(fromBf16(z[i]))) << i;
    else
      EXPECT_EQ(z[i], roundToBf16(sum)) << i << " " << sum;
  }
}

TEST(KernelCode, Bf16ScalarsNeedNoLibrary) {
  // One scalar for each row, for CPUs that have no conversion of their own.
  const std::string body = R"(
    %0 = arith.extf %a0 : bf16 to f32
    %1 = arith.extf %a1 : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %r = arith.truncf %2 : f32 to bf16)";
  for (const char *cpu : {"x86-64-v2", "native"}) {
    mlir::zero::TargetOptions options;
    options.cpu = cpu;
    CompiledKernels kernels(
        kernel("mul_0", "d0, d1", "3x19x",
               {{"d0, d1", "3x19xbf16", "bf16"}, {"d0", "3xbf16", "bf16"}},
               "bf16", body),
        options);
    ASSERT_TRUE(kernels.loaded()) << cpu;
    std::vector<uint16_t> x(57), scale(3);
    for (int i = 0; i < 57; ++i)
      x[i] = roundToBf16(0.37f * i - 9);
    for (int i = 0; i < 3; ++i)
      scale[i] = roundToBf16(1.3f - i);
    auto y = run<uint16_t, uint16_t>(kernels["mul_0"], {x, scale}, {25});
    for (int i = 0; i < 57; ++i)
      EXPECT_EQ(y[i], roundToBf16(fromBf16(x[i]) * fromBf16(scale[i / 19])))
          << cpu << " " << i;
  }
}

TEST(KernelCode, F16RoundsToNearestEven) {
  const std::string body = R"(
    %0 = arith.extf %a0 : f16 to f32
    %c = arith.constant 1.7 : f32
    %1 = arith.mulf %0, %c : f32
    %r = arith.truncf %1 : f32 to f16)";
  CompiledKernels kernels(flat("mul_0", 65536, "f16", body));
  ASSERT_TRUE(kernels.loaded());
  std::vector<uint16_t> x(65536);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = i;
  auto y = run<uint16_t, uint16_t>(kernels["mul_0"], {x});
  for (size_t i = 0; i < x.size(); ++i) {
    _Float16 in, out;
    std::memcpy(&in, &x[i], 2);
    std::memcpy(&out, &y[i], 2);
    _Float16 expected = _Float16(float(in) * 1.7f);
    if (expected != expected)
      EXPECT_TRUE(out != out);
    else
      EXPECT_EQ(float(out), float(expected)) << i;
  }
}

TEST(KernelCode, BroadcastsAreIndexed) {
  // [3, 5, 7] of full + row vector + plane constant along the row + scalar.
  const std::string body = R"(
    %0 = arith.addf %a0, %a1 : f32
    %1 = arith.addf %0, %a2 : f32
    %2 = arith.addf %1, %a3 : f32
    %r = arith.mulf %2, %a4 : f32)";
  CompiledKernels kernels(kernel("mix_0", "d0, d1, d2", "3x5x7x",
                                 {{"d0, d1, d2", "3x5x7xf32", "f32"},
                                  {"d2", "7xf32", "f32"},
                                  {"d0, d2", "3x7xf32", "f32"},
                                  {"d1", "5xf32", "f32"},
                                  {"", "f32", "f32"}},
                                 "f32", body));
  ASSERT_TRUE(kernels.loaded());
  auto full = randoms(105, -1, 1), row = randoms(7, -2, 2),
       plane = randoms(21, -3, 3), column = randoms(5, -4, 4),
       scale = std::vector<float>{1.5f};
  EXPECT_EQ(kernels["mix_0"].extent, 105);
  for (int64_t cut : {0, 1, 6, 7, 8, 35, 50, 104}) {
    auto y = run<float, float>(kernels["mix_0"],
                               {full, row, plane, column, scale}, {cut});
    for (int i = 0; i < 105; ++i) {
      int a = i / 35, b = i / 7 % 5, c = i % 7;
      float expected =
          (((full[i] + row[c]) + plane[a * 7 + c]) + column[b]) * scale[0];
      EXPECT_EQ(y[i], expected) << i << " cut " << cut;
    }
  }
}

TEST(KernelCode, TruthValuesTakeAByte) {
  const std::string body = R"(
    %zero = arith.constant 0.0 : f32
    %r = arith.cmpf ogt, %a0, %zero : f32)";
  const std::string select = R"(
    %zero = arith.constant 0.0 : f32
    %r = arith.select %a0, %a1, %zero : f32)";
  CompiledKernels kernels(
      flat("cmp_0", 37, "f32", body, "i1") +
      kernel("select_0", "d0", "37x",
             {{"d0", "37xi1", "i1"}, {"d0", "37xf32", "f32"}}, "f32", select));
  ASSERT_TRUE(kernels.loaded());
  auto x = randoms(37, -1, 1);
  auto mask = run<float, uint8_t>(kernels["cmp_0"], {x});
  std::vector<float> y(37);
  void *buffers[] = {mask.data(), x.data(), y.data()};
  kernels["select_0"].run(buffers, 0, 37);
  for (int i = 0; i < 37; ++i) {
    EXPECT_EQ(mask[i], x[i] > 0);
    EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0);
  }
}

TEST(KernelCode, IntegerDivisionDoesNotTrapInTheTail) {
  const std::string body = "    %r = arith.divsi %a0, %a1 : i32";
  CompiledKernels kernels(
      kernel("div_0", "d0", "21x",
             {{"d0", "21xi32", "i32"}, {"d0", "21xi32", "i32"}}, "i32", body));
  ASSERT_TRUE(kernels.loaded());
  std::vector<int32_t> x(21), y(21);
  for (int i = 0; i < 21; ++i) {
    x[i] = i * 1000 - 10000;
    y[i] = i - 30;
  }
  auto z = run<int32_t, int32_t>(kernels["div_0"], {x, y});
  for (int i = 0; i < 21; ++i)
    EXPECT_EQ(z[i], x[i] / y[i]);
}

TEST(KernelCode, RankZero) {
  CompiledKernels kernels(kernel("add_0", "", "",
                                 {{"", "f32", "f32"}, {"", "f32", "f32"}},
                                 "f32", "    %r = arith.addf %a0, %a1 : f32"));
  ASSERT_TRUE(kernels.loaded());
  EXPECT_EQ((run<float, float>(kernels["add_0"], {{1.5f}, {2.25f}})),
            std::vector<float>{3.75f});
}

TEST(KernelCode, ProgramIsEmbedded) {
  std::string bytes("a\0b\xff", 4);
  CompiledKernels kernels(flat("gelu_0", 8, "f32", kTanhGelu), {}, bytes);
  ASSERT_TRUE(kernels.loaded());
  EXPECT_EQ(kernels.program(), bytes);
}

/// Scalar code takes more than twenty times as long.
TEST(KernelCode, TanhGeluIsVectorised) {
  mlir::zero::TargetOptions options;
  options.cpu = "x86-64-v3";
  options.vectorWidth = 8;
  const std::string source = flat("gelu_0", 1 << 20, "f32", kTanhGelu);
  const std::string code = optimizedCode(source, options);
  for (const char *vector : {"load <8 x float>", "fmul <8 x float>",
                             "fdiv <8 x float>", "store <8 x float>"})
    EXPECT_NE(code.find(vector), std::string::npos) << vector << "\n" << code;
  EXPECT_EQ(code.find("@tanh"), std::string::npos) << code;
  options.vectorWidth = 1;
  EXPECT_EQ(optimizedCode(source, options).find("<8 x float>"),
            std::string::npos);
}

} // namespace
