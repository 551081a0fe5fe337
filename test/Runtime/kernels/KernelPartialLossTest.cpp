// Embeddings and cross entropies of a range of the vocabulary, alone and in
// chunks of a product.
#include "KernelTest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

constexpr double kSeed = 0.75;

/// `columns` classes from `first` on, of `classes`, which may be fewer.
struct Case {
  DataType type;
  int64_t rows, columns, first, classes;
  int64_t ignored = -100;
  int64_t depth = 0, chunk = 0; ///< of a product
  bool transposed = false, bias = false;
  int64_t count() const {
    return std::clamp<int64_t>(classes - first, 0, columns);
  }
};

Array scalar(DataType type, double value) {
  Array array(type, {});
  array.set(0, value);
  return array;
}

Array targetsOf(const Case &c) {
  Array targets = randomIds({c.rows}, c.classes, 3);
  for (int64_t r = 0; r < c.rows; r += 5)
    targets.set(r, double(c.ignored));
  return targets;
}

/// The column of the target of row `r`; -1: another range has it.
int64_t columnOf(const Case &c, const Array &targets, int64_t r) {
  const int64_t column = int64_t(targets[r]) - c.first;
  return targets[r] != c.ignored && column >= 0 && column < c.count() ? column
                                                                      : -1;
}

/// The loss and the logarithms of rows of logits.
std::vector<Values> lossOf(const Case &c, const Values &logits,
                           const Array &targets) {
  double sum = 0, counted = 0;
  Values lse(c.rows, -std::numeric_limits<double>::infinity());
  for (int64_t r = 0; r < c.rows; ++r) {
    counted += targets[r] != c.ignored;
    const double *row = logits.data() + r * c.columns;
    if (c.count() == 0)
      continue;
    const double largest = *std::max_element(row, row + c.count());
    double total = 0;
    for (int64_t n = 0; n < c.count(); ++n)
      total += std::exp(row[n] - largest);
    lse[r] = largest + std::log(total);
    if (const int64_t own = columnOf(c, targets, r); own >= 0)
      sum += lse[r] - row[own];
  }
  return {{counted ? sum / counted : 0}, lse};
}

/// The gradient of both, times kSeed and `dlse`.
Values gradientOf(const Case &c, const Values &logits, const Array &targets,
                  const Array &dlse) {
  const Values lse = lossOf(c, logits, targets)[1];
  double counted = 0;
  for (int64_t r = 0; r < c.rows; ++r)
    counted += targets[r] != c.ignored;
  Values gradient(c.rows * c.columns);
  for (int64_t r = 0; r < c.rows; ++r) {
    const int64_t own = columnOf(c, targets, r);
    const double scale = own >= 0 ? kSeed / counted : 0;
    for (int64_t n = 0; n < c.count(); ++n)
      gradient[r * c.columns + n] =
          (dlse[r] + scale) * std::exp(logits[r * c.columns + n] - lse[r]) -
          (n == own ? scale : 0);
  }
  return gradient;
}

Values valuesOf(const Array &array) {
  Values values;
  for (int64_t i = 0; i < array.size(); ++i)
    values.push_back(array[i]);
  return values;
}

