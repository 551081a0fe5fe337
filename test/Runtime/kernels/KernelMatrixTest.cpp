// nn.linear and nn.matmul.
#include "KernelTest.h"

#include <cstring>
#include <stdexcept>

namespace zrt::test {
namespace {

struct Shape {
  int64_t batch, m, n, k;
  bool transposedA, transposedB, bias;
};

/// Row-major products in f64.
std::vector<double> multiply(const Shape &s, const Array &a, const Array &b,
                             const Array *bias) {
  std::vector<double> c(s.batch * s.m * s.n);
  for (int64_t q = 0; q < s.batch; ++q)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = bias ? (*bias)[j] : 0;
        for (int64_t l = 0; l < s.k; ++l)
          sum +=
              a[q * s.m * s.k + (s.transposedA ? l * s.m + i : i * s.k + l)] *
              b[q * s.k * s.n + (s.transposedB ? j * s.k + l : l * s.n + j)];
        c[(q * s.m + i) * s.n + j] = sum;
      }
  return c;
}

void checkMatmul(DataType type, const Shape &s) {
  std::vector<int64_t> a = {s.batch, s.m, s.k}, b = {s.batch, s.k, s.n};
  if (s.transposedA)
    std::swap(a[1], a[2]);
  if (s.transposedB)
    std::swap(b[1], b[2]);
  std::vector<Array> inputs = {randomArray(type, a, 1),
                               randomArray(type, b, 2)};
  KernelSpec spec =
      makeSpec("nn.matmul", inputs, {{type, {s.batch, s.m, s.n}}});
  spec.ints["transpose_a"] = {s.transposedA};
  spec.ints["transpose_b"] = {s.transposedB};
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        return std::vector<std::vector<double>>{
            multiply(s, in[0], in[1], nullptr)};
      },
      toleranceOf(type));
}

void checkLinear(DataType type, const Shape &s) {
  std::vector<Array> inputs = {randomArray(type, {s.m, s.k}, 1),
                               randomArray(type,
                                           s.transposedB
                                               ? std::vector<int64_t>{s.n, s.k}
                                               : std::vector<int64_t>{s.k, s.n},
                                           2)};
  if (s.bias)
    inputs.push_back(randomArray(type, {s.n}, 3));
  KernelSpec spec = makeSpec("nn.linear", inputs, {{type, {s.m, s.n}}});
  spec.ints["transposed"] = {s.transposedB};
  spec.ints["bias"] = {s.bias};
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        return std::vector<std::vector<double>>{
            multiply(s, in[0], in[1], s.bias ? &in[2] : nullptr)};
      },
      toleranceOf(type));
}

TEST(KernelMatrix, LinearIsTheProductPlusBias) {
  for (DataType type : kFloats)
    for (bool transposed : {false, true})
      for (bool bias : {false, true}) {
        checkLinear(type, {1, 7, 13, 20, false, transposed, bias});
        checkLinear(type, {1, 150, 200, 97, false, transposed, bias});
      }
}

TEST(KernelMatrix, MatmulOfEveryOrientation) {
  for (DataType type : kFloats)
    for (bool transposedA : {false, true})
      for (bool transposedB : {false, true}) {
        checkMatmul(type, {3, 7, 13, 20, transposedA, transposedB, false});
        checkMatmul(type, {1, 65, 129, 33, transposedA, transposedB, false});
        checkMatmul(type, {1, 1, 1, 1, transposedA, transposedB, false});
      }
}

// Shapes of several blocks, with a tail in both dimensions.
TEST(KernelMatrix, BlocksCoverTheResult) {
  for (DataType type : kFloats) {
    checkMatmul(type, {1, 333, 70, 600, true, false, false});
    checkMatmul(type, {1, 70, 333, 600, false, true, false});
    checkLinear(type, {1, 333, 270, 300, false, false, true});
  }
}

// A long sum into a small result is what oneDNN splits over its threads.
TEST(KernelMatrix, LongSumsHaveEqualBitsOnAnyThreads) {
  for (DataType type : {DataType::F32, DataType::BF16})
    checkMatmul(type, {1, 16, 16, 20000, true, false, false});
}

