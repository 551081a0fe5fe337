// nn.linear_add.
#include "KernelTest.h"

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr int64_t kRows = 45, kDepth = 24, kWidth = 40;

std::vector<Array> operandsOf(DataType type, bool transposed, bool bias) {
  std::vector<Array> x = {randomArray(type, {3, kRows / 3, kDepth}, 1),
                          transposed ? randomArray(type, {kWidth, kDepth}, 2)
                                     : randomArray(type, {kDepth, kWidth}, 2),
                          randomArray(type, {3, kRows / 3, kWidth}, 3, 5)};
  if (bias)
    x.push_back(randomArray(type, {kWidth}, 4));
  return x;
}

TEST(KernelLinearAdd, IsTheProductAndTheSum) {
  for (DataType type : kFloats)
    for (bool transposed : {false, true})
      for (bool bias : {false, true}) {
        const std::vector<Array> x = operandsOf(type, transposed, bias);
        KernelSpec spec = makeSpec("nn.linear_add", x, {x[2].type});
        spec.ints = {{"transposed", {transposed}}, {"bias", {bias}}};
        checkKernel(
            spec, x,
            [&](const std::vector<Array> &in) {
              std::vector<double> y;
              for (int64_t r = 0; r < kRows; ++r)
                for (int64_t n = 0; n < kWidth; ++n) {
                  double sum = in[2][r * kWidth + n] + (bias ? in[3][n] : 0);
                  for (int64_t k = 0; k < kDepth; ++k)
                    sum += in[0][r * kDepth + k] *
                           in[1][transposed ? n * kDepth + k : k * kWidth + n];
                  y.push_back(sum);
                }
              return std::vector<std::vector<double>>{y};
            },
            // Of a product that may be larger than the sum.
            4 * toleranceOf(type));
      }
}

TEST(KernelLinearAdd, ShapesMustFit) {
  const std::vector<Array> x = operandsOf(DataType::F32, false, false);
  KernelSpec spec = makeSpec("nn.linear_add", x, {x[2].type});
  spec.ints = {{"transposed", {0}}, {"bias", {0}}};
  spec.operands[2].shape = {kRows, kWidth};
  EXPECT_THROW(runKernel(spec, x), std::invalid_argument);
}

} // namespace