Array rounded(DataType type, const Values &values) {
  Array array(type, {int64_t(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    array.set(int64_t(i), values[i]);
  return array;
}

/// What the kernel is given for `lse`, and for its gradient, of which some rows
/// have none.
Array lseArray(const Case &c, const Values &logits, const Array &targets) {
  return rounded(DataType::F32, lossOf(c, logits, targets)[1]);
}
Array dlseArray(const Case &c) {
  Array dlse = randomArray(DataType::F32, {c.rows}, 6);
  for (int64_t r = 0; r < c.rows; r += 3)
    dlse.set(r, 0);
  return dlse;
}

void setAttributes(KernelSpec &spec, const Case &c) {
  spec.ints["ignore_index"] = {c.ignored};
  spec.ints["classes"] = {c.classes};
  if (!c.chunk)
    return;
  spec.ints["transposed"] = {c.transposed};
  spec.ints["bias"] = {c.bias};
  spec.ints["chunk"] = {c.chunk};
}

void checkLoss(const Case &c) {
  const Array targets = targetsOf(c);
  const std::vector<Array> inputs = {
      randomArray(c.type, {c.rows, c.columns}, 1, /*scale=*/4), targets,
      scalar(DataType::I32, double(c.first))};
  KernelSpec spec = makeSpec("nn.partial_cross_entropy", inputs,
                             {{DataType::F32, {}}, {DataType::F32, {c.rows}}});
  setAttributes(spec, c);
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        return lossOf(c, valuesOf(in[0]), in[1]);
      },
      toleranceOf(DataType::F32));

  const Values logits = valuesOf(inputs[0]);
  const std::vector<Array> all = {
      scalar(DataType::F32, kSeed), dlseArray(c), inputs[0], targets, inputs[2],
      lseArray(c, logits, targets)};
  spec = makeSpec("nn.partial_cross_entropy_grad", all, {inputs[0].type});
  setAttributes(spec, c);
  checkKernel(
      spec, all,
      [&](const std::vector<Array> &in) {
        return std::vector<Values>{
            gradientOf(c, valuesOf(in[2]), in[3], in[1])};
      },
      toleranceOf(c.type));
}

/// A range at the beginning, in the middle, the last one with padding, and one
/// that is padding alone.
TEST(KernelPartialLoss, LossAndGradient) {
  for (DataType type : kFloats) {
    checkLoss({type, 37, 33, 0, 99});
    checkLoss({type, 37, 33, 33, 99, /*ignored=*/40});
    checkLoss({type, 21, 64, 64, 101});
    checkLoss({type, 21, 2, 6, 5});
    checkLoss({type, 9, 1000, 1000, 4000});
  }
}

//===----------------------------------------------------------------------===//
// In chunks of a product
//===----------------------------------------------------------------------===//

std::vector<int64_t> weightShape(const Case &c) {
  return c.transposed ? std::vector<int64_t>{c.columns, c.depth}
                      : std::vector<int64_t>{c.depth, c.columns};
}

int64_t weightAt(const Case &c, int64_t k, int64_t n) {
  return c.transposed ? n * c.depth + k : k * c.columns + n;
}

/// The logits, as they are rounded to the type.
Values logitsOf(const Case &c, const Array &x, const Array &w,
                const Array *bias) {
  Values logits;
  for (int64_t r = 0; r < c.rows; ++r)
    for (int64_t n = 0; n < c.columns; ++n) {
      double sum = bias ? (*bias)[n] : 0;
      for (int64_t k = 0; k < c.depth; ++k)
        sum += x[r * c.depth + k] * w[weightAt(c, k, n)];
      logits.push_back(sum);
    }
  return valuesOf(rounded(c.type, logits));
}

/// dx, dw and db, of the gradient of the logits as it is rounded.
std::vector<Values> productGradients(const Case &c, const Values &dlogits,
                                     const Array &x, const Array &w) {
  const Array gradient = rounded(c.type, dlogits);
  Values dx(c.rows * c.depth), dw(c.depth * c.columns), db(c.columns);
  for (int64_t r = 0; r < c.rows; ++r)
    for (int64_t n = 0; n < c.columns; ++n) {
      const double g = gradient[r * c.columns + n];
      db[n] += g;
      for (int64_t k = 0; k < c.depth; ++k) {
        dx[r * c.depth + k] += g * w[weightAt(c, k, n)];
        dw[weightAt(c, k, n)] += g * x[r * c.depth + k];
      }
    }
  std::vector<Values> all = {dx, dw};
  if (c.bias)
    all.push_back(db);
  return all;
}

void checkProduct(const Case &c) {
  const Array targets = targetsOf(c);
  std::vector<Array> inputs = {randomArray(c.type, {c.rows, c.depth}, 1),
                               randomArray(c.type, weightShape(c), 2), targets,
                               scalar(DataType::I32, double(c.first))};
  if (c.bias)
    inputs.push_back(randomArray(c.type, {c.columns}, 4));
  KernelSpec spec = makeSpec("nn.linear_partial_cross_entropy", inputs,
                             {{DataType::F32, {}}, {DataType::F32, {c.rows}}});
  setAttributes(spec, c);
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        return lossOf(
            c, logitsOf(c, in[0], in[1], c.bias ? &in.back() : nullptr), in[2]);
      },
      toleranceOf(c.type));

  const Values logits =
      logitsOf(c, inputs[0], inputs[1], c.bias ? &inputs.back() : nullptr);
  std::vector<Array> all = {scalar(DataType::F32, kSeed),
                            dlseArray(c),
                            inputs[0],
                            inputs[1],
                            targets,
                            inputs[3],
                            lseArray(c, logits, targets)};
  if (c.bias)
    all.push_back(inputs.back());
  std::vector<TensorType> results = {inputs[0].type, inputs[1].type};
  if (c.bias)
    results.push_back({c.type, {c.columns}});
  spec = makeSpec("nn.linear_partial_cross_entropy_grad", all, results);
  setAttributes(spec, c);
  checkKernel(
      spec, all,
      [&](const std::vector<Array> &in) {
        const Values products =
            logitsOf(c, in[2], in[3], c.bias ? &in.back() : nullptr);
        return productGradients(c, gradientOf(c, products, in[4], in[1]), in[2],
                                in[3]);
      },
      toleranceOf(c.type));
}

