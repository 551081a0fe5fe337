// From operations on tensors, over outlining, to numbers.
#include "CompiledKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace {

uint16_t roundToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

float fromBf16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

TEST(OutlinedKernels, Bf16GroupWithBroadcastRoundsOnce) {
  CompiledKernels kernels(R"(
zero.step @train(%x: tensor<13x37xbf16>, %b: tensor<37xbf16>, %s: tensor<f32>) {
  zero.micro {
    %bias = nn.broadcast %b dims [1] : (tensor<37xbf16>) -> tensor<13x37xbf16>
    %0 = arith.addf %x, %bias : tensor<13x37xbf16>
    %third = arith.constant dense<0.3333> : tensor<13x37xbf16>
    %1 = arith.mulf %0, %third : tensor<13x37xbf16>
    %2 = arith.extf %1 : tensor<13x37xbf16> to tensor<13x37xf32>
    %scale = nn.broadcast %s dims [] : (tensor<f32>) -> tensor<13x37xf32>
    %3 = arith.mulf %2, %scale : tensor<13x37xf32>
    %4 = arith.truncf %3 : tensor<13x37xf32> to tensor<13x37xbf16>
    %5 = nn.softmax %4 : tensor<13x37xbf16>
    %6 = arith.extf %5 : tensor<13x37xbf16> to tensor<13x37xf32>
    %7 = nn.reduce mean %6 dims [0, 1] : (tensor<13x37xf32>) -> tensor<f32>
    zero.yield %7 : tensor<f32>
  }
  zero.apply {
  }
})");
  ASSERT_TRUE(kernels.loaded());
  const auto &kernel = kernels["addf_mulf_extf_0"];
  EXPECT_EQ(kernel.extent, 13 * 37);
  std::vector<uint16_t> x(13 * 37), bias(37), y(13 * 37);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = roundToBf16(std::sin(0.7f * i));
  for (size_t i = 0; i < bias.size(); ++i)
    bias[i] = roundToBf16(std::cos(1.3f * i));
  float scale = 1.7f;
  float third = fromBf16(roundToBf16(0.3333f));
  void *buffers[] = {x.data(), bias.data(), &scale, y.data()};
  kernel.run(buffers, 0, 100);
  kernel.run(buffers, 100, kernel.extent);
  for (size_t i = 0; i < x.size(); ++i) {
    float sum = fromBf16(x[i]) + fromBf16(bias[i % 37]);
    EXPECT_EQ(y[i], roundToBf16((sum * third) * scale)) << i;
  }
}

/// The gradient of both forms of GELU and of SiLU against differences.
TEST(OutlinedKernels, ActivationsAndTheirGradients) {
  for (const char *name : {"gelu tanh", "gelu exact", "silu"}) {
    std::string forward = std::string("nn.") + name;
    std::string op = forward.substr(0, forward.find(' '));
    std::string form = forward.substr(op.size());
    CompiledKernels kernels(R"(
zero.step @train(%x: tensor<201xf32>, %dy: tensor<201xf32>) {
  zero.micro {
    %y = )" + op + form + R"( %x : tensor<201xf32>
    %s = nn.softmax %y : tensor<201xf32>
    %dx = )" + op + "_grad" +
                            form + R"( %dy, %x : tensor<201xf32>
    %a = nn.reduce mean %s dims [0] : (tensor<201xf32>) -> tensor<f32>
    %b = nn.reduce mean %dx dims [0] : (tensor<201xf32>) -> tensor<f32>
    %l = arith.addf %a, %b : tensor<f32>
    zero.yield %l : tensor<f32>
  }
  zero.apply {
  }
})");
    ASSERT_TRUE(kernels.loaded());
    std::string stem = op.substr(3);
    const auto &value = kernels[stem + "_0"];
    const auto &gradient = kernels[stem + "_grad_1"];
    std::vector<float> x(201), dy(201, 2.0f), y(201), dx(201);
    for (int i = 0; i < 201; ++i)
      x[i] = 0.05f * (i - 100);
    void *forwardBuffers[] = {x.data(), y.data()};
    void *backwardBuffers[] = {dy.data(), x.data(), dx.data()};
    value.run(forwardBuffers, 0, 201);
    gradient.run(backwardBuffers, 0, 201);
    auto exact = [&](double v) {
      if (stem == "silu")
        return v / (1 + std::exp(-v));
      if (form == " exact")
        return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      return 0.5 * v *
             (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    };
    for (int i = 0; i < 201; ++i) {
      EXPECT_NEAR(y[i], exact(x[i]), 1e-6 * (1 + std::fabs(x[i]))) << name;
      double slope = (exact(x[i] + 1e-5) - exact(x[i] - 1e-5)) / 2e-5;
      // 1 - tanh^2 in f32 has an absolute error of some 1e-7, times x and more.
      EXPECT_NEAR(dx[i], 2 * slope, 1e-5) << name << " at " << x[i];
    }
  }
}

} // namespace
