// Generated kernels against plain loops: values, every split of the range,
// rounding, broadcasts, and what the polynomials are worth.
#include "CompiledKernels.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

namespace {

/// A kernel over tensor<`shape`>: `arguments` are "map|type" pairs as MLIR
/// wants them, `body` computes %r of type `result` from %a0, %a1, ...
struct Input {
  std::string map, tensor, element;
};

std::string kernel(const std::string &name, const std::string &dims,
                   const std::string &shape, const std::vector<Input> &inputs,
                   const std::string &result, const std::string &body) {
  std::string identity = "affine_map<(" + dims + ") -> (" + dims + ")>";
  std::string arguments, maps, names, types, blockArguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i), comma = i ? ", " : "";
    arguments += comma + "%x" + n + ": tensor<" + inputs[i].tensor + ">";
    maps += "affine_map<(" + dims + ") -> (" + inputs[i].map + ")>, ";
    names += comma + "%x" + n;
    types += comma + "tensor<" + inputs[i].tensor + ">";
    blockArguments += "%a" + n + ": " + inputs[i].element + ", ";
  }
  size_t rank =
      dims.empty() ? 0 : 1 + std::count(dims.begin(), dims.end(), ',');
  std::string iterators;
  for (size_t i = 0; i < rank; ++i)
    iterators += i ? ", \"parallel\"" : "\"parallel\"";
  std::string type = "tensor<" + shape + result + ">";
  return "func.func private @" + name + "(" + arguments + ") -> " + type +
         " {\n  %e = tensor.empty() : " + type +
         "\n  %g = linalg.generic {indexing_maps = [" + maps + identity +
         "], iterator_types = [" + iterators + "]} ins(" + names + " : " +
         types + ") outs(%e : " + type + ") {\n  ^bb0(" + blockArguments +
         "%o: " + result + "):\n" + body + "\n    linalg.yield %r : " + result +
         "\n  } -> " + type + "\n  return %g : " + type + "\n}\n";
}

std::string flat(const std::string &name, int64_t size,
                 const std::string &element, const std::string &body,
                 const std::string &result = "") {
  std::string n = std::to_string(size) + "x";
  return kernel(name, "d0", n, {{"d0", n + element, element}},
                result.empty() ? element : result, body);
}

std::vector<float> randoms(size_t size, float low, float high) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(size);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

template <typename In, typename Out>
std::vector<Out> run(const zrt::GeneratedKernel &kernel,
                     const std::vector<std::vector<In>> &inputs,
                     std::vector<int64_t> cuts = {}) {
  // Elements beyond the end must stay as they are.
  std::vector<Out> out(kernel.extent + 64, Out(7));
  std::vector<void *> buffers;
  for (const auto &input : inputs)
    buffers.push_back(const_cast<In *>(input.data()));
  buffers.push_back(out.data());
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(kernel.extent);
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    kernel.run(buffers.data(), cuts[i], cuts[i + 1]);
  for (size_t i = kernel.extent; i < out.size(); ++i)
    EXPECT_EQ(out[i], Out(7)) << "written past the end, at " << i;
  out.resize(kernel.extent);
  return out;
}

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

/// Kernels for machines with shorter vectors compute the same bits.
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

struct Function {
  const char *name;
  double (*reference)(double);
  float low, high;
  double tolerance; ///< relative to max(|value|, floor)
  double floor;
};

TEST(KernelCode, Powers) {
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

TEST(KernelCode, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, 1e-37f, 100, -100};
  std::string source;
  for (const char *name : {"exp", "tanh", "erf", "sin", "log", "log1p"})
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
}

TEST(KernelCode, PolynomialsAreAccurate) {
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
      {"atan", std::atan, -50, 50, 1e-6, 0.1},
      {"sqrt", std::sqrt, 0, 1e6f, 1e-6, 0},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-6f, 1e6f, 1e-6,
       0},
      {"sinh", std::sinh, -8, 8, 2e-6, 1},
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

/// Not a test of speed as such (machines are shared), but of vectors: scalar
/// code takes 14 ms and more here, vectors half a millisecond.
TEST(KernelCode, TanhGeluIsVectorised) {
  const int64_t size = 1 << 20;
  CompiledKernels kernels(flat("gelu_0", size, "f32", kTanhGelu));
  ASSERT_TRUE(kernels.loaded());
  auto x = randoms(size, -4, 4);
  std::vector<float> y(size);
  void *buffers[] = {x.data(), y.data()};
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    auto start = std::chrono::steady_clock::now();
    kernels["gelu_0"].run(buffers, 0, size);
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count());
  }
  std::printf("tanh-GELU of 2^20 f32: %.3f ms\n", best * 1e3);
  EXPECT_LT(best, 6e-3);
}

} // namespace