TEST(KernelPartialLoss, ChunksOfAProduct) {
  for (DataType type : kFloats)
    for (bool transposed : {false, true})
      for (bool bias : {false, true}) {
        checkProduct({type, 37, 33, 33, 91, -100, 24, 16, transposed, bias});
        checkProduct({type, 32, 40, 0, 80, 3, 16, 64, transposed, bias});
      }
}

//===----------------------------------------------------------------------===//
// Embeddings
//===----------------------------------------------------------------------===//

TEST(KernelPartialLoss, RowsOfOtherRangesAreZeros) {
  for (DataType type : kFloats)
    for (int64_t first : {0, 11, 22}) {
      const std::vector<Array> inputs = {randomIds({5, 7}, 31, 1),
                                         randomArray(type, {11, 20}, 2),
                                         scalar(DataType::I32, double(first))};
      KernelSpec spec =
          makeSpec("nn.partial_embedding", inputs, {{type, {5, 7, 20}}});
      spec.ints["num_embeddings"] = {31};
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            Values rows;
            for (int64_t i = 0; i < 35; ++i)
              for (int64_t c = 0; c < 20; ++c) {
                const int64_t row = int64_t(in[0][i]) - first;
                rows.push_back(row >= 0 && row < 11 ? in[1][row * 20 + c] : 0);
              }
            return std::vector<Values>{rows};
          },
          0);
    }
}

TEST(KernelPartialLoss, GradientOfARange) {
  for (bool hasInit : {false, true})
    for (bool isBlock : {false, true}) {
      const int64_t first = 11, begin = isBlock ? 4 : 0,
                    rows = isBlock ? 5 : 11;
      std::vector<Array> inputs = {randomArray(DataType::F32, {70, 20}, 1),
                                   randomIds({70}, 31, 2),
                                   scalar(DataType::I32, double(first))};
      if (hasInit)
        inputs.push_back(randomArray(DataType::F32, {rows, 20}, 3));
      KernelSpec spec = makeSpec("nn.partial_embedding_grad", inputs,
                                 {{DataType::F32, {rows, 20}}});
      spec.ints["init"] = {hasInit};
      if (isBlock)
        spec.ints["rows"] = {begin, begin + rows};
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            Values sums = hasInit ? valuesOf(in[3]) : Values(rows * 20);
            for (int64_t i = 0; i < 70; ++i) {
              const int64_t row = int64_t(in[1][i]) - first - begin;
              for (int64_t c = 0; c < 20 && row >= 0 && row < rows; ++c)
                sums[row * 20 + c] += in[0][i * 20 + c];
            }
            return std::vector<Values>{sums};
          },
          toleranceOf(DataType::F32));
    }
}

} // namespace
} // namespace zrt::test
