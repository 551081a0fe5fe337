// Layer norm and RMS norm, with their gradients.
#include "KernelTest.h"

#include <cmath>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

struct Statistics {
  Values mean, rstd;
};

Statistics statisticsOf(const Array &x, int64_t rows, int64_t width,
                        bool centred, double epsilon) {
  Statistics result;
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int64_t c = 0; centred && c < width; ++c)
      mean += x[r * width + c] / width;
    for (int64_t c = 0; c < width; ++c)
      square += std::pow(x[r * width + c] - mean, 2) / width;
    result.mean.push_back(mean);
    result.rstd.push_back(1 / std::sqrt(square + epsilon));
  }
  return result;
}

Array asArray(const Values &values, std::vector<int64_t> shape) {
  Array array(DataType::F32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i)
    array.set(i, values[i]);
  return array;
}

constexpr double kEpsilon = 1e-5;

void checkForward(DataType type, int64_t rows, int64_t width, bool centred) {
  std::vector<Array> inputs = {randomArray(type, {rows, width}, 1, 3),
                               randomArray(type, {width}, 2)};
  std::vector<TensorType> results = {{type, {rows, width}}};
  if (centred) {
    inputs.push_back(randomArray(type, {width}, 3));
    results.push_back({DataType::F32, {rows}});
  }
  results.push_back({DataType::F32, {rows}});
  KernelSpec spec =
      makeSpec(centred ? "nn.layer_norm" : "nn.rms_norm", inputs, results);
  spec.floats["eps"] = kEpsilon;
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        Statistics s = statisticsOf(in[0], rows, width, centred, kEpsilon);
        Values y;
        for (int64_t i = 0; i < rows * width; ++i)
          y.push_back((in[0][i] - s.mean[i / width]) * s.rstd[i / width] *
                          in[1][i % width] +
                      (centred ? in[2][i % width] : 0));
        std::vector<Values> all = {y};
        if (centred)
          all.push_back(s.mean);
        all.push_back(s.rstd);
        return all;
      },
      toleranceOf(type));
}

void checkGradient(DataType type, int64_t rows, int64_t width, bool centred) {
  std::vector<Array> inputs = {randomArray(type, {rows, width}, 1),
                               randomArray(type, {rows, width}, 2, 3),
                               randomArray(type, {width}, 3)};
  Statistics s = statisticsOf(inputs[1], rows, width, centred, kEpsilon);
  if (centred)
    inputs.push_back(asArray(s.mean, {rows}));
  inputs.push_back(asArray(s.rstd, {rows}));
  std::vector<TensorType> results = {{type, {rows, width}}, {type, {width}}};
  if (centred)
    results.push_back({type, {width}});
  KernelSpec spec = makeSpec(
      centred ? "nn.layer_norm_grad" : "nn.rms_norm_grad", inputs, results);
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        Values dx(rows * width), dw(width), db(width);
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0, product = 0;
          auto normal = [&](int64_t c) {
            return (in[1][r * width + c] - s.mean[r]) * s.rstd[r];
          };
          for (int64_t c = 0; c < width; ++c) {
            double g = in[0][r * width + c];
            sum += g * in[2][c] / width;
            product += g * in[2][c] * normal(c) / width;
            dw[c] += g * normal(c);
            db[c] += g;
          }
          for (int64_t c = 0; c < width; ++c)
            dx[r * width + c] = (in[0][r * width + c] * in[2][c] -
                                 (centred ? sum : 0) - normal(c) * product) *
                                s.rstd[r];
        }
        std::vector<Values> all = {dx, dw};
        if (centred)
          all.push_back(db);
        return all;
      },
      toleranceOf(type));
}

TEST(KernelNorm, Forward) {
  for (DataType type : kFloats)
    for (bool centred : {true, false})
      for (int64_t width : {1, 13, 16, 250}) {
        checkForward(type, 7, width, centred);
        checkForward(type, 333, width, centred);
      }
}

TEST(KernelNorm, Gradient) {
  for (DataType type : kFloats)
    for (bool centred : {true, false})
      for (int64_t width : {13, 16, 250}) {
        checkGradient(type, 7, width, centred);
        checkGradient(type, 1500, width, centred);
      }
}