/// Rows [first, last) of a product are bitwise equal to those of the whole.
void checkRows(DataType type, const Shape &s,
               std::initializer_list<int64_t> bounds) {
  std::vector<int64_t> a = {s.m, s.k}, b = {s.k, s.n};
  if (s.transposedA)
    std::swap(a[0], a[1]);
  if (s.transposedB)
    std::swap(b[0], b[1]);
  std::vector<Array> inputs = {randomArray(type, a, 1),
                               randomArray(type, b, 2)};
  KernelSpec spec = makeSpec("nn.matmul", inputs, {{type, {s.m, s.n}}});
  spec.ints["transpose_a"] = {s.transposedA};
  spec.ints["transpose_b"] = {s.transposedB};
  Array whole = runKernel(spec, inputs)[0];
  for (const int64_t *first = bounds.begin(); first + 1 != bounds.end();
       ++first) {
    KernelSpec block =
        makeSpec("nn.matmul", inputs, {{type, {first[1] - first[0], s.n}}});
    block.ints = spec.ints;
    block.ints["rows"] = {first[0], first[1]};
    for (int threads : {1, 3}) {
      Array part = runKernel(block, inputs, {threads})[0];
      EXPECT_EQ(std::memcmp(part.data(),
                            static_cast<const char *>(whole.data()) +
                                first[0] * s.n * sizeOf(type),
                            part.bytes()),
                0)
          << nameOf(type) << ", rows " << first[0] << " to " << first[1]
          << " of " << s.m << " x " << s.n << ", sums of " << s.k;
    }
  }
}

// Sums long enough for oneDNN to cut them, and ranges that begin and end inside
// its blocks.
TEST(KernelMatrix, RowsHaveTheBitsOfTheWhole) {
  for (DataType type : kFloats) {
    for (bool transposedB : {false, true})
      for (bool transposedA : {false, true})
        checkRows(type, {1, 300, 70, 1500, transposedA, transposedB, false},
                  {0, 1, 64, 100, 192, 299, 300});
    checkRows(type, {1, 2500, 257, 600, true, false, false},
              {0, 1000, 1024, 2048, 2401, 2500});
    checkRows(type, {1, 5, 3, 7, true, false, false}, {0, 2, 5});
  }
}

TEST(KernelMatrix, RefusesRowsThatAreNotThere) {
  std::vector<Array> inputs = {randomArray(DataType::F32, {4, 8}, 1),
                               randomArray(DataType::F32, {8, 3}, 2)};
  KernelSpec spec = makeSpec("nn.matmul", inputs, {{DataType::F32, {2, 3}}});
  spec.ints["rows"] = {3, 5};
  try {
    runKernel(spec, inputs);
    FAIL() << "accepted rows 3 and 4 of 4";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(),
                 "kernel 'nn.matmul': rows are [3, 5], no range of "
                 "the 4 there are");
  }
}

TEST(KernelMatrix, SumsOverNothingAreZeroOrTheBias) {
  for (DataType type : kFloats) {
    std::vector<Array> inputs = {Array(type, {3, 0}), Array(type, {0, 5})};
    KernelSpec spec = makeSpec("nn.matmul", inputs, {{type, {3, 5}}});
    Array zeros = runKernel(spec, inputs)[0];
    inputs.push_back(randomArray(type, {5}, 1));
    spec = makeSpec("nn.linear", inputs, {{type, {3, 5}}});
    spec.ints["bias"] = {1};
    Array rows = runKernel(spec, inputs)[0];
    for (int64_t i = 0; i < zeros.size(); ++i) {
      EXPECT_EQ(zeros[i], 0) << nameOf(type);
      EXPECT_EQ(rows[i], inputs[2][i % 5]) << nameOf(type);
    }
  }
}

TEST(KernelMatrix, RefusesShapesThatDoNotFit) {
  std::vector<Array> inputs = {randomArray(DataType::F32, {4, 8}, 1),
                               randomArray(DataType::F32, {7, 3}, 2)};
  KernelSpec spec = makeSpec("nn.linear", inputs, {{DataType::F32, {4, 3}}});
  try {
    runKernel(spec, inputs);
    FAIL() << "accepted an 8-column operand with a 7-row weight";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "kernel 'nn.linear': w is 7x3xf32, "
                               "wanted 8x3xf32");
  }
}

TEST(KernelMatrix, RefusesTypesThatItHasNoCodeFor) {
  KernelSpec spec;
  spec.name = "nn.linear";
  spec.operands = {{DataType::F64, {4, 8}}, {DataType::F64, {8, 3}}};
  spec.results = {{DataType::F64, {4, 3}}};
  EXPECT_THROW(runKernel(spec, {}), std::invalid_argument);
}

} // namespace
} // namespace zrt::test
