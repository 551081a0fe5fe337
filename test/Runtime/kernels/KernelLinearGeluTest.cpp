// nn.linear_gelu and nn.linear_gelu_grad.
#include "KernelTest.h"

#include <cmath>

using namespace zrt;
using namespace zrt::test;

namespace {

double tanhOf(double x) {
  return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
double gelu(double x) { return 0.5 * x * (1 + tanhOf(x)); }
double derivative(double x) {
  const double t = tanhOf(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) *
                             (1 + 3 * 0.044715 * x * x);
}

constexpr int64_t kRows = 45, kDepth = 24, kWidth = 40;

struct Form {
  DataType type;
  bool transposed, bias, second; ///< a second result
};

std::vector<Array> operandsOf(const Form &form) {
  std::vector<Array> x = {randomArray(form.type, {3, kRows / 3, kDepth}, 1),
                          form.transposed
                              ? randomArray(form.type, {kWidth, kDepth}, 2)
                              : randomArray(form.type, {kDepth, kWidth}, 2)};
  return x;
}

std::vector<double> multiply(const Form &form, const std::vector<Array> &in,
                             const Array *bias) {
  std::vector<double> y;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t n = 0; n < kWidth; ++n) {
      double sum = bias ? (*bias)[n] : 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += in[0][r * kDepth + k] *
               in[1][form.transposed ? n * kDepth + k : k * kWidth + n];
      y.push_back(sum);
    }
  return y;
}

template <typename Body>
void forEachForm(std::initializer_list<DataType> types, Body body) {
  for (DataType type : types)
    for (bool transposed : {false, true})
      for (bool bias : {false, true})
        for (bool second : {false, true})
          body(Form{type, transposed, bias, second});
}

void checkGelu(std::initializer_list<DataType> types) {
  forEachForm(types, [](const Form &form) {
    std::vector<Array> x = operandsOf(form);
    if (form.bias)
      x.push_back(randomArray(form.type, {kWidth}, 3));
    std::vector<TensorType> results(form.second ? 2 : 1,
                                    {form.type, {3, kRows / 3, kWidth}});
    KernelSpec spec = makeSpec("nn.linear_gelu", x, results);
    spec.ints = {{"transposed", {form.transposed}}, {"bias", {form.bias}}};
    checkKernel(
        spec, x,
        [&](const std::vector<Array> &in) {
          const std::vector<double> h =
              multiply(form, in, form.bias ? &in[2] : nullptr);
          std::vector<double> y;
          for (double value : h)
            y.push_back(gelu(value));
          return form.second ? std::vector<std::vector<double>>{y, h}
                             : std::vector<std::vector<double>>{y};
        },
        2 * toleranceOf(form.type));
  });
}

void checkGradient(std::initializer_list<DataType> types) {
  forEachForm(types, [](const Form &form) {
    if (form.bias)
      return;
    std::vector<Array> x = operandsOf(form);
    x.push_back(randomArray(form.type, {3, kRows / 3, kWidth}, 3, 3));
    std::vector<TensorType> results = {{form.type, {3, kRows / 3, kWidth}}};
    if (form.second)
      results.push_back({form.type, {kWidth}});
    KernelSpec spec = makeSpec("nn.linear_gelu_grad", x, results);
    spec.ints = {{"transposed", {form.transposed}}};
    checkKernel(
        spec, x,
        [&](const std::vector<Array> &in) {
          std::vector<double> dh = multiply(form, in, nullptr);
          std::vector<double> sums(kWidth, 0);
          for (size_t i = 0; i < dh.size(); ++i) {
            dh[i] *= derivative(in[2][int64_t(i)]);
            sums[i % kWidth] += dh[i];
          }
          return form.second ? std::vector<std::vector<double>>{dh, sums}
                             : std::vector<std::vector<double>>{dh};
        },
        2 * toleranceOf(form.type));
  });
}

TEST(KernelLinearGelu, IsGeluOfTheProduct) {
  checkGelu({DataType::BF16, DataType::F16});
}

TEST(KernelLinearGelu, GradientIsTheProductTimesTheSlope) {
  checkGradient({DataType::BF16, DataType::F16});
}

TEST(KernelLinearGelu, BothInF32) {
  checkGelu({DataType::F32});
  checkGradient({DataType::F32});
}

TEST(KernelLinearGelu, TypesMustFit) {
  const std::vector<Array> x = operandsOf({DataType::F32, false, false, false});
  const TensorType result = {DataType::F32, {3, kRows / 3, kWidth}},
                   other = {DataType::F32, {kRows, kWidth}};
  EXPECT_THROW(runKernel(makeSpec("nn.linear_gelu", x, {result, other}), x),
               std::invalid_argument);
  EXPECT_THROW(runKernel(makeSpec("nn.linear_gelu_grad", x, {result}), x),
               std::invalid_argument);
}

} // namespace
