// nn.silu_mul and its gradient against f64, and the gradient against finite
// differences of the forward.
#include "KernelTest.h"

#include <cmath>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The forward in f64.
Values forward(const Array &gate, const Array &up) {
  Values y;
  for (int64_t i = 0; i < gate.size(); ++i)
    y.push_back(gate[i] * sigmoid(gate[i]) * up[i]);
  return y;
}

/// Sizes around a vector, a pack and a thread's share, and none.
const int64_t kSizes[] = {0, 1, 3, 16, 33, 1024, 5000};

std::vector<Array> someInputs(DataType type, int64_t size) {
  return {randomArray(type, {size}, 1), randomArray(type, {size}, 2, 6),
          randomArray(type, {size}, 3)};
}

TEST(KernelSiluMul, Forward) {
  for (DataType type : kFloats)
    for (int64_t size : kSizes) {
      std::vector<Array> inputs = someInputs(type, size);
      inputs.erase(inputs.begin());
      checkKernel(
          makeSpec("nn.silu_mul", inputs, {{type, {size}}}), inputs,
          [](const std::vector<Array> &in) {
            return std::vector<Values>{forward(in[0], in[1])};
          },
          toleranceOf(type));
    }
}

TEST(KernelSiluMul, Gradient) {
  for (DataType type : kFloats)
    for (int64_t size : kSizes) {
      const std::vector<Array> inputs = someInputs(type, size);
      checkKernel(
          makeSpec("nn.silu_mul_grad", inputs,
                   {{type, {size}}, {type, {size}}}),
          inputs,
          [](const std::vector<Array> &in) {
            Values dgate, dup;
            for (int64_t i = 0; i < in[0].size(); ++i) {
              const double x = in[1][i], s = sigmoid(x);
              dgate.push_back(in[0][i] * in[2][i] * s * (1 + x * (1 - s)));
              dup.push_back(in[0][i] * x * s);
            }
            return std::vector<Values>{dgate, dup};
          },
          toleranceOf(type));
    }
}

TEST(KernelSiluMul, GradientIsTheForwardsSlope) {
  const std::vector<Array> inputs = someInputs(DataType::F32, 257);
  const TensorType type = inputs[0].type;
  const std::vector<Array> found =
      runKernel(makeSpec("nn.silu_mul_grad", inputs, {type, type}), inputs);
  constexpr double step = 1e-4;
  for (int64_t i = 0; i < 257; ++i) {
    auto y = [&](double gate, double up) { return gate * sigmoid(gate) * up; };
    const double g = inputs[1][i], u = inputs[2][i], dy = inputs[0][i];
    EXPECT_NEAR(found[0][i],
                dy * (y(g + step, u) - y(g - step, u)) / (2 * step), 1e-5);
    EXPECT_NEAR(found[1][i],
                dy * (y(g, u + step) - y(g, u - step)) / (2 * step), 1e-5);
  }
}

TEST(KernelSiluMul, FarFromZero) {
  Array gate(DataType::F32, {4}), up(DataType::F32, {4});
  const double gates[] = {-200, -100, 100, 3e38};
  for (int64_t i = 0; i < 4; ++i) {
    gate.set(i, gates[i]);
    up.set(i, 1);
  }
  const Array y = runKernel(makeSpec("nn.silu_mul", {gate, up}, {gate.type}),
                            {gate, up})[0];
  EXPECT_NEAR(y[0], 0, 1e-30);
  EXPECT_NEAR(y[1], 0, 1e-30);
  EXPECT_EQ(y[2], 100);
  EXPECT_EQ(y[3], gate[3]);
}

} // namespace
} // namespace zrt::test
