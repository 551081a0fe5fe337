// nn.linear_weight_grad.
#include "KernelTest.h"

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr int64_t kRows = 45, kDepth = 24, kWidth = 40;

std::vector<Array> operandsOf(DataType type) {
  return {randomArray(type, {3, kRows / 3, kWidth}, 1),
          randomArray(type, {3, kRows / 3, kDepth}, 2)};
}

KernelSpec specOf(const std::vector<Array> &x, bool transposed) {
  const DataType type = x[0].type.type;
  std::vector<int64_t> shape = {kDepth, kWidth};
  if (transposed)
    std::swap(shape[0], shape[1]);
  KernelSpec spec =
      makeSpec("nn.linear_weight_grad", x, {{type, shape}, {type, {kWidth}}});
  spec.ints = {{"transposed", {transposed}}};
  return spec;
}

/// Both results, the first one as it is stored.
std::vector<std::vector<double>> gradients(const std::vector<Array> &in,
                                           bool transposed) {
  std::vector<double> dw(kDepth * kWidth, 0), db(kWidth, 0);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t n = 0; n < kWidth; ++n) {
      const double dy = in[0][r * kWidth + n];
      db[size_t(n)] += dy;
      for (int64_t k = 0; k < kDepth; ++k)
        dw[size_t(transposed ? n * kDepth + k : k * kWidth + n)] +=
            dy * in[1][r * kDepth + k];
    }
  return {dw, db};
}

TEST(KernelLinearWeightGrad, IsTheProductAndTheSums) {
  for (DataType type : kFloats)
    for (bool transposed : {false, true}) {
      const std::vector<Array> x = operandsOf(type);
      checkKernel(
          specOf(x, transposed), x,
          [&](const std::vector<Array> &in) {
            return gradients(in, transposed);
          },
          2 * toleranceOf(type));
    }
}

TEST(KernelLinearWeightGrad, ShapesMustFit) {
  const std::vector<Array> x = operandsOf(DataType::F32);
  KernelSpec spec = specOf(x, false);
  spec.ints["transposed"] = {1};
  EXPECT_THROW(runKernel(spec, x), std::invalid_argument);
}

} // namespace
