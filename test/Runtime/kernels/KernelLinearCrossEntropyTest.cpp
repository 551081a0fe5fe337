// A loss of a product and its gradient, in chunks of rows.
#include "KernelTest.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

struct Case {
  DataType type;
  int64_t rows, depth, columns, chunk;
  bool transposed, bias;
  int64_t ignored = -100;
  int64_t padding = 0; ///< of the columns, the last ones
  double offset = 0;   ///< in the bias, and so in all logits
  int64_t classes() const { return columns - padding; }
};

std::vector<int64_t> weightShape(const Case &c) {
  return c.transposed ? std::vector<int64_t>{c.columns, c.depth}
                      : std::vector<int64_t>{c.depth, c.columns};
}

/// x, w, targets of which every fifth is ignored, and a bias.
std::vector<Array> inputsOf(const Case &c) {
  std::vector<Array> inputs = {randomArray(c.type, {c.rows, c.depth}, 1),
                               randomArray(c.type, weightShape(c), 2),
                               randomIds({c.rows}, c.classes(), 3)};
  for (int64_t r = 0; r < c.rows; r += 5)
    inputs[2].set(r, double(c.ignored));
  if (c.bias)
    inputs.push_back(randomArray(c.type, {c.columns}, 4));
  for (int64_t n = 0; c.offset != 0 && n < c.columns; ++n)
    inputs[3].set(n, c.offset);
  return inputs;
}

/// The logits of a row, as they are rounded to the type.
Values logitsOf(const Case &c, const Array *in, int64_t row) {
  Array logits(c.type, {c.columns});
  for (int64_t n = 0; n < c.columns; ++n) {
    double sum = c.bias ? in[3][n] : 0;
    for (int64_t k = 0; k < c.depth; ++k)
      sum += in[0][row * c.depth + k] *
             in[1][c.transposed ? n * c.depth + k : k * c.columns + n];
    logits.set(n, sum);
  }
  Values values;
  for (int64_t n = 0; n < c.classes(); ++n)
    values.push_back(logits[n]);
  return values;
}

/// The loss, dx, dw and db, of x, w, targets and bias.
std::vector<Values> referenceOf(const Case &c, const Array *in, double seed) {
  Values dx(c.rows * c.depth), dw(c.depth * c.columns), db(c.columns);
  double sum = 0, count = 0;
  for (int64_t r = 0; r < c.rows; ++r)
    count += in[2][r] != c.ignored;
  for (int64_t r = 0; r < c.rows; ++r) {
    if (in[2][r] == c.ignored)
      continue;
    const auto target = int64_t(in[2][r]);
    const Values logits = logitsOf(c, in, r);
    const double largest = *std::max_element(logits.begin(), logits.end());
    double lse = 0; // of what is left of the logits
    for (double logit : logits)
      lse += std::exp(logit - largest);
    lse = std::log(lse);
    sum += (largest - logits[target]) + lse;
    Array ofLogits(c.type, {c.columns}); // is rounded as the logits are
    for (int64_t n = 0; n < c.classes(); ++n)
      ofLogits.set(n,
                   seed / count *
                       (std::exp(logits[n] - largest - lse) - (n == target)));
    for (int64_t n = 0; n < c.columns; ++n) {
      const double gradient = ofLogits[n];
      db[n] += gradient;
      for (int64_t k = 0; k < c.depth; ++k) {
        const int64_t at = c.transposed ? n * c.depth + k : k * c.columns + n;
        dx[r * c.depth + k] += gradient * in[1][at];
        dw[at] += gradient * in[0][r * c.depth + k];
      }
    }
  }
  std::vector<Values> all = {{count ? sum / count : 0}, dx, dw};
  if (c.bias)
    all.push_back(db);
  return all;
}

KernelSpec specOf(const Case &c, const std::vector<Array> &inputs,
                  bool isGradient) {
  std::vector<TensorType> results = {{DataType::F32, {}}};
  if (isGradient) {
    results.push_back({c.type, {c.rows, c.depth}});
    results.push_back({c.type, weightShape(c)});
    if (c.bias)
      results.push_back({c.type, {c.columns}});
  }
  KernelSpec spec = makeSpec(isGradient ? "nn.linear_cross_entropy_grad"
                                        : "nn.linear_cross_entropy",
                             inputs, results);
  spec.ints = {{"transposed", {c.transposed}},
               {"bias", {c.bias}},
               {"chunk", {c.chunk}},
               {"ignore_index", {c.ignored}}};
  if (c.padding)
    spec.ints["classes"] = {c.classes()};
  return spec;
}

void checkCase(const Case &c) {
  std::vector<Array> inputs = inputsOf(c);
  checkKernel(
      specOf(c, inputs, false), inputs,
      [&](const std::vector<Array> &in) {
        return std::vector<Values>{referenceOf(c, in.data(), 0)[0]};
      },
      toleranceOf(c.type));
  Array seed(DataType::F32, {});
  seed.set(0, 0.75);
  inputs.insert(inputs.begin(), seed);
  checkKernel(
      specOf(c, inputs, true), inputs,
      [&](const std::vector<Array> &in) {
        return referenceOf(c, in.data() + 1, 0.75);
      },
      toleranceOf(c.type));
}

TEST(KernelLinearCrossEntropy, LossAndGradients) {
  for (DataType type : kFloats)
    for (bool transposed : {false, true})
      for (bool bias : {false, true}) {
        checkCase({type, 37, 24, 333, 16, transposed, bias});    // a last chunk
        checkCase({type, 32, 40, 104, 16, transposed, bias, 0}); // whole ones
        checkCase({type, 19, 8, 16, 64, transposed, bias});      // one
      }
}

TEST(KernelLinearCrossEntropy, KeepsDigitsOfLargeLogits) {
  for (DataType type : {DataType::F32, DataType::BF16})
    for (double offset : {-3.3e38, -1e9, 1e9})
      checkCase({type, 37, 24, 333, 16, true, true, -100, 0, offset});
}

TEST(KernelLinearCrossEntropy, IsZeroWhenEveryRowIsIgnored) {
  checkCase({DataType::F32, 1, 8, 16, 64, true, false});
}

TEST(KernelLinearCrossEntropy, LeavesPaddingOut) {
  for (DataType type : kFloats)
    for (bool bias : {false, true}) {
      const Case c = {type, 37, 24, 104, 16, /*transposed=*/true, bias, 0, 5};
      checkCase(c);
    }
}

TEST(KernelLinearCrossEntropy, IsTheLossOfTheLogits) {
  const Case c = {DataType::BF16, 37, 24, 336, 16, true, false};
  std::vector<Array> inputs = inputsOf(c);
  Array fused = runKernel(specOf(c, inputs, false), inputs)[0];
  std::vector<Array> operands = {inputs[0], inputs[1]};
  KernelSpec linear = makeSpec("nn.linear", operands, {{c.type, {37, 336}}});
  linear.ints = {{"transposed", {1}}, {"bias", {0}}};
  std::vector<Array> ofLogits = {runKernel(linear, operands)[0], inputs[2]};
  KernelSpec loss = makeSpec("nn.cross_entropy", ofLogits,
                             {{DataType::F32, {}}, {DataType::F32, {37}}});
  EXPECT_NEAR(fused[0], runKernel(loss, ofLogits)[0][0], 1e-6);
}

} // namespace
} // namespace zrt::test