/// The spec of a norm, or of one of a sum, with the operands of `inputs`.
KernelSpec normSpec(bool centred, bool adds, const std::vector<Array> &inputs) {
  const TensorType x = inputs[0].type;
  const TensorType row = {DataType::F32, {x.shape[0]}};
  std::vector<TensorType> results = {x, row};
  if (centred)
    results.push_back(row);
  if (adds)
    results.push_back(x);
  KernelSpec spec = makeSpec(std::string(adds ? "nn.add_" : "nn.") +
                                 (centred ? "layer_norm" : "rms_norm"),
                             inputs, results);
  spec.floats["eps"] = kEpsilon;
  return spec;
}

KernelSpec normGradSpec(bool centred, bool adds,
                        const std::vector<Array> &inputs) {
  const TensorType x = inputs[0].type, w = {x.type, {x.shape[1]}};
  std::vector<TensorType> results = {x, w};
  if (centred)
    results.push_back(w);
  return makeSpec(std::string(adds ? "nn.add_" : "nn.") +
                      (centred ? "layer_norm_grad" : "rms_norm_grad"),
                  inputs, results);
}

/// a + b in f32, rounded once.
Array sumOf(const Array &a, const Array &b) {
  Array sum(a.type.type, a.type.shape);
  for (int64_t i = 0; i < sum.size(); ++i)
    sum.set(i, static_cast<float>(a[i]) + static_cast<float>(b[i]));
  return sum;
}

/// `operands` with one more, which is number `at`.
std::vector<Array> with(std::vector<Array> operands, size_t at, Array one) {
  operands.insert(operands.begin() + at, std::move(one));
  return operands;
}

void expectSame(const std::vector<Array> &found,
                const std::vector<Array> &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == wanted[i]) << "result " << i;
}

/// Norms with an addition beside them are bitwise equal to the two apart.
void checkWithAddition(DataType type, int64_t rows, int64_t width,
                       bool centred) {
  SCOPED_TRACE(std::string(nameOf(type)) + " of " + std::to_string(width));
  const Array a = randomArray(type, {rows, width}, 1, 3),
              b = randomArray(type, {rows, width}, 2), sum = sumOf(a, b),
              w = randomArray(type, {width}, 3);
  std::vector<Array> inputs = {a, w};
  if (centred)
    inputs.push_back(randomArray(type, {width}, 4));
  std::vector<Array> apart = inputs;
  apart[0] = sum;
  std::vector<Array> wanted = runKernel(normSpec(centred, false, apart), apart);
  std::vector<Array> statistics(wanted.begin() + 1, wanted.end());
  wanted.push_back(sum);
  inputs = with(inputs, 1, b);
  expectSame(runKernel(normSpec(centred, true, inputs), inputs), wanted);

  std::vector<Array> operands = {b, sum, w};
  operands.insert(operands.end(), statistics.begin(), statistics.end());
  wanted = runKernel(normGradSpec(centred, false, operands), operands);
  wanted[0] = sumOf(wanted[0], a);
  operands = with(operands, 1, a);
  expectSame(runKernel(normGradSpec(centred, true, operands), operands),
             wanted);
}

TEST(KernelNorm, AnAdditionBesideItChangesNoBit) {
  for (DataType type : kFloats)
    for (bool centred : {true, false})
      // Rows of one warp of a device and of several, and longer ones than
      // registers hold.
      for (int64_t width : {1, 13, 250, 1024, 8216})
        checkWithAddition(type, width < 1000 ? 33 : 3, width, centred);
}

// A mean far from zero: variance from a difference of squares would be lost.
TEST(KernelNorm, VarianceKeepsItsDigitsFarFromZero) {
  Array x(DataType::F32, {1, 64}), w(DataType::F32, {64}),
      b(DataType::F32, {64});
  for (int64_t i = 0; i < 64; ++i) {
    x.set(i, 4096 + (i % 2 ? 0.5 : -0.5));
    w.set(i, 1);
  }
  KernelSpec spec = makeSpec(
      "nn.layer_norm", {x, w, b},
      {{DataType::F32, {1, 64}}, {DataType::F32, {1}}, {DataType::F32, {1}}});
  spec.floats["eps"] = 0;
  std::vector<Array> results = runKernel(spec, {x, w, b});
  EXPECT_EQ(results[0][0], -1);
  EXPECT_EQ(results[0][1], 1);
  EXPECT_EQ(results[2][0], 2);
}

} // namespace
} // namespace zrt::test
